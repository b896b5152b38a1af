//! What each variant asks of the heap, which takes a program of its own with the counting allocator.

use perfharness_contract::protocol::Mode;
use perfharness_contract::standard;
use perfharness_contract::testing::{place, sample};

perfharness_contract::counting_allocator!();

// One test, as there is one allocator and a count would see other tests' threads.
#[test]
fn the_fast_path_allocates_nothing_in_its_steady_state() {
    let workload = perfharness_pac::workload();
    let heap_allocations = |variant: &str| {
        let mut placed = place(&workload, "small-10x10", variant);
        sample(&mut placed, Mode::Metered, 100).readings[standard::HEAP_ALLOCATIONS].value().unwrap()
    };
    assert_eq!(heap_allocations("optimized-cpu"), 0.0);
    assert_eq!(heap_allocations("optimized-f64"), 0.0);
    assert!(heap_allocations("slow") > 100.0);
}
