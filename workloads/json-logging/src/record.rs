//! Records of the training loop: the metrics of each step, as a function of seed, round, index and step.

use std::ops::Range;

use perfharness_contract::{Counter, Digest, input_rng};
use rand_pcg::rand_core::Rng;
use serde::{Deserialize, Serialize};

/// The sink wants the expensive fields at every 5th step (003, 2.2).
pub(crate) const EVERY: u64 = 5;

/// Number of experts and of ghosts in a step; the document's own set-up has four of each.
const EXPERTS: usize = 4;

/// Number of different steps in a pool. A training loop logs values that it has just computed, so the pool must fit the
/// cache.
const POOL: usize = 256;

/// Step numbers have 8 digits and epochs 3 in every iteration; see [`Range32`] for the reason.
const STEPS: Range<u64> = 10_000_000..100_000_000;
const STEPS_PER_EPOCH: u64 = 100_000;
const FIRST_EPOCH: u64 = 100;

/// Values of an input: a range, and the number of characters that each value takes in JSON.
///
/// All values of a field are printed with the same width. An iteration therefore writes the same number of bytes in
/// every round and at every index, and bytes are an exact metric that can be gated. The width is the most common one
/// for a converted float32 of the range, so the digits to print and to parse are those of a real log.
struct Range32 {
    from: f32,
    to: f32,
    width: usize,
}

const LOSS: Range32 = Range32 { from: 1.0, to: 8.0, width: 17 };
const LOAD_BALANCE_LOSS: Range32 = Range32 { from: 0.01, to: 0.1, width: 19 };
const GRAD_NORM: Range32 = Range32 { from: 1.0, to: 8.0, width: 17 };
const LEARNING_RATE: Range32 = Range32 { from: 1e-4, to: 1e-3, width: 21 };
const TOKENS_PER_SECOND: Range32 = Range32 { from: 10_000.0, to: 100_000.0, width: 13 };
const STEP_SECONDS: Range32 = Range32 { from: 0.1, to: 0.9, width: 18 };
const SHARE: Range32 = Range32 { from: 0.1, to: 0.9, width: 18 };

impl Range32 {
    fn draw(&self, rng: &mut impl Rng) -> f32 {
        loop {
            // 24 bits: the mantissa of a float32.
            let unit = (rng.next_u32() >> 8) as f32 / (1_u32 << 24) as f32;
            let value = self.from + unit * (self.to - self.from);
            if serde_json::to_string(&f64::from(value)).is_ok_and(|text| text.len() == self.width) {
                return value;
            }
        }
    }
}

/// A tensor of the source, which has to be converted before it can be logged. Its values are accessible only through a
/// conversion, and every conversion is counted.
#[derive(Debug)]
pub(crate) struct Tensor([f32; EXPERTS]);

impl Tensor {
    /// Converts into a new list, as `tensor.cpu().numpy().tolist()` does.
    pub(crate) fn to_list(&self, conversions: &Counter) -> Vec<f64> {
        self.values(conversions).collect()
    }

    /// Converts the values one by one, for a consumer that does not need a list.
    pub(crate) fn values(&self, conversions: &Counter) -> impl Iterator<Item = f64> + '_ {
        conversions.add(1);
        self.reference()
    }

    /// Values for the check. This is not a conversion of the hot path.
    fn reference(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().copied().map(f64::from)
    }
}

/// How the model is trained: one of the document's two modes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Standard,
    Geometric,
}

impl Mode {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Geometric => "geometric",
        }
    }
}

/// Results of a step, in the precision in which a model computes them.
#[derive(Debug)]
pub(crate) struct StepMetrics {
    pub(crate) loss: f32,
    pub(crate) load_balance_loss: f32,
    pub(crate) grad_norm: f32,
    pub(crate) learning_rate: f32,
    pub(crate) tokens_per_second: f32,
    pub(crate) step_seconds: f32,
    pub(crate) expert_loads: Tensor,
    pub(crate) ghost_activations: Tensor,
}

impl StepMetrics {
    fn draw(rng: &mut impl Rng) -> Self {
        Self {
            loss: LOSS.draw(rng),
            load_balance_loss: LOAD_BALANCE_LOSS.draw(rng),
            grad_norm: GRAD_NORM.draw(rng),
            learning_rate: LEARNING_RATE.draw(rng),
            tokens_per_second: TOKENS_PER_SECOND.draw(rng),
            step_seconds: STEP_SECONDS.draw(rng),
            expert_loads: Tensor(std::array::from_fn(|_| SHARE.draw(rng))),
            ghost_activations: Tensor(std::array::from_fn(|_| SHARE.draw(rng))),
        }
    }
}

