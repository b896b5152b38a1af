//! What is asked for.

use crate::{PacError, Scalar};

/// Most phase bins: a bin's number is kept in a byte.
pub const MAX_BINS: usize = 128;
/// Fewest samples of a channel: with them the shortest filter has order 1.
pub const MIN_SAMPLES: usize = 4;

/// A band of frequencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Lower end, in Hz.
    pub lo_hz: f64,
    /// Upper end, in Hz.
    pub hi_hz: f64,
}

impl Band {
    /// A band from `lo_hz` to `hi_hz`.
    pub fn new(lo_hz: f64, hi_hz: f64) -> Self {
        Self { lo_hz, hi_hz }
    }

    /// `count` bands of equal width side by side, from `lo_hz` to `hi_hz`.
    pub fn adjoining(lo_hz: f64, hi_hz: f64, count: usize) -> Vec<Self> {
        let edge = |i: usize| lo_hz + (hi_hz - lo_hz) * i as f64 / count as f64;
        (0..count).map(|i| Self::new(edge(i), edge(i + 1))).collect()
    }
}

/// What the sum of the amplitudes in a bin is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normalisation {
    /// The number of samples of this phase band and channel in the bin: the mean amplitude of Tort et al. (2010).
    /// Every channel has an index of its own, whatever it is computed together with. A bin without samples is
    /// left out.
    #[default]
    Textbook,
    /// The number of samples in the bin over all phase bands and channels of the call, as `TensorPAC` 0.6.5 does
    /// for `idpac=(2, 0, 0)`. The index of a channel then depends on the other channels and phase bands. A bin
    /// that only others visit makes an index NaN, and a bin that nobody visits is left out.
    Tensorpac,
}

/// What an index is computed for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Sampling rate, in Hz.
    pub sf_hz: f64,
    /// Bands whose phase is taken.
    pub phase: Vec<Band>,
    /// Bands whose amplitude is taken.
    pub amplitude: Vec<Band>,
    /// Bins that the phase is cut into; 18 is usual.
    pub bins: usize,
    /// What the amplitudes of a bin are divided by.
    pub normalisation: Normalisation,
}

impl Settings {
    /// Checks everything that can be told without a signal.
    ///
    /// # Errors
    /// The first thing that is wrong.
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
            // Written so that NaN is refused, too.
            let valid = |b: &&Band| b.lo_hz > 0.0 && b.lo_hz < b.hi_hz && b.hi_hz <= nyquist_hz;
            if let Some(&Band { lo_hz, hi_hz }) = bands.iter().find(|band| !valid(band)) {
                return Err(PacError::Band { lo_hz, hi_hz, nyquist_hz });
            }
        }
        Ok(())
    }

    /// Indexes that a call computes for `channels` channels: one for each amplitude band, phase band and channel.
    pub fn indexes(&self, channels: usize) -> usize {
        self.amplitude.len() * self.phase.len() * channels
    }
}

/// The size of an input: rows of samples, one for each channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Channels.
    pub channels: usize,
    /// Samples of each.
    pub samples: usize,
}

impl Shape {
    /// A shape.
    pub fn new(channels: usize, samples: usize) -> Self {
        Self { channels, samples }
    }

    /// Samples of all channels together.
    pub fn len(&self) -> usize {
        self.channels * self.samples
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that an index can be computed of a signal of this shape.
    ///
    /// # Errors
    /// When there are no channels or too few samples.
    pub fn check(&self) -> Result<(), PacError> {
        if self.channels == 0 {
            return Err(PacError::NoChannels);
        }
        if self.samples < MIN_SAMPLES {
            return Err(PacError::TooFewSamples { samples: self.samples });
        }
        Ok(())
    }

    /// Makes sure that every sample of `x`, (channel, sample), is a number.
    ///
    /// # Errors
    /// [`PacError::NotFinite`] with the place of the first that is not.
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
