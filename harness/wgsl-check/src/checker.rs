//! Conditions of a checked run.

use std::sync::Arc;

use perfharness_gpu::testing::with_adapter;

use crate::Report;
use crate::adapter::Adapter;
use crate::session::Session;

/// Number of steps after which a dispatch counts as one that does not end.
const STEPS: u64 = 100_000_000;

/// A run in which all devices interpret their shaders.
#[derive(Clone, Debug)]
pub struct Checker {
    seed: u64,
    zeroed: bool,
    steps: u64,
    edits: Vec<(String, String)>,
}

impl Checker {
    /// Creates the conditions of a run. The seed decides all orders and failures.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, zeroed: true, steps: STEPS, edits: Vec::new() }
    }

    /// Leaves workgroup memory undefined at first, as a pipeline without wgpu's `zero_initialize_workgroup_memory` does,
    /// and reports reads of what the workgroup has not written.
    #[must_use]
    pub fn with_undefined_workgroup_memory(mut self) -> Self {
        self.zeroed = false;
        self
    }

    /// Limits the steps of all invocations of a dispatch together.
    #[must_use]
    pub fn with_steps(mut self, steps: u64) -> Self {
        self.steps = steps;
        self
    }

    /// Replaces a part of the source of every kernel that contains it: plants a mistake.
    #[must_use]
    pub fn with_edit(mut self, from: &str, to: &str) -> Self {
        self.edits.push((from.to_owned(), to.to_owned()));
        self
    }

    /// Runs a test, in which every device that this thread opens is a checked one.
    ///
    /// # Panics
    /// Panics if nothing was dispatched, or an edit fits no kernel: such a run shows nothing.
    pub fn run<T>(&self, test: impl FnOnce() -> T) -> (T, Report) {
        let session = Arc::new(Session::new(self.seed, self.zeroed, self.steps, self.edits.clone()));
        let adapter = wgpu::Adapter::from_custom(Adapter::new(Arc::clone(&session)));
        let value = with_adapter(adapter, test);
        let (report, unused) = session.finish();
        assert!(unused.is_empty(), "no kernel contains {unused:?}");
        assert!(!report.dispatches.is_empty(), "the run dispatched nothing");
        (value, report)
    }

    /// Runs a test that must be free of mistakes under the orders of several seeds. Returns the last report.
    ///
    /// # Panics
    /// Panics with the findings if there are any.
    pub fn passes(seeds: std::ops::Range<u64>, mut test: impl FnMut()) -> Report {
        let mut last = Report::default();
        for seed in seeds {
            let ((), report) = Self::new(seed).run(&mut test);
            assert!(report.findings.is_empty(), "seed {seed}:\n{report}");
            last = report;
        }
        last
    }
}
