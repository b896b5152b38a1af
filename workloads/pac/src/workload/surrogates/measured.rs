//! Parts that all variants share: the inputs, the scores, and their check.

use perfharness_contract::{Check, Counter, Failure, Measured, Setup, Tolerance};

use super::Score;
use super::input::{Input, draw};
use crate::oracle::modulation_index;
use crate::workload::measured::COPIED_BYTES;
use crate::workload::signal::{Params, Signals};

/// Work counter: indexes of shifts.
pub(super) const INDEXES: &str = "indexes";
/// Number of pairs that a check computes again; others in every round and iteration if the case has more.
const CHECKED: usize = 100;

/// A placement.
pub(super) struct Surrogates<S> {
    variant: S,
    params: Params,
    seed: u64,
    round: u64,
    pub(super) pool: Vec<Input>,
    pub(super) scores: Vec<f64>,
    indexes: Counter,
    copied: Counter,
}

impl<S: Score> Surrogates<S> {
    pub(super) fn new(variant: S, params: &Params, setup: &Setup) -> Self {
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

impl<S: Score> Measured for Surrogates<S> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.round = round;
        self.pool = draw(&self.params, self.seed, round)?;
        self.variant.load(&self.pool)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let at = Signals::at(index);
        let input = &self.pool[at];
        self.copied.add(self.variant.scores(at, input, &mut self.scores)?);
        self.indexes.add((self.scores.len() * input.shifts.len()) as u64);
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let input = &self.pool[Signals::at(index)];
        let pairs = checked(self.scores.len(), self.round + index);
        let tolerance = Tolerance::Relative(self.variant.tolerance());
        let scores: Vec<f64> = pairs.iter().map(|&pair| self.scores[pair]).collect();
        Ok(Check::compare(&due(input, &pairs), &scores, tolerance).with_input(input.digest.clone()))
    }
}

/// Returns the expected scores of some pairs: every index from sums that are built sample by sample.
pub(super) fn due(input: &Input, pairs: &[usize]) -> Vec<f64> {
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
pub(super) fn checked(count: usize, turn: u64) -> Vec<usize> {
    let apart = count.div_ceil(CHECKED);
    ((turn % apart as u64) as usize..count).step_by(apart).collect()
}