/// One step of the training loop, about to be logged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) number: u64,
    pub(crate) epoch: u64,
    pub(crate) mode: Mode,
    pub(crate) metrics: &'a StepMetrics,
}

impl Step<'_> {
    /// Whether the sink wants the tensors of this step.
    pub(crate) fn wants_tensors(&self) -> bool {
        self.number.is_multiple_of(EVERY)
    }
}

/// A record of a log in float64, either expected by the reference or read back from a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    step: u64,
    epoch: u64,
    mode: Mode,
    loss: f64,
    load_balance_loss: f64,
    grad_norm: f64,
    learning_rate: f64,
    tokens_per_second: f64,
    step_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expert_loads: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ghost_activations: Option<Vec<f64>>,
}

impl Record {
    /// Returns the expected record of a step.
    ///
    /// Every float32 is converted to float64, which is exact, and a log must return exactly that float64. A variant
    /// must therefore convert before it prints: `serde_json` prints a float32 with the fewest digits that distinguish
    /// it from other float32s, and those digits are another float64.
    fn due(step: &Step<'_>) -> Self {
        let metrics = step.metrics;
        let wanted = |tensor: &Tensor| step.wants_tensors().then(|| tensor.reference().collect());
        Self {
            step: step.number,
            epoch: step.epoch,
            mode: step.mode,
            loss: metrics.loss.into(),
            load_balance_loss: metrics.load_balance_loss.into(),
            grad_norm: metrics.grad_norm.into(),
            learning_rate: metrics.learning_rate.into(),
            tokens_per_second: metrics.tokens_per_second.into(),
            step_seconds: metrics.step_seconds.into(),
            expert_loads: wanted(&metrics.expert_loads),
            ghost_activations: wanted(&metrics.ghost_activations),
        }
    }

    /// Appends every field. The lengths of lists are appended too, so that no two records have the same values.
    pub(crate) fn flatten(&self, values: &mut Vec<f64>) {
        values.extend([
            self.step as f64,
            self.epoch as f64,
            f64::from(self.mode as u8),
            self.loss,
            self.load_balance_loss,
            self.grad_norm,
            self.learning_rate,
            self.tokens_per_second,
            self.step_seconds,
        ]);
        for list in [&self.expert_loads, &self.ghost_activations] {
            values.push(list.as_ref().map_or(-1.0, |list| list.len() as f64));
            values.extend(list.iter().flatten());
        }
    }
}

/// Inputs of a placement: a pool of steps for the current round.
#[derive(Debug)]
pub(crate) struct Input {
    seed: u64,
    n: u64,
    pool: Vec<StepMetrics>,
}

impl Input {
    pub(crate) fn new(seed: u64, n: u64) -> Self {
        Self { seed, n, pool: Vec::new() }
    }

    /// Fills the pool for `round`.
    pub(crate) fn load(&mut self, round: u64) {
        let mut rng = input_rng(self.seed, "json-logging", round);
        self.pool.clear();
        self.pool.extend((0..POOL).map(|_| StepMetrics::draw(&mut rng)));
    }

    /// Steps of iteration `index`: the pool, rotated by the index, with step numbers of the index. Both cost nothing,
    /// so that the iteration times only the logging.
    pub(crate) fn steps(&self, index: u64) -> impl Iterator<Item = Step<'_>> {
        // Every iteration starts at a step that wants tensors, so that all iterations write them equally often.
        let stride = self.n.max(1).next_multiple_of(EVERY);
        let different = ((STEPS.end - STEPS.start) / stride).max(1);
        let first = STEPS.start + index % different * stride;
        (0..self.n).map(move |i| Step {
            number: first + i,
            epoch: FIRST_EPOCH + (first + i - STEPS.start) / STEPS_PER_EPOCH,
            mode: Mode::Geometric,
            metrics: &self.pool[(index.wrapping_add(i) % POOL as u64) as usize],
        })
    }

    /// Returns the records that a log of iteration `index` must hold.
    pub(crate) fn due(&self, index: u64) -> Vec<Record> {
        self.steps(index).map(|step| Record::due(&step)).collect()
    }

    /// Digest of the whole input of iteration `index`, whether the sink wants it or not.
    pub(crate) fn digest(&self, index: u64) -> Digest {
        let mut values = Vec::new();
        for step in self.steps(index) {
            Record::due(&step).flatten(&mut values);
            values.extend(step.metrics.expert_loads.reference());
            values.extend(step.metrics.ghost_activations.reference());
        }
        Digest::of_f64(values)
    }

    /// Memory of the inputs of a placement, in bytes.
    pub(crate) fn bytes() -> u64 {
        (POOL * size_of::<StepMetrics>()) as u64
    }
}

