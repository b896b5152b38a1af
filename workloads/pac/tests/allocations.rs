//! Heap allocations of each variant, in a separate program with the counting allocator.

use perfharness_contract::protocol::Mode;
use perfharness_contract::testing::{place, sample};
use perfharness_contract::{Case, Check, Failure, Measured, Role, Tolerance, Workload, standard};
use perfharness_pac::{Band, Normalisation, Plan, Settings, Shape};

perfharness_contract::counting_allocator!();

/// A plan for two channels on two threads, however many processors there are.
struct OnTwoThreads {
    plan: Plan<f32>,
    x: Vec<f32>,
    index: Vec<f64>,
}

impl OnTwoThreads {
    fn new() -> Result<Self, Failure> {
        let shape = Shape::new(2, 512);
        let settings = Settings {
            sf_hz: 512.0,
            phase: Band::adjoining(2.0, 20.0, 10),
            amplitude: Band::adjoining(60.0, 160.0, 10),
            bins: 18,
            normalisation: Normalisation::Textbook,
        };
        let plan = Plan::new(&settings, shape, 2).map_err(|error| Failure::Failed(error.to_string()))?;
        assert_eq!(plan.threads(), 2);
        let x = (0..shape.len()).map(|t| (t as f32 * 0.3).sin() + (t as f32 * 0.02).sin()).collect();
        Ok(Self { plan, x, index: vec![0.0; settings.indexes(2)] })
    }
}

impl Measured for OnTwoThreads {
    fn load(&mut self, _round: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn run(&mut self, _index: u64) -> Result<(), Failure> {
        self.plan.index(&self.x, &mut self.index).map_err(|error| Failure::Failed(error.to_string()))
    }

    fn check(&mut self, _index: u64) -> Result<Check, Failure> {
        Ok(Check::compare(&[], &[], Tolerance::Exact))
    }
}

// A single test, because there is one allocator and a count would include the threads of other tests.
#[test]
fn what_keeps_its_memory_allocates_nothing_in_its_steady_state() {
    let workload = perfharness_pac::workload();
    let heap_allocations = |workload: &Workload, case, variant: &str, iterations| {
        let mut placed = place(workload, case, variant);
        sample(&mut placed, Mode::Metered, iterations).readings[standard::HEAP_ALLOCATIONS].value().unwrap()
    };
    assert_eq!(heap_allocations(&workload, "small-10x10", "optimized-cpu", 100), 0.0);
    assert_eq!(heap_allocations(&workload, "small-10x10", "optimized-f64", 100), 0.0);
    assert_eq!(heap_allocations(&workload, "small-10x10", "documented", 100), 0.0);
    assert!(heap_allocations(&workload, "small-10x10", "slow", 100) > 100.0);

    // The queue through which a pool receives calls allocates a block for every 63 of them; nothing else allocates.
    let two = Workload::builder("two", 1, "two threads")
        .case(Case::new("small", ()))
        .variant("fast", Role::Other, "a plan", |(), _| OnTwoThreads::new())
        .build();
    let allocations = heap_allocations(&two, "small", "fast", 126);
    assert!(allocations <= 2.0, "{allocations} allocations in 126 calls");
}
