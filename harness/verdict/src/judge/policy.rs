use serde::{Deserialize, Serialize};

/// The threshold for times, as a share: 3 % more time matters.
pub const TIME_THRESHOLD: f64 = 0.03;

/// The threshold for times of GPU workloads on a software adapter, where a sync costs what a function call does and
/// times say little about a GPU: only large effects are judged.
pub const SOFTWARE_TIME_THRESHOLD: f64 = 0.5;

/// The share by which a size has to grow to matter.
pub const SIZE_RELATIVE: f64 = 0.02;

/// The bytes by which a size has to grow to matter: a few pages more or less are the allocator's business.
pub const SIZE_FLOOR_BYTES: f64 = 64.0 * 1024.0;

/// Which way a metric gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither; never judged.
    Neutral,
}

impl Direction {
    /// The sign of a change for the worse; none where no change is.
    pub(crate) fn worse(self) -> Option<f64> {
        match self {
            Self::Lower => Some(1.0),
            Self::Higher => Some(-1.0),
            Self::Neutral => None,
        }
    }
}

/// A number that is finite and not negative: a threshold, a slack or a floor.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
pub struct Limit(f64);

/// A number that is no limit.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a limit must be a number that is finite and not negative, and {value} is not")]
pub struct LimitError {
    /// The rejected number.
    pub value: f64,
}

impl Limit {
    /// No allowance at all.
    pub const ZERO: Self = Self(0.0);

    /// A limit of `value`.
    ///
    /// # Errors
    ///
    /// If `value` is negative, infinite or not a number.
    pub fn new(value: f64) -> Result<Self, LimitError> {
        if value.is_finite() && value >= 0.0 { Ok(Self(value)) } else { Err(LimitError { value }) }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Limit {
    type Error = LimitError;

    fn try_from(value: f64) -> Result<Self, LimitError> {
        Self::new(value)
    }
}

impl From<Limit> for f64 {
    fn from(limit: Limit) -> Self {
        limit.0
    }
}

/// How a change of a metric is judged. Each kind of metric has its own parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Policy {
    /// For figures without noise.
    Exact(ExactPolicy),
    /// For figures with little noise, such as memory peaks.
    Size(SizePolicy),
    /// For times, and for what is derived from them.
    Time(TimePolicy),
}

/// How a figure without noise is judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ExactPolicy {
    /// The change that does not matter yet, in the unit of the metric.
    pub slack: Limit,
    /// How the figure is judged if it turns out to vary after all.
    pub demoted: SizePolicy,
}

impl ExactPolicy {
    /// The default for bytes: any increase matters.
    pub const BYTES: Self = Self { slack: Limit::ZERO, demoted: SizePolicy::BYTES };

    /// The default for counts: any increase matters.
    pub const COUNTS: Self = Self { slack: Limit::ZERO, demoted: SizePolicy::COUNTS };
}

/// How a figure with little noise is judged: a change matters if it exceeds both limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SizePolicy {
    /// The share of the smaller figure that does not matter yet.
    pub relative: Limit,
    /// The change that does not matter yet, in the unit of the metric.
    pub floor: Limit,
}

impl SizePolicy {
    /// The default for bytes.
    pub const BYTES: Self = Self { relative: Limit(SIZE_RELATIVE), floor: Limit(SIZE_FLOOR_BYTES) };

    /// The default for counts that vary. The floor of bytes would make the gate blind to them; one call more or less
    /// is what a count that varies does.
    pub const COUNTS: Self = Self { relative: Limit(SIZE_RELATIVE), floor: Limit(1.0) };
}

/// How a time is judged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TimePolicy {
    /// The smallest change that matters, as a share: 0.03 is 3 % more. With 0 no interval is narrow enough for
    /// `unchanged`.
    pub threshold: Limit,
}

impl TimePolicy {
    /// The default on hardware.
    pub const HARDWARE: Self = Self { threshold: Limit(TIME_THRESHOLD) };

    /// The default for metrics of GPU workloads on a software adapter.
    pub const SOFTWARE_ADAPTER: Self = Self { threshold: Limit(SOFTWARE_TIME_THRESHOLD) };

    /// The threshold as a log-ratio, `delta = ln(1 + threshold)`. As a log-ratio it is the same in both directions:
    /// with 50 %, a time matters from 1.5 times on, and from 1/1.5 times down.
    pub fn delta(self) -> f64 {
        self.threshold.get().ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::negative(-0.1)]
    #[case::not_a_number(f64::NAN)]
    #[case::infinite(f64::INFINITY)]
    fn a_number_that_is_no_limit_is_refused(#[case] value: f64) {
        assert!(Limit::new(value).is_err());
    }

    #[test]
    fn the_threshold_is_a_log_ratio_that_is_the_same_in_both_directions() {
        assert_eq!(TimePolicy::HARDWARE.delta(), 0.03_f64.ln_1p());
        assert!((TimePolicy::SOFTWARE_ADAPTER.delta() - 1.5_f64.ln()).abs() < 1e-15);
    }

    #[rstest]
    #[case::exact(
        Policy::Exact(ExactPolicy::COUNTS),
        r#"{"kind":"exact","slack":0.0,"demoted":{"relative":0.02,"floor":1.0}}"#
    )]
    #[case::size(Policy::Size(SizePolicy::BYTES), r#"{"kind":"size","relative":0.02,"floor":65536.0}"#)]
    #[case::time(Policy::Time(TimePolicy::HARDWARE), r#"{"kind":"time","threshold":0.03}"#)]
    fn a_policy_has_a_stable_form_in_json(#[case] policy: Policy, #[case] json: &str) {
        assert_eq!(serde_json::to_string(&policy).unwrap(), json);
        assert_eq!(serde_json::from_str::<Policy>(json).unwrap(), policy);
    }

    #[test]
    fn a_whole_number_is_a_limit_as_well() {
        let policy = serde_json::from_str::<Policy>(r#"{"kind":"size","relative":0,"floor":8}"#).unwrap();
        let floor = Limit::new(8.0).unwrap();
        assert_eq!(policy, Policy::Size(SizePolicy { relative: Limit::ZERO, floor }));
    }

    #[rstest]
    #[case::negative(r#"{"kind":"time","threshold":-0.03}"#, "not negative")]
    #[case::misspelt(r#"{"kind":"time","threshold":0.03,"treshold":0.5}"#, "unknown field `treshold`")]
    #[case::of_another_kind(r#"{"kind":"exact","threshold":0.03}"#, "unknown field `threshold`")]
    fn a_policy_that_is_none_is_refused(#[case] json: &str, #[case] message: &str) {
        let error = serde_json::from_str::<Policy>(json).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}
