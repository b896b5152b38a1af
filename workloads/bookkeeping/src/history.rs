//! The history of a training loop's metrics: document 003, section 3.1.
//!
//! A history of all steps grows for as long as the training runs. The document keeps the last 1000 steps, by copying
//! them at every step. A ring keeps them without a copy.

mod documented;
mod optimized;
mod slow;
#[cfg(test)]
mod tests;

use perfharness_contract::{
    Case, Check, ClaimDef, Counter, Digest, Effort, Failure, Measured, MetricDef, Promise, Role, Setup,
    Tolerance, VariantDef, Workload, standard,
};
use serde::Serialize;

use crate::draw::uniform;
use crate::{DOCUMENTED, OPTIMIZED, POOL, SLOW, input_of};
use documented::Tail;
use optimized::Ring;
use slow::Blocks;

/// Steps that the document keeps.
const WINDOW: usize = 1000;
/// Metrics of a step.
const KEYS: usize = 5;

const VALUES: &str = "values";
const COPIED_BYTES: &str = "copied-bytes";

/// Metrics of one step.
type Step = [f64; KEYS];

/// Parameters of a case.
#[derive(Debug, Serialize)]
struct Params {
    /// Training steps in one iteration.
    steps: usize,
}

/// A way to keep a history.
trait History: Default {
    /// Appends the metrics of a step, and returns the bytes of older values that this copied.
    fn push(&mut self, step: &Step) -> u64;

    /// Returns the last [`WINDOW`] steps, or all if there are fewer, oldest first.
    fn window(&self) -> Vec<Step>;
}

/// A placement. The history outlives an iteration, as that of a training loop outlives every step.
struct Training<H> {
    steps: usize,
    seed: u64,
    pool: Vec<Vec<Step>>,
    history: H,
    values: Counter,
    copied_bytes: Counter,
}

impl<H: History> Training<H> {
    fn new(params: &Params, setup: &Setup) -> Self {
        Self {
            steps: params.steps,
            seed: setup.seed(),
            pool: Vec::new(),
            history: H::default(),
            values: setup.counter(VALUES),
            copied_bytes: setup.counter(COPIED_BYTES),
        }
    }
}

impl<H: History> Measured for Training<H> {
    /// Begins a new history that is past its window already, so that all iterations do the same work.
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        let mut draw = uniform(self.seed, "metrics", round);
        let mut steps = || (0..self.steps).map(|_| [(); KEYS].map(|()| f64::from(draw()))).collect();
        self.pool = (0..POOL).map(|_| steps()).collect();
        self.history = H::default();
        for _ in 0..WINDOW {
            self.history.push(&[0.0; KEYS]);
        }
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let mut copied = 0;
        let steps = &self.pool[input_of(index)];
        for step in steps {
            copied += self.history.push(step);
        }
        self.values.add((steps.len() * KEYS) as u64);
        self.copied_bytes.add(copied);
        Ok(())
    }

    /// Compares the last [`WINDOW`] steps, all of which are of this iteration, because no case has fewer.
    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let steps = &self.pool[input_of(index)];
        let due = &steps[steps.len().saturating_sub(WINDOW)..];
        let input = Digest::of_f64(steps.iter().flatten().copied());
        Ok(Check::compare(due.as_flattened(), self.history.window().as_flattened(), Tolerance::Exact)
            .with_input(input))
    }
}

/// Returns the workload `history`.
pub fn workload() -> Workload {
    // Without a floor: the window stays in the processor's caches, of which no ceiling is measured.
    let case = |id, steps: usize, efforts: &[Effort]| {
        Case::new(id, Params { steps }).items(steps as u64, "steps").efforts(efforts)
    };
    let slow = VariantDef::new(SLOW, Role::Slow, "keeps all steps, in blocks of 1000")
        .caveat("Its memory grows by 40 KB in 1000 steps, without an end.");
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "appends, and replaces a vector that is longer than 1000 by a copy of its last 1000 values",
    )
    .caveat("Steps before the last 1000 are lost.");
    let optimized =
        VariantDef::new(OPTIMIZED, Role::Optimized, "overwrites the oldest of 1000 steps in a ring")
            .caveat("Steps before the last 1000 are lost.");
    let pool = |params: &Params| (POOL as usize * params.steps * size_of::<Step>()) as u64;
    let window = (WINDOW * size_of::<Step>()) as u64;
    Workload::builder("history", 1, "The history of a training loop's metrics")
        .source("003", "3.1")
        .cases([case("s1000", 1000, &Effort::ALL), case("s100000", 100_000, &[Effort::Thorough])])
        .metric(MetricDef::work(VALUES, "values appended"))
        .metric(MetricDef::bytes(COPIED_BYTES, "bytes copied"))
        .claims(claims())
        .variant_with(slow, |params, setup| Ok(Training::<Blocks>::new(params, setup)))
        .variant_with(documented, |params, setup| Ok(Training::<Tail>::new(params, setup)))
        .variant_with(optimized, |params, setup| Ok(Training::<Ring>::new(params, setup)))
        .memory(SLOW, move |params| pool(params) + 2 * window)
        .memory(DOCUMENTED, move |params| pool(params) + 3 * window)
        .memory(OPTIMIZED, move |params| pool(params) + window)
        .build()
}

/// Claims of the document about this hot path, in its own words.
fn claims() -> Vec<ClaimDef> {
    const SECTION: &str = "003, 3.1";
    let constant = |id, source, statement| {
        let all = Promise::Reduction { at_least: 1.0, at_most: None };
        ClaimDef::new(id, source, statement, standard::HEAP_GROWTH, all)
    };
    vec![
        constant("no-leak", SECTION, "Prevents memory leaks during long training runs").note(
            "Growth of the heap in an iteration. `slow` keeps what it is given; nothing is lost to it.",
        ),
        constant("constant-memory", SECTION, "Constant memory usage instead of growing indefinitely")
            .note("Constant from step to step; within a step, the copy is alive beside the original."),
        constant("long-runs", "003, Memory Usage", "Long Runs: Prevents memory leak growth"),
        ClaimDef::new(
            "all-metrics-tracked",
            "003, Performance Monitoring",
            "All metrics still tracked and logged",
            VALUES,
            Promise::NotMeasurable {
                reason:
                    "The document contradicts itself: section 3.1 keeps the last 1000 steps only. A check \
                         compares these."
                        .into(),
            },
        ),
        ClaimDef::new(
            "unified-memory",
            SECTION,
            "Critical for your M3's unified memory",
            standard::PEAK_RSS,
            Promise::NotMeasurable {
                reason: "The document gives no number. A million steps of five metrics are 40 MB.".into(),
            },
        ),
    ]
}
