//! Designs of cases, by effort.

use std::time::Duration;

use perfharness_contract::Effort;
use perfharness_verdict::Looks;
use perfharness_verdict::judge::CONFIDENCE;
use serde::{Deserialize, Serialize};

/// When the data of a case are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LookPlan {
    /// Once, after so many launches.
    Fixed {
        /// The launches.
        launches: u32,
    },
    /// At the launches of [`SEQUENTIAL_LOOKS`](perfharness_verdict::SEQUENTIAL_LOOKS), ending where the comparisons are
    /// precise enough.
    Sequential,
}

/// Design of the measurement of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Design {
    /// When to look.
    pub looks: LookPlan,
    /// Half-width of the interval of a log-ratio that is precise enough.
    pub half_width: f64,
    /// Confidence over all looks.
    pub confidence: f64,
    /// Length that a timed sample should have, in ns.
    pub sample_ns: u64,
}

impl Design {
    /// The design of an effort.
    pub fn of(effort: Effort) -> Self {
        let (looks, half_width, sample_ns) = match effort {
            // Eight launches are the fewest that a verdict may stand on.
            Effort::Quick => (LookPlan::Fixed { launches: 8 }, 0.05, 5_000_000),
            Effort::Standard => (LookPlan::Sequential, 0.02, 5_000_000),
            Effort::Thorough => (LookPlan::Sequential, 0.01, 10_000_000),
        };
        Self { looks, half_width, confidence: CONFIDENCE, sample_ns }
    }

    /// Time that an effort gives a run of so many cases: so much for each, but no more in all than somebody who chose
    /// the effort wants to wait. Cases that need less leave it to the others.
    pub fn budget(effort: Effort, cases: u32) -> Duration {
        let (each, at_most) = match effort {
            Effort::Quick => (Duration::from_secs(12), Duration::from_secs(80)),
            Effort::Standard => (Duration::from_secs(150), Duration::from_secs(520)),
            Effort::Thorough => (Duration::from_mins(15), Duration::MAX),
        };
        (each * cases).min(at_most)
    }

    /// Time that an effort gives a gate of so many pairs. At quick effort it is what continuous integration can afford for
    /// each change.
    pub fn budget_of_gate(effort: Effort, pairs: u32) -> Duration {
        match effort {
            Effort::Quick => (Duration::from_secs(5) * pairs).min(Duration::from_mins(2)),
            Effort::Standard | Effort::Thorough => Self::budget(effort, pairs),
        }
    }

    /// The looks.
    pub fn looks(&self) -> Looks {
        match self.looks {
            LookPlan::Sequential => Looks::default(),
            LookPlan::Fixed { launches } => Looks::fixed(launches as usize).unwrap_or_default(),
        }
    }

    /// The whole alpha over all looks.
    pub fn alpha(&self) -> f64 {
        1.0 - self.confidence
    }

    /// Confidence of the interval when `launches` launches are there and the case ends: the look's own share, or,
    /// where something else than the data ended it between looks, what is left.
    pub fn confidence_at(&self, launches: usize) -> f64 {
        let looks = self.looks();
        let at_look = looks.alpha_at(launches, self.alpha());
        let alpha = at_look.or_else(|| looks.alpha_left(launches, self.alpha()));
        1.0 - alpha.unwrap_or(self.alpha())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_many_cases_takes_no_longer_than_its_effort_promises() {
        let seconds = |effort, cases| Design::budget(effort, cases).as_secs();
        assert_eq!((seconds(Effort::Quick, 2), seconds(Effort::Quick, 50)), (24, 80));
        assert_eq!((seconds(Effort::Standard, 2), seconds(Effort::Standard, 50)), (300, 520));
        assert_eq!(seconds(Effort::Thorough, 50), 45_000);
        assert_eq!(seconds(Effort::Quick, 0), 0);
    }

    #[test]
    fn a_quick_gate_takes_two_minutes_at_most() {
        let seconds = |effort, pairs| Design::budget_of_gate(effort, pairs).as_secs();
        assert_eq!([2, 24, 100].map(|pairs| seconds(Effort::Quick, pairs)), [10, 120, 120]);
        assert_eq!((seconds(Effort::Standard, 2), seconds(Effort::Standard, 50)), (300, 520));
    }
}
