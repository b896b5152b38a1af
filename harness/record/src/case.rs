//! Facts of how a case was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reason why the measuring of a case ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum CaseEnd {
    /// At a look, every comparison was precise enough or, where there is a threshold, known to be beyond it or not.
    Precise {
        /// Launches at that look.
        launches: usize,
    },
    /// The last look was reached.
    LastLook {
        /// Launches at that look.
        launches: usize,
    },
    /// The time budget was spent, or would not have lasted for another launch.
    Budget {
        /// Launches until then.
        launches: usize,
    },
    /// Every side has an outcome already.
    NothingLeft,
}

impl CaseEnd {
    /// Launches at the end, which decide how much of the alpha may be spent.
    pub fn launches(&self) -> Option<usize> {
        match self {
            Self::Precise { launches } | Self::LastLook { launches } | Self::Budget { launches } => {
                Some(*launches)
            }
            Self::NothingLeft => None,
        }
    }
}

/// Pairing: how the sides of a case share its launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairing {
    /// All sides are alive together, and every round has a sample of each.
    Together,
    /// Too big for that: each side shares a part of every launch with its reference alone.
    Pairwise,
    /// Even two are too big: the sides take turns within a launch, and are compared launch by launch.
    Alternating,
}
