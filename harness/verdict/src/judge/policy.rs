use serde::{Deserialize, Serialize};

use super::RowTerms;

/// The threshold for times, as a share: 3 % more time matters.
pub const TIME_THRESHOLD: f64 = 0.03;

/// The change of a time that a row must be able to see, as a share. A row that could only have seen a larger one, by any
/// of its times that count, stays open.
pub const MUST_SEE: f64 = 0.25;

/// The threshold for times of GPU workloads on a software adapter, where a sync costs what a function call does and
/// times say little about a GPU: only large effects are judged.
pub const SOFTWARE_TIME_THRESHOLD: f64 = 0.5;

/// The share by which a size has to grow to matter.
pub const SIZE_RELATIVE: f64 = 0.02;

/// The bytes by which a size has to grow to matter: a few pages more or less are the allocator's business.
pub const SIZE_MARGIN_BYTES: f64 = 64.0 * 1024.0;

/// The bytes by which a resident set has to grow to matter. It holds what the allocator and the loader keep, too, and
/// moves by hundreds of kilobytes between processes that do the same.
pub const RESIDENT_MARGIN_BYTES: f64 = 1024.0 * 1024.0;

/// The share by which instructions have to grow to matter. Nothing else that runs changes them, and a run of the same code
/// repeats them to a ten-thousandth.
pub const INSTRUCTIONS_RELATIVE: f64 = 0.01;

/// The share by which the instructions of compiled kernels have to grow to matter. They have no noise, but another allocation of
/// registers adds a few copies.
pub const CODE_INSTRUCTIONS_RELATIVE: f64 = 0.02;

/// The share by which instructions may differ and still be the same work.
pub const SAME_INSTRUCTIONS: f64 = 5e-4;

/// The bytes by which the growth of an iteration has to rise to matter, where it varies between launches. Only the
/// launches nearest to each other are compared, so that the variation is out of it already; 64 KiB would be a leak of
/// 64 MiB in a thousand iterations.
pub const GROWTH_MARGIN_BYTES: f64 = 512.0;

/// A number that is finite and not negative: a threshold, a slack or a margin.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
pub struct Limit(f64);

/// A number that is not a limit.
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
    /// Returns an error if `value` is negative, infinite or not a number.
    pub fn new(value: f64) -> Result<Self, LimitError> {
        if value.is_finite() && value >= 0.0 { Ok(Self(value)) } else { Err(LimitError { value }) }
    }

    /// A limit that is written in the code, and therefore is one.
    pub(super) const fn literal(value: f64) -> Self {
        Self(value)
    }

    /// The limit, or else this one if it is larger and a number.
    pub(super) fn at_least(self, other: f64) -> Self {
        Self(if other.is_finite() { self.0.max(other) } else { self.0 })
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

/// The policy for a figure without noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExactPolicy {
    /// The change that does not matter yet, in the unit of the metric.
    pub slack: Limit,
    /// The policy for a figure that turns out to vary after all.
    pub demoted: SizePolicy,
}

impl ExactPolicy {
    /// The default for bytes: any increase matters.
    pub const BYTES: Self = Self { slack: Limit::ZERO, demoted: SizePolicy::BYTES };

    /// The default for counts: any increase matters.
    pub const COUNTS: Self = Self { slack: Limit::ZERO, demoted: SizePolicy::COUNTS };
}

/// The policy for a figure with little noise: a change matters if it exceeds both limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizePolicy {
    /// The share of the smaller figure that does not matter yet.
    pub relative: Limit,
    /// The change that does not matter yet, in the unit of the metric.
    pub margin: Limit,
}

impl SizePolicy {
    /// The default for bytes.
    pub const BYTES: Self = Self { relative: Limit(SIZE_RELATIVE), margin: Limit(SIZE_MARGIN_BYTES) };

    /// The default for counts that vary. The margin of bytes would make the gate blind to them; one call more or less
    /// is what a count that varies does.
    pub const COUNTS: Self = Self { relative: Limit(SIZE_RELATIVE), margin: Limit(1.0) };

    /// The default for instructions of a simulated processor.
    pub const INSTRUCTIONS: Self = Self { relative: Limit(INSTRUCTIONS_RELATIVE), margin: Limit::ZERO };

    /// The default for instructions of compiled kernels.
    pub const CODE_INSTRUCTIONS: Self =
        Self { relative: Limit(CODE_INSTRUCTIONS_RELATIVE), margin: Limit::ZERO };
}

/// The policy for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimePolicy {
    /// The smallest change that matters, as a share: 0.03 is 3 % more.
    pub threshold: Limit,
    /// The change that a row must be able to see, as a share. Below the threshold, it is the threshold.
    pub must_see: Limit,
}

impl TimePolicy {
    /// The default on hardware.
    pub const HARDWARE: Self = Self { threshold: Limit(TIME_THRESHOLD), must_see: Limit(MUST_SEE) };

    /// The default for metrics of GPU workloads on a software adapter.
    pub const SOFTWARE_ADAPTER: Self =
        Self { threshold: Limit(SOFTWARE_TIME_THRESHOLD), must_see: Limit(MUST_SEE) };

    /// The threshold as a log-ratio, `delta = ln(1 + threshold)`. As a log-ratio it is the same in both directions:
    /// with 50 %, a time matters from 1.5 times on, and from 1/1.5 times down.
    pub fn delta(self) -> f64 {
        self.threshold.get().ln_1p()
    }

    /// The terms of a row by this policy, without a calibration, and where nothing is known of its layouts.
    pub fn terms(self) -> RowTerms {
        let must_see = self.must_see.get().ln_1p();
        RowTerms { threshold: self.delta(), must_see, calibrated: None, layout_spread: 0.0 }
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

    #[test]
    fn a_whole_number_is_a_limit_as_well() {
        assert_eq!(serde_json::from_str::<Limit>("8").unwrap(), Limit(8.0));
        assert!(serde_json::from_str::<Limit>("-0.03").unwrap_err().to_string().contains("not negative"));
    }
}
