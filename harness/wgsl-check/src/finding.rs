//! Reports of the interpreter.

use std::collections::BTreeMap;
use std::fmt;

/// Kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mistake {
    /// Two invocations access the same memory, at least one of them writes, not both are atomic, and no barrier is in
    /// between.
    Race,
    /// An index that is too large for its array, vector or matrix.
    OutOfBounds,
    /// A read of workgroup memory that no invocation of the workgroup has written.
    Unwritten,
    /// A barrier that not all invocations of a workgroup reach.
    StrayBarrier,
    /// A dispatch that does not end, e.g. because it waits for a workgroup that has not started.
    NoProgress,
    /// Something that the interpreter does not support, so that the kernel is not checked.
    Unsupported,
}

/// A mistake in a kernel, at a place in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Kind of the mistake.
    pub mistake: Mistake,
    /// Label of the pipeline.
    pub kernel: String,
    /// Line in the source of the pipeline, from 1; 0 if it is not known.
    pub line: u32,
    /// That line.
    pub source: String,
    /// Description: the variable, the index, the invocations.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mistake, kernel, line, source, what } = self;
        write!(f, "{mistake:?} in `{kernel}`, line {line}, `{}`: {what}", source.trim())
    }
}

/// Everything that a checked run did and found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The first mistake of each kind at each line of each kernel.
    pub findings: Vec<Finding>,
    /// Number of dispatches of each pipeline that ran, by label.
    pub dispatches: BTreeMap<String, u64>,
    /// Number of weak exchanges that failed although the values were equal.
    pub spurious_failures: u64,
}

impl Report {
    /// Whether a mistake of this kind was found.
    pub fn has(&self, mistake: Mistake) -> bool {
        self.findings.iter().any(|finding| finding.mistake == mistake)
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        let known = |old: &Finding| {
            (old.mistake, &old.kernel, old.line) == (finding.mistake, &finding.kernel, finding.line)
        };
        if !self.findings.iter().any(known) {
            self.findings.push(finding);
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.findings.iter().try_for_each(|finding| writeln!(f, "{finding}"))
    }
}
