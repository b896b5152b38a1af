//! Check of the indexes.

use perfharness_contract::{Check, Tolerance};
use rustfft::num_complex::Complex;

use crate::oracle::{Oracle, bin, modulation_index, oracle};
use crate::{PacError, Settings, Shape};

/// Largest distance of a sample from the edge of a bin at which a variant may put it on the other side, relative to the
/// largest sample of its channel and in tolerances of the index. The error of a transform depends on its input, of
/// which a band may hold little. The transforms are about ten times as exact.
const NEAR: f64 = 2.0;
/// Number of samples of a phase signal that are tried on the other side, nearest first, up to three at a time.
const TRIED: usize = 24;

/// Compares `index` with the definition. The index jumps when a sample moves from one bin to the next, by up to 1e-3
/// for a signal of a second. If indexes of a phase signal are off, a few samples at the edges of bins may therefore be
/// on the other side, provided that this explains the indexes with all amplitude bands at once.
pub(crate) fn check(
    settings: &Settings,
    shape: Shape,
    x: &[f32],
    index: &[f64],
    tolerance: f64,
) -> Result<Check, PacError> {
    let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let oracle = oracle(settings, shape, &x)?;
    let mut due = oracle.index.clone();
    if index.len() != due.len() {
        return Ok(Check::compare(&due, index, Tolerance::Absolute(tolerance)));
    }
    for signal in 0..oracle.phases.len() {
        let places = (0..settings.amplitude.len()).map(|amplitude| amplitude * oracle.phases.len() + signal);
        if places.clone().all(|at| (index[at] - due[at]).abs() <= tolerance) {
            continue;
        }
        let channel = &x[signal % shape.channels * shape.samples..][..shape.samples];
        let largest = channel.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let near = samples_at_edges(&oracle.phases[signal], settings.bins, NEAR * tolerance * largest);
        let explained = subsets(near.len()).find_map(|subset| {
            let moved: Vec<AtEdge> = subset.iter().map(|&i| near[i]).collect();
            let indexes = with_moved(&oracle, settings, shape, signal, &moved);
            let fits =
                indexes.iter().zip(places.clone()).all(|(due, at)| (index[at] - due).abs() <= tolerance);
            fits.then_some(indexes)
        });
        for (indexed, at) in explained.into_iter().flatten().zip(places) {
            due[at] = indexed;
        }
    }
    Ok(Check::compare(&due, index, Tolerance::Absolute(tolerance)))
}

/// A sample, its bin, and the bin beyond the edge.
type AtEdge = (usize, usize, usize);

/// Returns the indexes of a phase signal with all amplitude bands if these samples are beyond the edge.
fn with_moved(
    oracle: &Oracle,
    settings: &Settings,
    shape: Shape,
    signal: usize,
    moved: &[AtEdge],
) -> Vec<f64> {
    let bins = settings.bins;
    let mut counts = oracle.counts[signal * bins..][..bins].to_vec();
    for &(_, from, to) in moved {
        counts[from] -= 1;
        counts[to] += 1;
    }
    let index = |amplitude: usize| {
        let at = amplitude * oracle.phases.len() + signal;
        let amplitudes = &oracle.amplitudes[amplitude * shape.channels + signal % shape.channels];
        let mut sums = oracle.sums[at * bins..][..bins].to_vec();
        for &(sample, from, to) in moved {
            sums[from] -= amplitudes[sample];
            sums[to] += amplitudes[sample];
        }
        modulation_index(&sums, &counts)
    };
    (0..settings.amplitude.len()).map(index).collect()
}

/// Returns the subsets of up to three of the first [`TRIED`] of `count` things, smaller ones first.
fn subsets(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let count = count.min(TRIED);
    let ones = (0..count).map(|a| vec![a]);
    let twos = (0..count).flat_map(move |a| (a + 1..count).map(move |b| vec![a, b]));
    let threes = (0..count)
        .flat_map(move |a| (a + 1..count).flat_map(move |b| (b + 1..count).map(move |c| vec![a, b, c])));
    ones.chain(twos).chain(threes)
}

/// Returns the samples at the edge of a bin, nearest first.
fn samples_at_edges(points: &[Complex<f64>], bins: usize, reach: f64) -> Vec<AtEdge> {
    let beyond = |(sample, z): (usize, &Complex<f64>)| {
        let own = bin(z.arg(), bins);
        let angle = reach / z.norm();
        let crosses = |share: f64| {
            [-angle, angle]
                .map(|off| bin(z.arg() + share * off, bins))
                .into_iter()
                .find(|other| *other != own)
        };
        let other = crosses(1.0)?;
        // Distance in eighths of the reach.
        let near = (1..8).find(|eighths| crosses(f64::from(*eighths) / 8.0).is_some()).unwrap_or(8);
        Some((near, (sample, own, other)))
    };
    let mut found: Vec<(i32, AtEdge)> = points.iter().enumerate().filter_map(beyond).collect();
    found.sort_by_key(|(near, _)| *near);
    found.into_iter().map(|(_, sample)| sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::signal::{Params, Signals};

    /// Large enough that some samples of a short signal are at an edge.
    const TOLERANCE: f64 = 3e-5;

    #[test]
    fn a_sample_at_an_edge_may_lie_beyond_it_with_all_amplitude_bands_or_none() {
        let params = Params::new(1, 1, 3);
        let (settings, shape) = (params.settings(), params.shape());
        let mut signals = Signals::new(&params, 1);
        let mut seen = 0;
        for round in 0..60 {
            signals.load(round);
            let x = &signals.pool[0];
            let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let oracle = oracle(&settings, shape, &wide).unwrap();
            let passes = |index: &[f64]| check(&settings, shape, x, index, TOLERANCE).unwrap().passed;
            let largest = wide.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            for signal in 0..oracle.phases.len() {
                let near =
                    samples_at_edges(&oracle.phases[signal], settings.bins, NEAR * TOLERANCE * largest);
                let [sample] = near[..] else { continue };
                let moved = with_moved(&oracle, &settings, shape, signal, &[sample]);
                let places: Vec<usize> = (0..3).map(|a| a * oracle.phases.len() + signal).collect();
                let mut index = oracle.index.clone();
                places.iter().zip(&moved).for_each(|(at, moved)| index[*at] = *moved);
                let matters = |at: &&usize| (index[**at] - oracle.index[**at]).abs() > 2.0 * TOLERANCE;
                let [one, _other, ..] = places.iter().filter(matters).collect::<Vec<_>>()[..] else {
                    continue;
                };
                seen += 1;
                assert!(passes(&oracle.index) && passes(&index), "round {round}: a sample at an edge");
                let mut inconsistent = oracle.index.clone();
                inconsistent[*one] = index[*one];
                assert!(!passes(&inconsistent), "round {round}: on both sides at once");
                let one = *one;
                index[one] += 3.0 * TOLERANCE;
                assert!(!passes(&index), "round {round}: and a mistake beside it");
            }
        }
        assert!(seen > 0, "no round has a sample at an edge that matters");
    }

    #[test]
    fn few_samples_are_tried_and_few_at_a_time() {
        assert_eq!(subsets(0).count(), 0);
        assert_eq!(subsets(3).count(), 7);
        assert_eq!(subsets(1000).count(), 24 + 24 * 23 / 2 + 24 * 23 * 22 / 6);
    }
}
