use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::{Estimate, Interval};

/// The figures behind a verdict, by the rule that judged them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Evidence {
    /// No figures were compared.
    None,
    /// Nothing had to be measured: both programs are the same.
    Identical {
        /// The digest that both have.
        digest: String,
    },
    /// Two figures without noise.
    Exact {
        /// The figure of the baseline.
        baseline: f64,
        /// The figure of the candidate.
        candidate: f64,
        /// The change that does not matter yet.
        slack: f64,
    },
    /// Two figures with little noise.
    Size {
        /// The figure of the baseline.
        baseline: f64,
        /// The figure of the candidate.
        candidate: f64,
        /// The share of the smaller figure that does not matter yet.
        relative: f64,
        /// The change that does not matter yet, in the unit of the metric.
        #[serde(alias = "floor")]
        margin: f64,
        /// Whether the metric is defined as exact, and varied.
        demoted: bool,
    },
    /// A time, from paired rounds.
    TimePaired(PairedEvidence),
    /// A time against runs of other days.
    TimeUnpaired(UnpairedEvidence),
}

/// The figures of a time from paired rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairedEvidence {
    /// The effect and its interval as log-ratios candidate / baseline, with the launches, placements and rounds that
    /// were used, and those that were left empty.
    pub estimate: Estimate,
    /// The effect as a ratio.
    pub ratio: f64,
    /// The interval as ratios.
    pub ratio_interval: Option<Interval>,
    /// The blocks that were dropped as contaminated.
    pub dropped_blocks: usize,
    /// The blocks that were measured, dropped ones among them.
    pub blocks: usize,
    /// The verdict that keeping the dropped blocks would have given, where it is another one.
    pub verdict_if_kept: Option<Verdict>,
    /// The smallest change that matters, as a share.
    pub threshold: f64,
    /// The smallest slowdown, as a log-ratio, that the row could have seen:
    /// [`RowTerms::could_see`](super::RowTerms::could_see). In files of format 2, the smallest that it would have found in
    /// nine of ten runs.
    #[serde(default, alias = "smallest_detectable")]
    pub could_see: Option<f64>,
    /// The spread, as a log-ratio, of the times that the same object code has when it is linked in other orders; 0 if it
    /// is not known.
    #[serde(default)]
    pub layout_spread: f64,
    /// The chance of an effect at least this bad if there is none. In files of format 2, if it is exactly at the
    /// threshold.
    pub p_value: Option<f64>,
    /// The end of the measurement.
    pub ended: Ended,
}

/// The figures of a time against stored runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnpairedEvidence {
    /// The effect as a log-ratio candidate / baseline, each divided by the anchor of its run.
    pub effect: f64,
    /// The interval of the effect.
    pub interval: Interval,
    /// The effect as a ratio.
    pub ratio: f64,
    /// The interval as ratios.
    pub ratio_interval: Interval,
    /// The confidence of the interval.
    pub confidence: f64,
    /// The runs of the baseline.
    pub baseline_runs: usize,
    /// The runs of the candidate.
    pub candidate_runs: usize,
    /// The standard deviation between runs, as a log-ratio, after shrinking it towards that of the machine class.
    pub sd: f64,
    /// The degrees of freedom behind it.
    pub df: f64,
    /// The smallest change that matters, as a share.
    pub threshold: f64,
    /// The smallest slowdown, as a log-ratio, that the row could have seen:
    /// [`RowTerms::could_see`](super::RowTerms::could_see). In files of format 2, the smallest that it would have found in
    /// nine of ten cases.
    #[serde(default, alias = "smallest_detectable")]
    pub could_see: Option<f64>,
    /// The spread, as a log-ratio, of the times that the same object code has when it is linked in other orders; 0 if it
    /// is not known.
    #[serde(default)]
    pub layout_spread: f64,
    /// The chance of an effect at least this bad if there is none. In files of format 2, if it is exactly at the
    /// threshold.
    pub p_value: Option<f64>,
}

/// The end of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Ended {
    /// A planned look at the data.
    Look {
        /// The launches at that look.
        launches: usize,
    },
    /// The time budget.
    Budget {
        /// The launches until then.
        launches: usize,
    },
}

impl Evidence {
    /// The chance of an effect at least this bad if there is none; absent where no time was judged, or where it could not
    /// be.
    pub fn p_value(&self) -> Option<f64> {
        match self {
            Self::TimePaired(evidence) => evidence.p_value,
            Self::TimeUnpaired(evidence) => evidence.p_value,
            Self::None | Self::Identical { .. } | Self::Exact { .. } | Self::Size { .. } => None,
        }
    }

    /// The threshold and the layout spread that a time was judged by, as log-ratios; absent for other figures.
    pub fn limits(&self) -> Option<(f64, f64)> {
        match self {
            Self::TimePaired(evidence) => Some((evidence.threshold.ln_1p(), evidence.layout_spread)),
            Self::TimeUnpaired(evidence) => Some((evidence.threshold.ln_1p(), evidence.layout_spread)),
            Self::None | Self::Identical { .. } | Self::Exact { .. } | Self::Size { .. } => None,
        }
    }

    /// The smallest slowdown that a time could have shown, as a log-ratio; absent for other figures, and where it has no
    /// interval.
    pub fn could_see(&self) -> Option<f64> {
        match self {
            Self::TimePaired(evidence) => evidence.could_see,
            Self::TimeUnpaired(evidence) => evidence.could_see,
            Self::None | Self::Identical { .. } | Self::Exact { .. } | Self::Size { .. } => None,
        }
    }

    /// The effect of a time as a log-ratio; absent for other figures.
    pub fn effect(&self) -> Option<f64> {
        match self {
            Self::TimePaired(evidence) => Some(evidence.estimate.theta),
            Self::TimeUnpaired(evidence) => Some(evidence.effect),
            Self::None | Self::Identical { .. } | Self::Exact { .. } | Self::Size { .. } => None,
        }
    }
}
