//! Statements of source documents, tied to what is measured.

use serde::{Deserialize, Serialize};

use crate::Name;

/// What a document promises about a metric, comparing a candidate variant with a reference variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Promise {
    /// Reference / candidate is at least this: "10-50 times faster" is `at_least: 10, at_most: 50`.
    Factor {
        /// The least factor that keeps the promise.
        at_least: f64,
        /// The upper end of the promised range, for show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
    },
    /// 1 - candidate / reference is at least this: "98 % fewer" is `at_least: 0.98`.
    Reduction {
        /// The least share saved that keeps the promise.
        at_least: f64,
        /// The upper end of the promised range, for show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
    },
    /// (reference - candidate) x `iterations` is at least this, in the metric's unit: "60-115 s saved in an epoch
    /// of 5000 batches".
    Saving {
        /// The least saving that keeps the promise, in the metric's unit.
        at_least: f64,
        /// The upper end of the promised range, for show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
        /// How many iterations the saving is said of.
        iterations: f64,
    },
    /// The document gives no number, or one that no measurement can decide.
    NotMeasurable {
        /// Why.
        reason: String,
    },
}

/// A statement of a source document, tied to a metric of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimDef {
    /// Id within the workload, e.g. `fewer-writes`.
    pub id: Name,
    /// Where it is stated: document and section, e.g. `003, 2.1`.
    pub source: String,
    /// What it says, in few words.
    pub statement: String,
    /// The metric that decides it.
    pub metric: Name,
    /// The variant that is improved upon.
    pub reference: Name,
    /// The variant that is said to be better.
    pub candidate: Name,
    /// The number promised.
    pub promise: Promise,
    /// Cases that the statement is about; all where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Name>,
    /// It is about the time of a GPU, which a software adapter cannot decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_gpu: bool,
    /// What must be known to read the result rightly, e.g. that bytes grow while calls shrink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ClaimDef {
    /// A claim that the variant `documented` keeps against the variant `slow`, in every case.
    ///
    /// # Panics
    /// When `id` or `metric` is not a valid name.
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

    /// Names the two variants that it is about.
    ///
    /// # Panics
    /// When one of them is not a valid name.
    #[must_use]
    pub fn between(mut self, reference: &str, candidate: &str) -> Self {
        self.reference = Name::literal(reference);
        self.candidate = Name::literal(candidate);
        self
    }

    /// Says what must be known to read the result rightly.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Says that it is about the time of a GPU: where the GPU is a software adapter it is not measurable.
    #[must_use]
    pub fn on_gpu(mut self) -> Self {
        self.on_gpu = true;
        self
    }

    /// Restricts it to these cases.
    ///
    /// # Panics
    /// When one of them is not a valid name.
    #[must_use]
    pub fn cases(mut self, cases: &[&str]) -> Self {
        self.cases = cases.iter().map(|case| Name::literal(case)).collect();
        self
    }
}
