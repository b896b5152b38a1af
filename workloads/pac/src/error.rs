//! What can be wrong with a call.

/// Why there is no index.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PacError {
    /// The sampling rate is no positive number.
    #[error("the sampling rate is {sf_hz} Hz; it must be a positive number")]
    Rate {
        /// What was given, in Hz.
        sf_hz: f64,
    },
    /// There are no phase bands, or no amplitude bands.
    #[error("there are no {which} bands")]
    NoBands {
        /// `phase` or `amplitude`.
        which: &'static str,
    },
    /// A band is empty, or not between 0 and half the sampling rate.
    #[error(
        "the band from {lo_hz} to {hi_hz} Hz must start above 0, and end above its start and at {nyquist_hz} Hz \
         (half the sampling rate) at most"
    )]
    Band {
        /// Its lower end, in Hz.
        lo_hz: f64,
        /// Its upper end, in Hz.
        hi_hz: f64,
        /// Half the sampling rate, in Hz.
        nyquist_hz: f64,
    },
    /// The phase is cut into too few or too many bins.
    #[error("{bins} phase bins; there must be from 2 to {}", crate::MAX_BINS)]
    Bins {
        /// What was given.
        bins: usize,
    },
    /// The signal is too short for the shortest filter.
    #[error("{samples} samples are too few for a filter; it takes {} at least", crate::MIN_SAMPLES)]
    TooFewSamples {
        /// Samples of a channel.
        samples: usize,
    },
    /// There is no signal at all.
    #[error("there are no channels")]
    NoChannels,
    /// A slice has another length than the shape says.
    #[error("{given} {what} where {due} are due")]
    Length {
        /// What the slice holds.
        what: &'static str,
        /// Its length.
        given: usize,
        /// The length that it must have.
        due: usize,
    },
    /// A sample is NaN or infinite. One such sample would make every index of its channel NaN.
    #[error("sample {sample} of channel {channel} is {value}; remove or interpolate it first")]
    NotFinite {
        /// Channel, from 0.
        channel: usize,
        /// Sample, from 0.
        sample: usize,
        /// `NaN`, `inf` or `-inf`.
        value: String,
    },
    /// The threads could not be started.
    #[error("no threads: {0}")]
    Threads(String),
}
