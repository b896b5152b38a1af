//! Claims of source documents, tied to metrics.

use serde::{Deserialize, Serialize};

use crate::Name;

/// Promise of a document about a metric: of a candidate variant compared with a reference variant, or of one variant.
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
    /// The candidate's own figure is in this range, in the metric's unit: "the GPU is idle 95 % of the time" is
    /// `at_most: 0.05` of its busy share. One of the bounds may be absent, and there is no reference: see
    /// [`ClaimDef::of`].
    Level {
        /// Smallest figure that keeps the promise.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_least: Option<f64>,
        /// Largest figure that keeps the promise. Other than in the other promises, a larger one breaks it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_most: Option<f64>,
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
    /// Variant that the candidate improves on; for a level, the candidate itself.
    pub reference: Name,
    /// Variant that is claimed to be better, or to be at a level.
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

    /// Sets the one variant whose level the claim states.
    ///
    /// # Panics
    /// Panics if it is not a valid name.
    #[must_use]
    pub fn of(self, variant: &str) -> Self {
        self.between(variant, variant)
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

impl ClaimDef {
    /// Returns the errors of the promise, worded for its author; empty if there are none.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Promise::Level { at_least, at_most } = self.promise {
            let range = at_least.unwrap_or(f64::NEG_INFINITY)..=at_most.unwrap_or(f64::INFINITY);
            if (at_least, at_most) == (None, None) || range.is_empty() {
                problems.push(format!("claim `{}` promises a level that is not a range", self.id));
            }
            if self.reference != self.candidate {
                let variants = format!("`{}` and `{}`", self.reference, self.candidate);
                problems.push(format!(
                    "claim `{}` promises a level of {variants}; name one variant, as reference and as candidate",
                    self.id
                ));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standard;

    fn claim(promise: Promise) -> ClaimDef {
        ClaimDef::new("c", "000, 1", "is so", standard::WALL_TIME, promise)
    }

    #[test]
    fn a_level_is_a_range_of_one_variant() {
        let level = |at_least, at_most| claim(Promise::Level { at_least, at_most }).of("slow").problems();
        for (at_least, at_most) in [(Some(1.0), None), (None, Some(1.0)), (Some(1.0), Some(1.0))] {
            assert!(level(at_least, at_most).is_empty(), "{at_least:?} to {at_most:?}");
        }
        for (at_least, at_most) in [(None, None), (Some(2.0), Some(1.0)), (Some(f64::NAN), None)] {
            assert_eq!(level(at_least, at_most), ["claim `c` promises a level that is not a range"]);
        }
        let of_two = claim(Promise::Level { at_least: Some(1.0), at_most: None }).problems();
        assert!(of_two[0].contains("`slow` and `documented`"), "{of_two:?}");
        assert!(claim(Promise::Factor { at_least: 2.0, at_most: None }).problems().is_empty());
    }

    #[test]
    fn a_level_is_written_without_the_bound_that_it_lacks() {
        let promise = Promise::Level { at_least: None, at_most: Some(0.05) };
        let text = serde_json::to_string(&promise).unwrap();
        assert_eq!(text, r#"{"kind":"level","at_most":0.05}"#);
        assert_eq!(serde_json::from_str::<Promise>(&text).unwrap(), promise);
    }
}
