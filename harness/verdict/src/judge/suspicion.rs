use perfharness_contract::Number;
use serde::{Deserialize, Serialize};

/// The reason for which a benchmark's own times are not believed, with both figures that contradict each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "sign", rename_all = "kebab-case")]
pub enum Suspicion {
    /// Samples of more iterations take hardly more time: the time does not follow the work.
    SameTime {
        /// Iterations of the shorter samples.
        few: u64,
        /// Least time of the shorter samples, in ns.
        few_ns: u64,
        /// Iterations of the longer samples.
        many: u64,
        /// Least time of the longer samples, in ns.
        many_ns: u64,
    },
    /// An iteration takes less time than its least work needs on this machine.
    BelowFloor {
        /// Time of an iteration, in ns.
        ns: Number,
        /// The least time that it can take, in ns, with the error of the ceiling taken off.
        least_ns: Number,
        /// The ceiling that most of the least time is due to.
        ceiling: String,
    },
    /// The worker's clock passes another time than the harness's.
    OtherPace {
        /// Time between two samples by the worker's clock, in ns.
        worker_ns: u64,
        /// The nearest time that the harness's clock allows, in ns.
        harness_ns: u64,
    },
    /// Time is missing from every sample: the worker neither timed it nor reports it as untimed.
    Unaccounted {
        /// Time that the worker accounts for in the sample that lacks least, in ns.
        reported_ns: u64,
        /// Time from request to answer of that sample by the harness's clock, in ns.
        elapsed_ns: u64,
    },
    /// A planted slowdown has hardly an effect: the row cannot vary.
    CannotVary {
        /// The extra work, as a share.
        planted: Number,
        /// The measured effect, as a log-ratio.
        effect: Number,
    },
}
