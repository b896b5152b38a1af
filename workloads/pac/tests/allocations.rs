//! What each variant asks of the heap, which takes a program of its own with the counting allocator.

use perfharness_contract::protocol::{Mode, SampleRequest};
use perfharness_contract::{Placement, standard};

perfharness_contract::counting_allocator!();

// One test, as there is one allocator and a count would see other tests' threads.
#[test]
fn the_fast_path_allocates_nothing_in_its_steady_state() {
    let workload = perfharness_pac::workload();
    let heap_allocations = |variant: &str| {
        let setup = workload.setup(1, "none", ".");
        let (case, variant) = ("small-10x10".parse().unwrap(), variant.parse().unwrap());
        let mut placement = Placement::prepare(&workload, &case, &variant, setup).unwrap();
        let request = SampleRequest {
            handle: 0,
            mode: Mode::Metered,
            round: 1,
            offset: 0,
            lead_in: 1,
            iterations: 100,
        };
        placement.sample(&request).unwrap().readings[standard::HEAP_ALLOCATIONS].value().unwrap()
    };
    assert_eq!(heap_allocations("optimized-cpu"), 0.0);
    assert_eq!(heap_allocations("optimized-f64"), 0.0);
    assert!(heap_allocations("slow") > 100.0);
}
