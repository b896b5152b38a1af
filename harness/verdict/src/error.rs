use crate::student::MIN_TAIL;

/// A fault of samples that keeps them from being reduced to an estimate. Positions count from 0.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// No launch holds a complete block or a sample, so there is nothing to estimate.
    #[error("there is nothing to estimate: no launch holds a single complete block or sample")]
    Empty,

    /// A log-ratio is infinite or not a number, as a time of zero makes it.
    #[error(
        "launch {launch}, placement {placement}, block {block} (counted from 0) holds the log-ratio {value}, \
         which is not finite: check the two times of that round"
    )]
    NonFiniteBlock {
        /// Position of the launch.
        launch: usize,
        /// Position of the placement in its launch.
        placement: usize,
        /// Position of the block in its placement.
        block: usize,
        /// The offending log-ratio.
        value: f64,
    },

    /// A sample of one side is infinite or not a number.
    #[error(
        "launch {launch}, placement {placement}, sample {sample} (counted from 0) is {value}, \
         which is not finite"
    )]
    NonFiniteSample {
        /// Position of the launch.
        launch: usize,
        /// Position of the placement in its launch.
        placement: usize,
        /// Position of the sample in its placement.
        sample: usize,
        /// The offending sample.
        value: f64,
    },

    /// A confidence that is not above 0, or leaves less than [`MIN_TAIL`](crate::student::MIN_TAIL) outside
    /// of the interval on one side.
    #[error(
        "the confidence is {confidence}, but must lie between 0 and 1 and leave at least {tail} on both \
         sides of the interval, as 0.99 does",
        tail = MIN_TAIL
    )]
    BadConfidence {
        /// The rejected confidence.
        confidence: f64,
    },

    /// Finite values so large that their mean, variance or interval is not.
    #[error("the values are finite, but too large for their mean, variance or interval to be")]
    Overflow,
}
