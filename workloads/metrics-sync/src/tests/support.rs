//! Placements for tests, and their counts.

use std::collections::BTreeMap;

use perfharness_contract::testing::exact_counts;
use perfharness_contract::{Case, Check, Measured, Setup, Workload};
use perfharness_gpu::Gpu;

use crate::delivery::{Delivery, Loop, Params};
use crate::documented::Documented;
use crate::history::History;
use crate::lazy_only::LazyOnly;
use crate::optimized::Optimized;
use crate::shipped::Shipped;
use crate::slow::Slow;
use crate::{DOCUMENTED, LAZY_ONLY, OPTIMIZED, SHIPPED, SLOW, define};

pub(crate) const SEED: u64 = 7;

/// A placement of any variant.
pub(crate) trait Bench: Measured {
    fn history(&mut self) -> &mut History;

    /// Runs one iteration and its check.
    fn checked(&mut self, index: u64) -> Check {
        self.run(index).unwrap();
        self.fence().unwrap();
        self.check(index).unwrap()
    }
}

impl<D: Delivery> Bench for Loop<D> {
    fn history(&mut self) -> &mut History {
        &mut self.history
    }
}

fn bench<D: Delivery + 'static>(gpu: &Gpu, steps: u64, seed: u64) -> Box<dyn Bench> {
    let setup = Setup::new(seed, "auto", ".");
    let mut bench = Loop::<D>::on(gpu.clone(), &Params { steps }, &setup).unwrap();
    bench.load(5).unwrap();
    Box::new(bench)
}

/// Creates a placement of each variant outside a worker, loaded with round 5.
pub(crate) fn benches(gpu: &Gpu, steps: u64, seed: u64) -> [(&'static str, Box<dyn Bench>); 5] {
    [
        (SLOW, bench::<Slow>(gpu, steps, seed)),
        (LAZY_ONLY, bench::<LazyOnly>(gpu, steps, seed)),
        (DOCUMENTED, bench::<Documented>(gpu, steps, seed)),
        (SHIPPED, bench::<Shipped>(gpu, steps, seed)),
        (OPTIMIZED, bench::<Optimized>(gpu, steps, seed)),
    ]
}

/// Returns a workload with one case, `case`, of `steps` steps.
pub(crate) fn of_steps(steps: u64) -> Workload {
    define(vec![Case::new("case", Params { steps })]).build()
}

/// Returns the exact counts of one iteration.
pub(crate) fn counts(steps: u64, variant: &str) -> BTreeMap<String, f64> {
    exact_counts(&of_steps(steps), "case", variant)
}
