//! Whether indexes are right.

use perfharness_contract::{Check, Tolerance};
use rustfft::num_complex::Complex;

use crate::oracle::{bin, modulation_index, oracle};
use crate::{PacError, Settings, Shape};

/// How near the edge of a bin a sample must lie, relative to the largest of its band and in tolerances of the index, for
/// a variant to be free to find it beyond. The transforms are some ten times as exact.
const NEAR: f64 = 2.0;

/// Holds `index` against the definition. The index jumps where a sample goes from one bin to the next, by up to 1e-3
/// for a signal of a second. So where an index is off, the samples at the edges of bins may lie on either side.
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
    let bins = settings.bins;
    for (signal, points) in oracle.phases.iter().enumerate() {
        let mut near = None;
        for amplitude in 0..settings.amplitude.len() {
            let at = amplitude * oracle.phases.len() + signal;
            let Some(actual) = index.get(at) else { continue };
            let is_off = |due: f64| (actual - due).abs() > tolerance;
            if !is_off(due[at]) {
                continue;
            }
            let near = near.get_or_insert_with(|| samples_at_edges(points, bins, NEAR * tolerance));
            let mut sums = oracle.sums[at * bins..][..bins].to_vec();
            let mut counts = oracle.counts[signal * bins..][..bins].to_vec();
            let amplitudes = &oracle.amplitudes[amplitude * shape.channels + signal % shape.channels];
            for &(sample, from, to) in &*near {
                let mut move_sample = |from: usize, to: usize| {
                    sums[from] -= amplitudes[sample];
                    sums[to] += amplitudes[sample];
                    counts[from] -= 1;
                    counts[to] += 1;
                    modulation_index(&sums, &counts)
                };
                let moved = move_sample(from, to);
                if (actual - moved).abs() < (actual - due[at]).abs() {
                    due[at] = moved;
                } else {
                    move_sample(to, from);
                }
            }
        }
    }
    Ok(Check::compare(&due, index, Tolerance::Absolute(tolerance)))
}

/// Samples at the edge of a bin: their numbers, the bin that they are in, and the one beyond the edge.
fn samples_at_edges(points: &[Complex<f64>], bins: usize, near: f64) -> Vec<(usize, usize, usize)> {
    let reach = near * points.iter().map(|z| z.norm()).fold(0.0, f64::max);
    let beyond = |(sample, z): (usize, &Complex<f64>)| {
        let own = bin(z.arg(), bins);
        let angle = reach / z.norm();
        let other =
            [-angle, angle].map(|off| bin(z.arg() + off, bins)).into_iter().find(|other| *other != own)?;
        Some((sample, own, other))
    };
    points.iter().enumerate().filter_map(beyond).collect()
}
