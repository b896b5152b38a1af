//! The workload `pac-surrogates`: the distance of an index from chance.
//!
//! The amplitudes are shifted in a circle against the phases by a random number of samples, 200 times. Coupling does
//! not contribute to the index of a shift, and the z-score of the true index is its distance from the mean of the
//! shifts, in their standard deviations (of the population).

use perfharness_contract::{
    Case, Check, ClaimDef, Counter, Digest, Effort, Failure, Floor, Measured, MetricDef, Promise, Role,
    Setup, Tolerance, VariantDef, Workload, input_rng, standard,
};
use rand_pcg::rand_core::Rng as _;

use super::measured::COPIED_BYTES;
use super::signal::{Params, Signals};
use crate::fast::index_of_sums;
use crate::oracle::{bin, modulation_index, oracle};

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const OPTIMIZED: &str = "optimized";
const SHIFTS: usize = 200;
const INDEXES: &str = "indexes";
/// Number of pairs that a check computes again; others in every round and iteration if the case has more.
const CHECKED: usize = 100;
/// |z| is about 1 to 100; sums in another order move it by less than this.
const TOLERANCE: Tolerance = Tolerance::Relative(1e-8);

/// Returns the workload `pac-surrogates`.
pub fn surrogates() -> Workload {
    let case = |id, channels, seconds, efforts: &[Effort]| {
        let params = Params::new(channels, seconds, 10);
        let pairs = params.pairs();
        let floor = floor(&params);
        Case::new(id, params).items(pairs * SHIFTS as u64, "surrogates").efforts(efforts).floor(floor)
    };
    let slow = VariantDef::new(
        SLOW,
        Role::Slow,
        "shifts by a copy of the amplitudes, keeps the indexes of all shifts, then takes mean and deviation",
    );
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "shifts by a copy of the amplitudes, and carries mean and deviation along (Welford)",
    );
    let optimized = VariantDef::new(
        OPTIMIZED,
        Role::Optimized,
        "shifts by where it begins to read, and carries mean and deviation along (Welford)",
    );
    let lazy = ClaimDef::new(
        "lazy-statistics",
        "004, Revised Implementation Priority",
        "Lazy surrogate statistics (needs memory optimization first)",
        standard::WALL_TIME,
        Promise::NotMeasurable {
            reason: "The document gives no number. Heap bytes and copied bytes show the cost of keeping everything."
                .into(),
        },
    )
    .between(SLOW, DOCUMENTED);
    Workload::builder("pac-surrogates", 2, "Z-scores of phase-amplitude coupling over 200 circular shifts")
        .source("004", "Revised Implementation Priority")
        .case(case("small-10x10", 1, 1, &Effort::ALL))
        .case(case("medium-10x10", 8, 4, &[Effort::Thorough]))
        .case(case("large-10x10", 16, 60, &[Effort::Thorough]))
        .metric(MetricDef::work(INDEXES, "indexes of shifts"))
        .metric(MetricDef::bytes(COPIED_BYTES, "bytes copied unchanged"))
        .claim(lazy)
        .variant_with(slow, |params, setup| Ok(Surrogates::new(keep_all, params, setup)))
        .variant_with(documented, |params, setup| Ok(Surrogates::new(copied, params, setup)))
        .variant_with(optimized, |params, setup| Ok(Surrogates::new(streamed, params, setup)))
        .build()
}

/// Bins and amplitudes of all bands are read once, and each shift of each pair adds up the samples of its channel.
fn floor(params: &Params) -> Floor {
    let samples = params.shape().len() as f64;
    let bands = params.bands as f64;
    Floor {
        host_bytes: bands * samples * (size_of::<u8>() + size_of::<f64>()) as f64,
        operations: SHIFTS as f64 * bands * bands * samples,
        ..Floor::default()
    }
}

/// Bins, amplitudes and shifts of one signal.
struct Input {
    digest: Digest,
    /// Bin of every sample, for each phase band and channel.
    bins: Vec<Vec<u8>>,
    counts: Vec<Vec<u64>>,
    /// Amplitudes of every sample, for each amplitude band and channel.
    amplitudes: Vec<Vec<f64>>,
    channels: usize,
    /// Shifts in samples, at least 1.
    shifts: Vec<usize>,
}

