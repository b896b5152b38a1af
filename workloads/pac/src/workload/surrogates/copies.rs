//! The document's ways on one thread, which copy the amplitudes for every shift.

use perfharness_contract::Failure;

use super::Score;
use super::input::Input;
use super::welford::Welford;

/// Keeps the indexes of all shifts, then takes mean and deviation.
pub(super) struct KeepAll;

/// Carries mean and deviation along.
pub(super) struct Streamed;

/// Returns the shifted amplitudes of all bands, once for all phase bands, like a program that rolls a whole array. Adds
/// their bytes to `copied`.
fn rolled(input: &Input, shift: usize, copied: &mut u64) -> Vec<Vec<f64>> {
    let roll = |amplitudes: &Vec<f64>| [&amplitudes[shift..], &amplitudes[..shift]].concat();
    *copied += input.amplitudes.iter().map(|signal| size_of_val(&signal[..]) as u64).sum::<u64>();
    input.amplitudes.iter().map(roll).collect()
}

impl Score for KeepAll {
    fn scores(&mut self, _at: usize, input: &Input, scores: &mut [f64]) -> Result<u64, Failure> {
        let mut copied = 0;
        let kept: Vec<Vec<f64>> = input
            .shifts
            .iter()
            .map(|&shift| {
                let rolled = rolled(input, shift, &mut copied);
                let index = |pair| input.index(pair, [&rolled[input.amplitude_signal(pair)], &[]]);
                (0..scores.len()).map(index).collect()
            })
            .collect();
        for (pair, score) in scores.iter_mut().enumerate() {
            let count = kept.len() as f64;
            let mean = kept.iter().map(|indexes| indexes[pair]).sum::<f64>() / count;
            let variance = kept.iter().map(|indexes| (indexes[pair] - mean).powi(2)).sum::<f64>() / count;
            *score = (input.index(pair, [input.amplitudes(pair), &[]]) - mean) / variance.sqrt();
        }
        Ok(copied)
    }
}

impl Score for Streamed {
    fn scores(&mut self, _at: usize, input: &Input, scores: &mut [f64]) -> Result<u64, Failure> {
        let mut copied = 0;
        let mut seen = vec![Welford::default(); scores.len()];
        for &shift in &input.shifts {
            let rolled = rolled(input, shift, &mut copied);
            for (pair, seen) in seen.iter_mut().enumerate() {
                seen.add(input.index(pair, [&rolled[input.amplitude_signal(pair)], &[]]));
            }
        }
        for (pair, (score, seen)) in scores.iter_mut().zip(&seen).enumerate() {
            *score = seen.score(input.index(pair, [input.amplitudes(pair), &[]]));
        }
        Ok(copied)
    }
}
