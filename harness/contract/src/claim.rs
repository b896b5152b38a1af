//! Claims of source documents, tied to metrics.

use serde::{Deserialize, Serialize};

use crate::Name;

/// Promise of a document about a metric, comparing a candidate variant with a reference variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Promise {
    /// Reference / candidate is at least this: "10-50 times faster" is `at_least: 10, at_most: 50`.
    Factor {
        /// Smallest factor that keeps the promise.
        at_least: f64,
        /// Upper end of the promised range, for display only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
    },
    /// 1 - candidate / reference is at least this: "98 % fewer" is `at_least: 0.98`.
    Reduction {
        /// Smallest saved share that keeps the promise.
        at_least: f64,
        /// Upper end of the promised range, for display only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
    },
    /// (reference - candidate) x `iterations` is at least this, in the metric's unit: "60-115 s saved in an epoch
    /// of 5000 batches".
    Saving {
        /// Smallest saving that keeps the promise, in the metric's unit.
        at_least: f64,
        /// Upper end of the promised range, for display only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
        /// Number of iterations that the saving refers to.
        iterations: f64,
    },
    /// The document gives no number, or one that no measurement can decide.
    NotMeasurable {
        /// Reason why it is not measurable.
        reason: String,
    },
}

/// A statement of a source document, tied to a metric of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimDef {
    /// Id within the workload, e.g. `fewer-writes`.
    pub id: Name,
    /// Document and section, e.g. `003, 2.1`.
    pub source: String,
    /// The statement in few words.
    pub statement: String,
    /// Metric that decides the claim.
    pub metric: Name,
    /// Variant that the candidate improves on.
    pub reference: Name,
    /// Variant that is claimed to be better.
    pub candidate: Name,
    /// The promised number.
    pub promise: Promise,
    /// Cases that the statement applies to; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Name>,
    /// Whether the claim is about the time of a GPU, which a software adapter cannot decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_gpu: bool,
    /// Remark that is needed to interpret the result, e.g. that bytes grow while calls shrink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ClaimDef {
    /// Creates a claim that the variant `documented` is better than the variant `slow` in every case.
    ///
    /// # Panics
    /// Panics if `id` or `metric` is not a valid name.
    pub fn new(id: &str, source: &str, statement: &str, metric: &str, promise: Promise) -> Self {
        Self {
            id: Name::literal(id),
            source: source.into(),
            statement: statement.into(),
            metric: Name::literal(metric),
            reference: Name::literal("slow"),
            candidate: Name::literal("documented"),
            promise,
            cases: Vec::new(),
            on_gpu: false,
            note: None,
        }
    }

    /// Sets the two variants that the claim compares.
    ///
    /// # Panics
    /// Panics if one of them is not a valid name.
    #[must_use]
    pub fn between(mut self, reference: &str, candidate: &str) -> Self {
        self.reference = Name::literal(reference);
        self.candidate = Name::literal(candidate);
        self
    }

    /// Adds a remark that is needed to interpret the result.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Marks the claim as one about the time of a GPU: it is not measurable on a software adapter.
    #[must_use]
    pub fn on_gpu(mut self) -> Self {
        self.on_gpu = true;
        self
    }

    /// Restricts the claim to these cases.
    ///
    /// # Panics
    /// Panics if one of them is not a valid name.
    #[must_use]
    pub fn cases(mut self, cases: &[&str]) -> Self {
        self.cases = cases.iter().map(|case| Name::literal(case)).collect();
        self
    }
}