impl Input {
    /// Returns the index of a pair (amplitude band, phase band, channel) with amplitudes in two consecutive parts.
    fn index(&self, pair: usize, parts: [&[f64]; 2]) -> f64 {
        let signal = pair % self.bins.len();
        let counts = &self.counts[signal];
        // The largest number of bins here; the sums are on the stack.
        let mut sums = [0.0; 18];
        for (bin, amplitude) in self.bins[signal].iter().zip(parts.into_iter().flatten()) {
            sums[usize::from(*bin)] += amplitude;
        }
        // Not the function of the oracle, which allocates and which the check uses.
        index_of_sums(sums.iter(), counts)
    }

    /// Returns the shifted amplitudes of all bands, once for all phase bands, like a program that rolls a whole array.
    fn rolled(&self, shift: usize, copied: &mut u64) -> Vec<Vec<f64>> {
        let roll = |amplitudes: &Vec<f64>| [&amplitudes[shift..], &amplitudes[..shift]].concat();
        *copied += self.amplitudes.iter().map(|signal| size_of_val(&signal[..]) as u64).sum::<u64>();
        self.amplitudes.iter().map(roll).collect()
    }

    /// Position of a pair's amplitudes among all.
    fn amplitude_signal(&self, pair: usize) -> usize {
        let (amplitude, signal) = (pair / self.bins.len(), pair % self.bins.len());
        amplitude * self.channels + signal % self.channels
    }

    fn amplitudes(&self, pair: usize) -> &[f64] {
        &self.amplitudes[self.amplitude_signal(pair)]
    }
}

/// Mean and deviation of numbers that are not stored.
#[derive(Clone, Copy, Default)]
struct Welford {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Welford {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let off = value - self.mean;
        self.mean += off / self.count;
        self.squares += off * (value - self.mean);
    }

    /// Returns the distance of a value from the mean, in standard deviations.
    fn score(&self, value: f64) -> f64 {
        (value - self.mean) / (self.squares / self.count).sqrt()
    }
}

/// A variant: sets the z-scores, and returns the number of copied bytes.
type Variant = fn(&Input, &mut [f64]) -> u64;

