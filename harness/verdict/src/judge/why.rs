use perfharness_contract::{Number, OutcomeKind, Role};
use serde::{Deserialize, Serialize};

use super::{AccountError, Suspicion};

/// The cause of a failure, an absence or a doubt: names and figures, which a renderer puts into words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Why {
    /// A figure is not a finite number.
    NotFinite,
    /// A time, or the anchor of one, is not a positive number.
    NotPositive,
    /// There is no interval.
    NoInterval,
    /// Nothing tells how much runs differ.
    UnknownSpread,
    /// An exact figure varied between launches, and some of them are worse than before.
    Varied {
        /// The least figure of a launch.
        least: f64,
        /// The largest figure of a launch.
        largest: f64,
        /// The figure before.
        before: f64,
    },
    /// A list that has an id twice does not say what is expected.
    Duplicate {
        /// The id.
        id: String,
    },
    /// It was not measured.
    NotMeasured,
    /// It was not compared with its reference.
    NotCompared,
    /// No round has it on both sides.
    NoSharedRound,
    /// The base was not measured.
    BaseNotMeasured,
    /// The code that is judged is the base itself.
    NoChange,
    /// The worker does not report a metric any more.
    NoMetric {
        /// The id of the metric.
        metric: String,
    },
    /// The worker does not report a work counter any more.
    NoWork {
        /// The id of the metric.
        metric: String,
    },
    /// The worker gives no digest of its input any more.
    NoInputDigest,
    /// Another amount of work was done than was accepted.
    OtherWork {
        /// The id of the metric.
        metric: String,
        /// The work that was done.
        now: Number,
        /// The work that was accepted.
        accepted: Number,
    },
    /// It is expected to end in another way than was accepted.
    OtherExpectation {
        /// The expected outcome.
        now: OutcomeKind,
        /// The outcome that was accepted as the expected one.
        accepted: OutcomeKind,
    },
    /// Its role is not the one that was accepted.
    OtherRole {
        /// Its role.
        now: Role,
        /// The role that was accepted.
        accepted: Role,
    },
    /// The unit, kind, direction or use as a work counter of a metric is not the one that was accepted.
    OtherMetric,
    /// The accepted figures were counted under something that instructions depend on, and that is not as it was.
    CountedUnder {
        /// Name of the fact.
        name: String,
        /// The fact when the figures were accepted, where it was known.
        accepted: Option<String>,
        /// The fact now.
        now: Option<String>,
    },
    /// It ended in this way.
    Ended(End),
    /// It is left out, and was not before.
    LeftOut(End),
    /// The base ended in this way.
    BaseEnded(End),
    /// The fresh launches ended in this way.
    FreshEnded(End),
    /// A worker ended in this way before it gave its workloads.
    NoWorkloads(End),
    /// A planted slowdown was not seen.
    NotSeen {
        /// The extra work, as a share.
        planted: Number,
        /// The measured effect, as a log-ratio; absent where nothing was measured.
        effect: Option<Number>,
    },
    /// Its times are not believed.
    Suspect(Suspicion),
    /// The times of the base are not believed.
    BaseSuspect(Suspicion),
    /// The words of a worker, of a record, or of a report of format 1.
    #[serde(untagged)]
    Told(String),
}

/// The end of a benchmark or a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct End {
    /// The outcome.
    pub kind: OutcomeKind,
    /// The reason that was given for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<String> for Why {
    fn from(told: String) -> Self {
        Self::Told(told)
    }
}

impl From<&str> for Why {
    fn from(told: &str) -> Self {
        Self::Told(told.to_owned())
    }
}

impl From<AccountError> for Why {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Duplicate { id } => Self::Duplicate { id },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_told_words_have_stable_forms_in_json() {
        let end = End { kind: OutcomeKind::Crashed, reason: Some("signal 11".into()) };
        let work = Why::OtherWork { metric: "steps".into(), now: Number(f64::NAN), accepted: Number(7.0) };
        let forms = [
            (Why::NotFinite, r#"{"is":"not-finite"}"#),
            (Why::Ended(end), r#"{"is":"ended","kind":"crashed","reason":"signal 11"}"#),
            (
                Why::Varied { least: 1.0, largest: 2.0, before: 1.0 },
                r#"{"is":"varied","least":1.0,"largest":2.0,"before":1.0}"#,
            ),
            (
                Why::Suspect(Suspicion::OtherPace { worker_ns: 5, harness_ns: 10 }),
                r#"{"is":"suspect","sign":"other-pace","worker_ns":5,"harness_ns":10}"#,
            ),
            ("no adapter".into(), r#""no adapter""#),
        ];
        for (why, json) in forms {
            assert_eq!(serde_json::to_string(&why).unwrap(), json);
            assert_eq!(serde_json::from_str::<Why>(json).unwrap(), why);
        }
        let json = serde_json::to_string(&work).unwrap();
        assert_eq!(json, r#"{"is":"other-work","metric":"steps","now":"NaN","accepted":7}"#);
        assert!(serde_json::from_str::<Why>(&json).is_ok());
    }
}
