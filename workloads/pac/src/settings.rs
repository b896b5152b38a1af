//! Settings of the computation.

use crate::{PacError, Scalar};

/// Largest number of phase bins: the number of a bin is stored in a byte.
pub const MAX_BINS: usize = 128;
/// Smallest number of samples of a channel: with it the shortest filter has order 1.
pub const MIN_SAMPLES: usize = 4;

/// A band of frequencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Lower end in Hz.
    pub lo_hz: f64,
    /// Upper end in Hz.
    pub hi_hz: f64,
}

impl Band {
    /// Creates a band from `lo_hz` to `hi_hz`.
    pub fn new(lo_hz: f64, hi_hz: f64) -> Self {
        Self { lo_hz, hi_hz }
    }

    /// Creates `count` adjacent bands of equal width from `lo_hz` to `hi_hz`.
    pub fn adjoining(lo_hz: f64, hi_hz: f64, count: usize) -> Vec<Self> {
        let edge = |i: usize| lo_hz + (hi_hz - lo_hz) * i as f64 / count as f64;
        (0..count).map(|i| Self::new(edge(i), edge(i + 1))).collect()
    }
}

/// Divisor of the sum of the amplitudes in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normalisation {
    /// The number of samples of this phase band and channel in the bin, which gives the mean amplitude of Tort et al.
    /// (2010). The index of a channel does not depend on the other channels. A bin without samples is left out.
    #[default]
    Textbook,
    /// The number of samples in the bin over all phase bands and channels of the call, as `TensorPAC` 0.6.5 does for
    /// `idpac=(2, 0, 0)`. The index of a channel then depends on the other channels and phase bands. A bin that only
    /// others visit makes an index NaN, and a bin that none visits is left out.
    Tensorpac,
}

/// Settings of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Sampling rate in Hz.
    pub sf_hz: f64,
    /// Bands whose phase is taken.
    pub phase: Vec<Band>,
    /// Bands whose amplitude is taken.
    pub amplitude: Vec<Band>,
    /// Number of bins of the phase; 18 is usual.
    pub bins: usize,
    /// Divisor of the amplitudes of a bin.
    pub normalisation: Normalisation,
}

impl Settings {
    /// Checks everything that does not depend on a signal.
    ///
    /// # Errors
    /// Returns the first error found.
    pub fn check(&self) -> Result<(), PacError> {
        let &Self { sf_hz, bins, .. } = self;
        if !(sf_hz.is_finite() && sf_hz > 0.0) {
            return Err(PacError::Rate { sf_hz });
        }
        if !(2..=MAX_BINS).contains(&bins) {
            return Err(PacError::Bins { bins });
        }
        for (which, bands) in [("phase", &self.phase), ("amplitude", &self.amplitude)] {
            if bands.is_empty() {
                return Err(PacError::NoBands { which });
            }
            let nyquist_hz = sf_hz / 2.0;
            // Written so that NaN is rejected, too.
            let valid = |b: &&Band| b.lo_hz > 0.0 && b.lo_hz < b.hi_hz && b.hi_hz <= nyquist_hz;
            if let Some(&Band { lo_hz, hi_hz }) = bands.iter().find(|band| !valid(band)) {
                return Err(PacError::Band { lo_hz, hi_hz, nyquist_hz });
            }
        }
        Ok(())
    }

    /// Number of indexes for `channels` channels: one for each amplitude band, phase band and channel.
    pub fn indexes(&self, channels: usize) -> usize {
        self.amplitude.len() * self.phase.len() * channels
    }
}

/// Size of an input: one row of samples per channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of channels.
    pub channels: usize,
    /// Number of samples in each channel.
    pub samples: usize,
}

impl Shape {
    /// Creates a shape.
    pub fn new(channels: usize, samples: usize) -> Self {
        Self { channels, samples }
    }

    /// Returns the number of samples of all channels together.
    pub fn len(&self) -> usize {
        self.channels * self.samples
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that an index can be computed for a signal of this shape.
    ///
    /// # Errors
    /// Returns an error if there are no channels or too few samples.
    pub fn check(&self) -> Result<(), PacError> {
        if self.channels == 0 {
            return Err(PacError::NoChannels);
        }
        if self.samples < MIN_SAMPLES {
            return Err(PacError::TooFewSamples { samples: self.samples });
        }
        Ok(())
    }

    /// Checks that every sample of `x`, (channel, sample), is finite.
    ///
    /// # Errors
    /// Returns [`PacError::NotFinite`] with the position of the first sample that is not.
    pub fn check_samples<T: Scalar>(&self, x: &[T]) -> Result<(), PacError> {
        let Some(at) = x.iter().position(|value| !value.is_finite()) else { return Ok(()) };
        let value = x[at].widen().to_string();
        Err(PacError::NotFinite { channel: at / self.samples, sample: at % self.samples, value })
    }
}

/// Checks the length of a slice.
pub(crate) fn check_length(what: &'static str, given: usize, due: usize) -> Result<(), PacError> {
    if given == due { Ok(()) } else { Err(PacError::Length { what, given, due }) }
}