fn keep_all(input: &Input, scores: &mut [f64]) -> u64 {
    let mut copied = 0;
    let kept: Vec<Vec<f64>> = input
        .shifts
        .iter()
        .map(|&shift| {
            let rolled = input.rolled(shift, &mut copied);
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
    copied
}

fn copied(input: &Input, scores: &mut [f64]) -> u64 {
    let mut copied = 0;
    let mut seen = vec![Welford::default(); scores.len()];
    for &shift in &input.shifts {
        let rolled = input.rolled(shift, &mut copied);
        for (pair, seen) in seen.iter_mut().enumerate() {
            seen.add(input.index(pair, [&rolled[input.amplitude_signal(pair)], &[]]));
        }
    }
    for (pair, (score, seen)) in scores.iter_mut().zip(&seen).enumerate() {
        *score = seen.score(input.index(pair, [input.amplitudes(pair), &[]]));
    }
    copied
}

fn streamed(input: &Input, scores: &mut [f64]) -> u64 {
    for (pair, score) in scores.iter_mut().enumerate() {
        let amplitudes = input.amplitudes(pair);
        let mut seen = Welford::default();
        for &shift in &input.shifts {
            seen.add(input.index(pair, [&amplitudes[shift..], &amplitudes[..shift]]));
        }
        *score = seen.score(input.index(pair, [amplitudes, &[]]));
    }
    0
}

/// Returns the expected scores of some pairs: every index from sums that are built sample by sample.
fn due(input: &Input, pairs: &[usize]) -> Vec<f64> {
    let index = |pair: usize, shift: usize| {
        let (signal, amplitudes) = (pair % input.bins.len(), input.amplitudes(pair));
        let mut sums = [0.0; 18];
        for (t, bin) in input.bins[signal].iter().enumerate() {
            sums[usize::from(*bin)] += amplitudes[(t + shift) % amplitudes.len()];
        }
        modulation_index(&sums, &input.counts[signal])
    };
    let score = |&pair: &usize| {
        let indexes: Vec<f64> = input.shifts.iter().map(|&shift| index(pair, shift)).collect();
        let mean = indexes.iter().sum::<f64>() / indexes.len() as f64;
        let variance = indexes.iter().map(|index| (index - mean).powi(2)).sum::<f64>() / indexes.len() as f64;
        (index(pair, 0) - mean) / variance.sqrt()
    };
    pairs.iter().map(score).collect()
}

/// Returns the pairs that a check computes again: equally many from each part of all pairs.
fn checked(count: usize, turn: u64) -> Vec<usize> {
    let apart = count.div_ceil(CHECKED);
    ((turn % apart as u64) as usize..count).step_by(apart).collect()
}

/// A placement.
struct Surrogates {
    variant: Variant,
    params: Params,
    seed: u64,
    round: u64,
    pool: Vec<Input>,
    scores: Vec<f64>,
    indexes: Counter,
    copied: Counter,
}

impl Surrogates {
    fn new(variant: Variant, params: &Params, setup: &Setup) -> Self {
        Self {
            variant,
            params: params.clone(),
            seed: setup.seed(),
            round: 0,
            pool: Vec::new(),
            scores: vec![0.0; params.pairs() as usize],
            indexes: setup.counter(INDEXES),
            copied: setup.counter(COPIED_BYTES),
        }
    }
}

impl Measured for Surrogates {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        let mut signals = Signals::new(&self.params, self.seed);
        signals.load(round);
        self.round = round;
        let mut rng = input_rng(self.seed, "pac-shifts", round);
        let (settings, shape) = (self.params.settings(), self.params.shape());
        self.pool.clear();
        for (index, x) in (0..).zip(&signals.pool) {
            let x: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
            let oracle = oracle(&settings, shape, &x)?;
            let of_signal = |signal: &Vec<_>| {
                signal.iter().map(|z: &rustfft::num_complex::Complex<f64>| z.arg()).collect::<Vec<_>>()
            };
            let phases = oracle.phases.iter().map(of_signal);
            let bins =
                phases.map(|phases| phases.iter().map(|&phase| bin(phase, settings.bins) as u8).collect());
            let beyond_0 = shape.samples as u64 - 1;
            // The upper half of a product maps 32 random bits to a range without a division.
            let mut shift = || 1 + ((u64::from(rng.next_u32()) * beyond_0) >> 32) as usize;
            self.pool.push(Input {
                digest: signals.digest(index),
                bins: bins.collect(),
                counts: oracle.counts.chunks(settings.bins).map(<[u64]>::to_vec).collect(),
                amplitudes: oracle.amplitudes,
                channels: shape.channels,
                shifts: (0..SHIFTS).map(|_| shift()).collect(),
            });
        }
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let input = &self.pool[Signals::at(index)];
        self.copied.add((self.variant)(input, &mut self.scores));
        self.indexes.add((self.scores.len() * input.shifts.len()) as u64);
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let input = &self.pool[Signals::at(index)];
        let pairs = checked(self.scores.len(), self.round + index);
        let scores: Vec<f64> = pairs.iter().map(|&pair| self.scores[pair]).collect();
        Ok(Check::compare(&due(input, &pairs), &scores, TOLERANCE).with_input(input.digest.clone()))
    }
}

#[cfg(test)]
mod tests {
    use perfharness_contract::testing::exact_counts;

    use super::*;

    #[test]
    fn checks_get_to_every_pair() {
        assert_eq!(checked(100, 7), (0..100).collect::<Vec<_>>());
        let mut all: Vec<usize> = (0..16).flat_map(|turn| checked(1600, turn)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..1600).collect::<Vec<_>>());
    }

    #[test]
    fn all_variants_give_the_due_scores_and_only_one_does_not_copy() {
        let workload = surrogates();
        // 10 amplitude signals of 512 samples of 8 bytes, 200 times.
        let copies = Some(10.0 * 512.0 * 8.0 * 200.0);
        for (variant, copied) in [(SLOW, copies), (DOCUMENTED, copies), (OPTIMIZED, None)] {
            let counts = exact_counts(&workload, "small-10x10", variant);
            assert_eq!(counts.get(COPIED_BYTES).copied(), copied, "{variant}");
            assert_eq!(counts[INDEXES], 100.0 * 200.0, "{variant}");
        }
    }
}
