//! Disturbances of samples.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A disturbance of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "kebab-case")]
pub enum Flag {
    /// The scheduler took the CPU away this often.
    Preempted {
        /// Involuntary context switches.
        switches: u64,
    },
    /// The process was off the CPU for a part of the time. An added sync or fsync looks the same, so this is never a
    /// reason to drop.
    Waited {
        /// Share of the wall-clock time without CPU time, 0 to 1.
        share: f64,
    },
    /// The clock of a busy GPU changed. Heavier work can bring that about, so it is never a reason to drop.
    ClockChanged {
        /// Clock before, in Hz.
        from_hz: f64,
        /// Clock after, in Hz.
        to_hz: f64,
    },
    /// Something outside of the code under test; the block is dropped.
    Outside {
        /// The cause.
        what: Contamination,
    },
}

/// Causes that the code under test cannot bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Contamination {
    /// Somebody else ran on its CPUs, by the count of the hypervisor and the scheduler. It is a matter of a whole launch:
    /// the counters are too coarse for a sample.
    Steal,
    /// The CPU or the GPU that is measured was throttled for its temperature, or for want of power.
    Throttle,
    /// The machine was suspended.
    Suspend,
}

impl Contamination {
    /// The word that records and raw samples have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steal => "steal",
            Self::Throttle => "throttle",
            Self::Suspend => "suspend",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_one_word_in_records_samples_and_journals() {
        let words = [Contamination::Steal, Contamination::Throttle, Contamination::Suspend]
            .map(|cause| (cause.as_str(), serde_json::to_value(cause).unwrap()));
        for ((word, stored), due) in words.into_iter().zip(["steal", "throttle", "suspend"]) {
            assert_eq!((word, stored), (due, due.into()));
        }
    }
}
