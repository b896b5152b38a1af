//! Errors of a call.

/// Error of the computation of an index.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PacError {
    /// The sampling rate is not a positive number.
    #[error("the sampling rate is {sf_hz} Hz; it must be a positive number")]
    Rate {
        /// Given sampling rate in Hz.
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
        /// Lower end in Hz.
        lo_hz: f64,
        /// Upper end in Hz.
        hi_hz: f64,
        /// Half the sampling rate in Hz.
        nyquist_hz: f64,
    },
    /// The number of phase bins is too small or too large.
    #[error("{bins} phase bins; there must be from 2 to {}", crate::MAX_BINS)]
    Bins {
        /// Given number of bins.
        bins: usize,
    },
    /// The signal is too short for the shortest filter.
    #[error("{samples} samples are too few for a filter; it needs at least {}", crate::MIN_SAMPLES)]
    TooFewSamples {
        /// Number of samples of a channel.
        samples: usize,
    },
    /// There is no signal.
    #[error("there are no channels")]
    NoChannels,
    /// The length of a slice does not match the shape.
    #[error("{given} {what} are given instead of {due}")]
    Length {
        /// Contents of the slice.
        what: &'static str,
        /// Length of the slice.
        given: usize,
        /// Required length.
        due: usize,
    },
    /// A sample is NaN or infinite. One such sample would make every index of its channel NaN.
    #[error("sample {sample} of channel {channel} is {value}; remove or interpolate it first")]
    NotFinite {
        /// Channel, counted from 0.
        channel: usize,
        /// Sample, counted from 0.
        sample: usize,
        /// `NaN`, `inf` or `-inf`.
        value: String,
    },
    /// The threads could not be started.
    #[error("no threads: {0}")]
    Threads(String),
}
