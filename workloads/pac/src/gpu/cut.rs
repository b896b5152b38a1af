//! Division of the work into chunks, so that everything on the device stays within one budget. A pure function from
//! sizes and limits to chunks.

use perfharness_contract::Failure;

use super::COMPLEX_BYTES;

/// Sizes of the computation, and limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) channels: u64,
    pub(super) samples: u64,
    /// Lengths of the two transforms.
    pub(super) circle: u64,
    pub(super) padded: u64,
    pub(super) phase_bands: u64,
    pub(super) amplitude_bands: u64,
    pub(super) bins: u64,
    /// Device memory that may be used beside the signals, in bytes.
    pub(super) budget: u64,
    /// Largest binding of a shader in bytes.
    pub(super) max_binding: u64,
    /// Largest number of workgroups in a dimension.
    pub(super) max_groups: u64,
}

/// Sizes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Number of channels whose spectra and bins are kept together.
    pub(super) channels: u64,
    /// Number of signals (two bands of a channel) that are transformed together.
    pub(super) signals: u64,
}

/// Size of the parameters of a step or a chunk; an upper bound of both.
const UNIFORM_BYTES: u64 = 48;
/// Number of steps of all transforms together; each has at most about twenty.
const STEPS: u64 = 4 * 24;

impl Need {
    /// Number of samples of a signal in each of its transform buffers.
    pub(super) fn row(&self) -> u64 {
        self.circle.max(self.padded)
    }

    fn pairs(&self) -> [u64; 2] {
        [self.phase_bands.div_ceil(2), self.amplitude_bands.div_ceil(2)]
    }

    /// Size of the bins of one channel in bytes.
    pub(super) fn bins_bytes(&self) -> u64 {
        self.phase_bands * self.samples.div_ceil(4) * 4
    }

    /// Number of values that are read back: position and bits of a sample for each channel, and the indexes.
    pub(super) fn result_count(&self) -> u64 {
        self.channels * (2 + self.phase_bands * self.amplitude_bands)
    }

    /// Bytes that do not depend on the chunks.
    fn fixed(&self) -> u64 {
        let [phases, amplitudes] = self.pairs();
        let roots = (self.circle + self.padded) * COMPLEX_BYTES;
        let gains = (phases + amplitudes) * self.circle * COMPLEX_BYTES;
        let small = self.bins * (COMPLEX_BYTES + 4) + self.channels * 4;
        let uniforms = (STEPS + 2 * self.channels * (1 + phases + amplitudes)) * UNIFORM_BYTES;
        roots + gains + small + uniforms + 2 * 4 * self.result_count()
    }

    fn channel_bytes(&self) -> u64 {
        self.circle * COMPLEX_BYTES + self.bins_bytes()
    }

    fn signal_bytes(&self) -> u64 {
        3 * self.row() * COMPLEX_BYTES
    }

    /// Returns the largest chunks that the budget and the device allow.
    pub(super) fn cut(&self) -> Result<Cut, Failure> {
        let &Self { max_binding, max_groups, .. } = self;
        let pairs = self.pairs().into_iter().max().unwrap_or(1);
        let row_bytes = self.row() * COMPLEX_BYTES;
        for (what, bytes) in [
            ("the signals", self.channels * self.samples * 4),
            ("the gains of all bands", pairs * self.circle * COMPLEX_BYTES),
            ("the bins of a channel", self.bins_bytes()),
            ("a transform", row_bytes),
            ("the result", self.result_count() * 4),
        ] {
            if bytes > max_binding {
                return Err(Failure::Unavailable(format!(
                    "{what} would need a binding of {bytes} bytes, and the device allows {max_binding}; compute fewer \
                     bands, channels or samples at a time, or choose another adapter with --device"
                )));
            }
        }
        let groups = self.row().div_ceil(64).max(self.phase_bands);
        if groups > max_groups {
            return Err(Failure::Unavailable(format!(
                "{groups} workgroups would be needed in a dimension, and the device allows {max_groups}; compute fewer \
                 samples or bands at a time, or choose another adapter with --device"
            )));
        }
        let least = self.fixed() + self.channel_bytes() + self.signal_bytes();
        if least > self.budget {
            return Err(Failure::OutOfMemory(format!(
                "one channel and two bands at a time take {least} bytes on the device, and the budget is {} bytes",
                self.budget
            )));
        }
        let left = self.budget - self.fixed();
        // Spectra are computed in the buffers of the signals, so there are never more channels than signals.
        let channels = (left / (self.channel_bytes() + self.signal_bytes()))
            .min(self.channels)
            .min(max_binding / self.bins_bytes())
            .min(max_binding / row_bytes)
            .min(max_groups);
        let signals = ((left - channels * self.channel_bytes()) / self.signal_bytes())
            .min(pairs * channels)
            .min(max_binding / row_bytes)
            .min(max_groups);
        Ok(Cut { channels, signals })
    }

    /// Upper bound of the bytes that a cut takes.
    #[cfg(test)]
    fn bytes(&self, cut: Cut) -> u64 {
        self.fixed() + cut.channels * self.channel_bytes() + cut.signals * self.signal_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 16 channels of 60 s.
    const LARGE: Need = Need {
        channels: 16,
        samples: 30_720,
        circle: 32_768,
        padded: 30_720,
        phase_bands: 16,
        amplitude_bands: 16,
        bins: 18,
        budget: 64 << 20,
        max_binding: 128 << 20,
        max_groups: 65_535,
    };

    #[test]
    fn chunks_are_as_large_as_the_budget_and_the_limits_allow() {
        for budget in [8 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30] {
            for max_binding in [4 << 20, 16 << 20, 128 << 20] {
                for max_groups in [1024, 65_535] {
                    let need = Need { budget, max_binding, max_groups, ..LARGE };
                    let cut = need.cut().unwrap();
                    assert!(need.bytes(cut) <= budget, "{need:?}: {cut:?}");
                    assert!(cut.signals * need.row() * COMPLEX_BYTES <= max_binding);
                    assert!((1..=16).contains(&cut.channels) && cut.channels <= cut.signals);
                    assert!(cut.signals <= 8 * cut.channels);
                }
            }
        }
        assert_eq!(Need { budget: 1 << 30, ..LARGE }.cut().unwrap(), Cut { channels: 16, signals: 128 });
    }

    #[test]
    fn what_cannot_be_cut_is_told_with_both_sizes() {
        let Err(Failure::OutOfMemory(told)) = Need { budget: 1 << 20, ..LARGE }.cut() else { panic!() };
        assert!(told.contains("the budget is 1048576 bytes"), "{told}");
        let Err(Failure::Unavailable(told)) = Need { max_binding: 1 << 20, ..LARGE }.cut() else { panic!() };
        assert!(told.contains("1966080 bytes") && told.contains("1048576"), "{told}");
        let Err(Failure::Unavailable(told)) = Need { max_groups: 100, ..LARGE }.cut() else { panic!() };
        assert!(told.contains("512 workgroups"), "{told}");
    }
}
