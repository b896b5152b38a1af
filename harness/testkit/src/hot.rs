//! Functions that spend time under their own names and are not inlined, so that the shares in a profile are known.

use std::hint::black_box;
use std::thread;

use perfharness_contract::{Case, Check, Failure, Measured, MetricDef, Role, Setup, Workload, input_rng};
use perfharness_known_work::Spin;
use rand_pcg::rand_core::Rng as _;
use serde::Serialize;

const STEPS: &str = "steps";

/// Parameters of the case.
#[derive(Debug, Serialize)]
struct Params {
    steps: u64,
}

/// Functions in which a variant spends its time.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// In `planted_spin` and, for three times as long, in `planted_waste`.
    Wasteful,
    /// In `planted_spin`.
    Lean,
    /// In `planted_spin` on another thread.
    Threaded,
    /// In `planted_spin`, until it panics in the second iteration of a sample.
    Panics,
}

/// Returns the workload `hot`.
pub(crate) fn workload() -> Workload {
    let variant = |place| {
        move |params: &Params, setup: &Setup| {
            let counter = setup.counter(STEPS);
            let (seed, steps) = (setup.seed(), params.steps);
            Ok(Hot { place, seed, steps, counter, key: 0, result: 0, samples: 0 })
        }
    };
    Workload::builder("hot", 1, "Functions that a profiler should find")
        .metric(MetricDef::work(STEPS, "steps that the result needs"))
        .case(Case::new("c", Params { steps: 500_000 }))
        .variant("wasteful", Role::Slow, "four times the work", variant(Place::Wasteful))
        .variant("lean", Role::Optimized, "the work itself", variant(Place::Lean))
        .variant("threaded", Role::Other, "the work on another thread", variant(Place::Threaded))
        .variant("panics", Role::Other, "panics in a second iteration", variant(Place::Panics))
        .variant("skipped", Role::Other, "is not to be run", variant(Place::Lean))
        .skip("c", "skipped", "left out on purpose")
        .build()
}

struct Hot {
    place: Place,
    seed: u64,
    steps: u64,
    counter: perfharness_contract::Counter,
    key: u64,
    result: u64,
    samples: u64,
}

impl Measured for Hot {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.key = input_rng(self.seed, "hot", round).next_u64();
        self.samples = 0;
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.counter.add(self.steps);
        self.samples += 1;
        let (input, steps) = (self.key.wrapping_add(index), self.steps);
        self.result = match self.place {
            Place::Wasteful => {
                black_box(planted_waste(input, 3 * steps));
                planted_spin(input, steps)
            }
            Place::Threaded => thread::scope(|scope| {
                let worker = scope.spawn(|| planted_spin(input, steps));
                worker.join().map_err(|_| Failure::Failed("its thread panicked".into()))
            })?,
            Place::Panics if self.samples > 1 => panic!("a planted panic"),
            Place::Lean | Place::Panics => planted_spin(input, steps),
        };
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let due = Spin::jump(self.key.wrapping_add(index), self.steps);
        Ok(Check::exact(&due.to_le_bytes(), &self.result.to_le_bytes()))
    }
}

// Work after the call keeps the frame of the function.

#[inline(never)]
fn planted_spin(input: u64, steps: u64) -> u64 {
    black_box(Spin::chain(black_box(input), steps))
}

#[inline(never)]
fn planted_waste(input: u64, steps: u64) -> u64 {
    black_box(Spin::chain(black_box(input), steps)).wrapping_add(1)
}
