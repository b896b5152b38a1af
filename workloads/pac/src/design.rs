//! Filters: windowed ideal band-passes, as in `TensorPAC`.

use std::f64::consts::{PI, TAU};

use crate::{Band, Settings};

/// Number of cycles of a band's lowest frequency that a phase filter spans.
const PHASE_CYCLES: usize = 3;
/// Number of cycles of a band's lowest frequency that an amplitude filter spans.
const AMPLITUDE_CYCLES: usize = 6;

/// Taps of the filters of all bands. A filter of order `m` has `m + 1` taps.
#[derive(Clone, Debug)]
pub struct Filters {
    /// Taps of each phase band.
    pub phase: Vec<Vec<f64>>,
    /// Taps of each amplitude band.
    pub amplitude: Vec<Vec<f64>>,
}

impl Filters {
    /// Designs the filters for signals of `samples` samples, which limit their orders. The settings must be checked.
    pub fn design(settings: &Settings, samples: usize) -> Self {
        let design = |bands: &[Band], cycles: usize| {
            let filter =
                |band: &Band| taps(order(samples, settings.sf_hz, band, cycles), settings.sf_hz, band);
            bands.iter().map(filter).collect()
        };
        Self {
            phase: design(&settings.phase, PHASE_CYCLES),
            amplitude: design(&settings.amplitude, AMPLITUDE_CYCLES),
        }
    }

    /// Returns the highest order.
    pub fn highest_order(&self) -> usize {
        self.phase.iter().chain(&self.amplitude).map(|taps| taps.len() - 1).max().unwrap_or(0)
    }
}

/// Returns the order of the filter of a band: whole cycles of its lowest frequency, and at most a third of the signal.
fn order(samples: usize, sf_hz: f64, band: &Band, cycles: usize) -> usize {
    // The remainder is exact where the quotient would be rounded: 512 / 12.8 is 40, but 12.8 is a little above 12.8 as
    // a float64, and the golden filter spans 39 samples per cycle.
    let samples_per_cycle = ((sf_hz - sf_hz % band.lo_hz) / band.lo_hz).round();
    let order = samples_per_cycle * cycles as f64;
    if (samples as f64) < 3.0 * order { (samples - 1) / 3 } else { order as usize }
}

/// Returns the ideal band-pass under a Hamming window, with a gain of 1 at the band's centre.
fn taps(order: usize, sf_hz: f64, band: &Band) -> Vec<f64> {
    let (lo, hi) = (band.lo_hz / sf_hz, band.hi_hz / sf_hz);
    let centre = f64::midpoint(lo, hi);
    let m = order as f64;
    let windowed = |n: usize| {
        let n = n as f64;
        let u = n - m / 2.0;
        let ideal =
            if u == 0.0 { 2.0 * (hi - lo) } else { ((TAU * u * hi).sin() - (TAU * u * lo).sin()) / (PI * u) };
        ideal * (0.54 - 0.46 * (TAU * n / m).cos())
    };
    let mut taps: Vec<f64> = (0..=order).map(windowed).collect();
    let (mut re, mut im) = (0.0, 0.0);
    for (n, tap) in taps.iter().enumerate() {
        let (sin, cos) = (TAU * n as f64 * centre).sin_cos();
        re += tap * cos;
        im -= tap * sin;
    }
    let gain = re.hypot(im);
    for tap in &mut taps {
        *tap /= gain;
    }
    taps
}

/// Returns the smallest product of powers of 2, 3 and 5 that is at least `least`. The analytic signal is padded to it.
pub(crate) fn smooth_length(least: usize) -> usize {
    let is_smooth = |length: &usize| {
        let mut rest = *length;
        for prime in [2, 3, 5] {
            while rest.is_multiple_of(prime) {
                rest /= prime;
            }
        }
        rest == 1
    };
    // This range contains a power of two.
    (least.max(1)..=least.next_power_of_two()).find(is_smooth).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_whole_cycles_or_a_third_of_the_signal() {
        assert_eq!(order(30_720, 512.0, &Band::new(2.0, 3.8), 3), 768);
        assert_eq!(order(2048, 512.0, &Band::new(3.8, 5.6), 3), 402);
        assert_eq!(order(512, 512.0, &Band::new(2.0, 4.0), 3), 170);
        assert_eq!(order(2048, 512.0, &Band::new(12.8, 14.6), 3), 117);
        assert_eq!(order(4, 512.0, &Band::new(2.0, 4.0), 3), 1);
    }

    #[test]
    fn smooth_lengths_are_those_of_the_golden_data() {
        for (least, length) in
            [(1, 1), (64, 64), (72, 72), (611, 625), (1001, 1024), (2049, 2160), (15_361, 15_552)]
        {
            assert_eq!(smooth_length(least), length);
        }
    }

    #[test]
    fn taps_are_those_that_tensorpac_makes() {
        let taps = taps(682, 512.0, &Band::new(2.0, 3.8));
        assert!((taps[0] - -8.623_517_831_3e-5).abs() < 1e-15, "{}", taps[0]);
        assert!((taps[341] - 7.639_979_272_0e-3).abs() < 1e-13, "{}", taps[341]);
    }
}