/// Sizes of logs in bytes. They are exact, since all records of a kind have the same width.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    line: [u64; 2],
    pretty: [u64; 2],
}

impl Sizes {
    /// Measures one record without tensors and one with tensors.
    pub(crate) fn measure() -> Result<Self, serde_json::Error> {
        let mut input = Input::new(0, 2);
        input.load(0);
        let mut sizes = Self { line: [0; 2], pretty: [0; 2] };
        for record in input.due(0) {
            let kind = usize::from(record.expert_loads.is_some());
            sizes.line[kind] = serde_json::to_string(&record)?.len() as u64 + 1;
            // The brackets of the array and their line ends are not part of the record.
            sizes.pretty[kind] = serde_json::to_string_pretty(&[record])?.len() as u64 - 4;
        }
        Ok(sizes)
    }

    fn sum(n: u64, [plain, with_tensors]: [u64; 2]) -> u64 {
        let wanted = n.div_ceil(EVERY);
        (n - wanted) * plain + wanted * with_tensors
    }

    /// Size of a log with one line per record.
    pub(crate) fn lines(&self, n: u64) -> u64 {
        Self::sum(n, self.line)
    }

    /// Size of a log that is one indented array.
    pub(crate) fn pretty(&self, n: u64) -> u64 {
        // `[` and `]` take a line each, and a comma and a line end separate the records.
        if n == 0 { 2 } else { 4 + Self::sum(n, self.pretty) + 2 * (n - 1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(n: u64, round: u64) -> Input {
        let mut input = Input::new(7, n);
        input.load(round);
        input
    }

    #[test]
    fn inputs_differ_between_rounds_and_indices_and_are_the_same_each_time() {
        let mut digests = Vec::new();
        for round in [0, 1, 2, u64::MAX] {
            let input = loaded(50, round);
            for index in [0, 1, 2, 255, 256, 1_000_000] {
                digests.push(input.digest(index));
                assert_eq!(loaded(50, round).digest(index), input.digest(index));
            }
        }
        for (i, digest) in digests.iter().enumerate() {
            assert!(!digests[..i].contains(digest), "input {i} has been there before");
        }
        let mut other = Input::new(8, 50);
        other.load(0);
        assert_ne!(other.digest(0), digests[0], "the seed has no part in the input");
    }

    #[test]
    fn inputs_stay_the_same_for_ever() {
        // A change of this digest changes every figure: increase the version of the workload.
        assert_eq!(loaded(50, 5).digest(3).0, "79edc5a95c27c7fe49cc0606a276a5d2");
    }

    #[test]
    fn every_record_of_a_kind_is_equally_wide_in_every_round() {
        let sizes = Sizes::measure().unwrap();
        for round in 0..3 {
            // The last index has the highest step numbers.
            for index in [0, 1, 17_999, u64::MAX] {
                for record in loaded(2000, round).due(index) {
                    let kind = usize::from(record.expert_loads.is_some());
                    let line = serde_json::to_string(&record).unwrap();
                    assert_eq!(line.len() as u64 + 1, sizes.line[kind], "{line}");
                }
            }
        }
    }

    #[test]
    fn a_log_has_about_three_hundred_bytes_a_record() {
        let bytes = Sizes::measure().unwrap().lines(1000);
        assert!((280_000..320_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn every_fifth_record_has_tensors_whatever_the_number_of_records() {
        for n in [1, 49, 50, 51, 1000] {
            for index in [0, 1, 3] {
                let due = loaded(n, 0).due(index);
                let with = due.iter().filter(|record| record.expert_loads.is_some()).count() as u64;
                assert_eq!(with, n.div_ceil(EVERY));
                assert_eq!(due.len() as u64, n);
            }
        }
    }

    #[test]
    fn a_float32_must_be_converted_before_it_is_printed() {
        let step = loaded(1, 0);
        let value = step.pool[0].loss;
        let printed_as_float32: f64 = serde_json::from_str(&serde_json::to_string(&value).unwrap()).unwrap();
        assert_ne!(printed_as_float32, f64::from(value));
    }
}
