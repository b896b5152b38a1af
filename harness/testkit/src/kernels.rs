//! Kernels of known work, and variants that do a known share more of it.

use std::hint::black_box;

use perfharness_contract::{
    Case, Check, Counter, Digest, Failure, Measured, MetricDef, Role, Setup, Workload, input_rng,
};
use rand_pcg::rand_core::Rng as _;
use serde::Serialize;

const STEPS: &str = "steps";

/// Parameters of a case.
#[derive(Clone, Copy, Debug, Serialize)]
struct Params {
    /// Steps that the result of one iteration needs.
    steps: u64,
    /// Size of the buffer that they read.
    buffer_bytes: u64,
}

/// A variant: its name, its role, its extra work in percent, and what it does.
type Variant = (&'static str, Role, u64, &'static str);

const A: Variant = ("a", Role::Slow, 0, "the work itself");
const A_AGAIN: Variant = ("a-again", Role::Other, 0, "the same as `a`");
const PLUS_10: Variant = ("plus10", Role::Other, 10, "10 % more work than `a`, for the same result");
const DOUBLE: Variant = ("double", Role::Other, 100, "twice the work of `a`, for the same result");

/// Registers only.
pub(crate) fn spin() -> Workload {
    // One step takes the time of a multiplication and an addition: 1 to 2 ns.
    let cases = [
        ("short", Params { steps: 60_000, buffer_bytes: 0 }),
        ("long", Params { steps: 200_000, buffer_bytes: 0 }),
    ];
    workload::<Spin>(
        "spin",
        "A chain of multiplications in registers",
        &cases,
        &[A, A_AGAIN, PLUS_10, DOUBLE],
    )
}

/// Random reads in a buffer that fits a second-level cache, or nearly.
pub(crate) fn gather() -> Workload {
    let cases = [("kib512", Params { steps: 30_000, buffer_bytes: 512 << 10 })];
    workload::<Gather>("gather", "A chain of random reads in 512 KiB", &cases, &[A, A_AGAIN, PLUS_10])
}

/// Sequential reads through a buffer that is larger than most caches, a window in each iteration.
pub(crate) fn sweep() -> Workload {
    let cases = [("mib64", Params { steps: 230_000, buffer_bytes: Sweep::WINDOWS * Sweep::WINDOW * 8 })];
    workload::<Sweep>("sweep", "Sums of successive windows of 64 MiB", &cases, &[A, A_AGAIN, PLUS_10])
}

fn workload<K: Kernel>(id: &str, summary: &str, cases: &[(&str, Params)], variants: &[Variant]) -> Workload {
    let mut workload =
        Workload::builder(id, 1, summary).metric(MetricDef::work(STEPS, "steps that the result needs"));
    for (id, params) in cases {
        workload = workload.case(Case::new(id, *params).items(params.steps, STEPS));
    }
    for &(id, role, extra_percent, summary) in variants {
        workload = workload
            .variant(id, role, summary, move |params, setup| {
                if let Some(text) = setup.setting("one") {
                    setup.note(format!("one is {text}"));
                }
                Ok(Planted::<K>::new(extra_percent, params, setup))
            })
            .memory(id, |params| params.buffer_bytes);
    }
    workload.path_setting("images", "read by nothing").setting("one", "a text that is told again").build()
}

/// Where a stretch of steps begins.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// The iteration.
    index: u64,
    /// Steps of the iteration that went before.
    step: u64,
    /// What the chain begins with.
    state: u64,
}

/// A chain of steps that can neither be shortened nor run side by side with what follows it.
trait Kernel: 'static {
    fn new(params: &Params, setup: &Setup) -> Self;
    /// Walks the chain.
    fn walk(&self, start: Start, steps: u64) -> u64;
    /// What `walk` is to give, found without the buffer.
    fn reference(&self, start: Start, steps: u64) -> u64;
}

/// A kernel with extra work in it. The amount is a number that is read at run time, so that all variants share every
/// instruction.
#[derive(Debug)]
struct Planted<K> {
    kernel: K,
    seed: u64,
    useful: u64,
    extra: u64,
    counter: Counter,
    round_key: u64,
    result: u64,
    /// What the extra work left; nothing depends on it.
    spare: u64,
}

impl<K: Kernel> Planted<K> {
    fn new(extra_percent: u64, params: &Params, setup: &Setup) -> Self {
        Self {
            kernel: K::new(params, setup),
            seed: setup.seed(),
            useful: params.steps,
            extra: params.steps * extra_percent / 100,
            counter: setup.counter(STEPS),
            round_key: 0,
            result: 0,
            spare: 0,
        }
    }

    fn start(&self, index: u64) -> Start {
        Start { index, step: 0, state: word(self.round_key, index) }
    }
}

impl<K: Kernel> Measured for Planted<K> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.round_key = input_rng(self.seed, "planted", round).next_u64();
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        self.result = black_box(self.kernel.walk(self.start(index), self.useful));
        // The extra work begins with the result, so that no processor can hide it behind the work before.
        let start = Start { index, step: self.useful, state: self.result };
        self.spare = black_box(self.kernel.walk(start, self.extra));
        // A work counter says how much was done towards the result, which is equal for all variants; the extra steps
        // are waste, and would make `plus10` a wrong result instead of a slow one.
        self.counter.add(self.useful);
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let due = self.kernel.reference(self.start(index), self.useful);
        let input = [self.seed, self.round_key, index].map(u64::to_le_bytes);
        let input = Digest::of_parts(input.iter().map(<[u8; 8]>::as_slice));
        Ok(Check::exact(&due.to_le_bytes(), &self.result.to_le_bytes()).with_input(input))
    }
}

/// A linear congruential chain: each step waits for the multiplication before it.
#[derive(Debug)]
pub(crate) struct Spin;

impl Spin {
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    const INCREMENT: u64 = 1_442_695_040_888_963_407;

    /// Walks the chain step by step.
    #[inline(never)]
    pub(crate) fn chain(state: u64, steps: u64) -> u64 {
        // As constants they would let the compiler fold several steps into one.
        let (multiplier, increment) = black_box((Self::MULTIPLIER, Self::INCREMENT));
        (0..steps).fold(state, |state, _| state.wrapping_mul(multiplier).wrapping_add(increment))
    }

    /// Jumps to the end of the chain: `steps` affine maps are one, found by squaring.
    pub(crate) fn jump(state: u64, steps: u64) -> u64 {
        let (mut multiplier, mut increment) = (1_u64, 0_u64);
        let (mut square, mut shift) = (Self::MULTIPLIER, Self::INCREMENT);
        let mut left = steps;
        while left > 0 {
            if left & 1 == 1 {
                multiplier = multiplier.wrapping_mul(square);
                increment = increment.wrapping_mul(square).wrapping_add(shift);
            }
            shift = shift.wrapping_mul(square.wrapping_add(1));
            square = square.wrapping_mul(square);
            left >>= 1;
        }
        state.wrapping_mul(multiplier).wrapping_add(increment)
    }
}

impl Kernel for Spin {
    fn new(_: &Params, _: &Setup) -> Self {
        Self
    }

    fn walk(&self, start: Start, steps: u64) -> u64 {
        Self::chain(start.state, steps)
    }

    fn reference(&self, start: Start, steps: u64) -> u64 {
        Self::jump(start.state, steps)
    }
}

/// Word `i` of a buffer (`SplitMix64`). Any word can be told without those before it, so that a reference needs no
/// buffer, and cannot be misled by a broken one.
fn word(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A buffer of a placement's own.
#[derive(Debug)]
struct Buffer {
    seed: u64,
    words: Vec<u64>,
}

impl Buffer {
    fn new(params: &Params, setup: &Setup) -> Self {
        let seed = input_rng(setup.seed(), "buffer", 0).next_u64();
        Self { seed, words: (0..params.buffer_bytes / 8).map(|i| word(seed, i)).collect() }
    }

    fn reference(&self, i: u64) -> u64 {
        word(self.seed, i)
    }
}

/// Random reads: each says where the next one goes.
#[derive(Debug)]
struct Gather {
    buffer: Buffer,
}

impl Gather {
    fn next(state: u64, word: u64) -> u64 {
        // The state is wider than the place, so that chains that meet at a word part again.
        state.rotate_left(23).wrapping_add(word)
    }
}

impl Kernel for Gather {
    fn new(params: &Params, setup: &Setup) -> Self {
        Self { buffer: Buffer::new(params, setup) }
    }

    #[inline(never)]
    fn walk(&self, start: Start, steps: u64) -> u64 {
        let words = self.buffer.words.as_slice();
        // The length is a power of two. A division here would take longer than the read.
        let mask = words.len() - 1;
        (0..steps).fold(start.state, |state, _| Self::next(state, words[state as usize & mask]))
    }

    fn reference(&self, start: Start, steps: u64) -> u64 {
        let length = self.buffer.words.len() as u64;
        let mut state = start.state;
        for _ in 0..steps {
            state = Self::next(state, self.buffer.reference(state % length));
        }
        state
    }
}

/// Sequential reads. Each iteration has a window of its own, in which the extra work finds words that no other
/// iteration reads: otherwise it would fetch them into the cache for the next one, and make that faster.
#[derive(Debug)]
struct Sweep {
    buffer: Buffer,
}

impl Sweep {
    const WINDOWS: u64 = 32;
    /// Words in a window: 2 MiB.
    const WINDOW: u64 = 1 << 18;

    fn first(start: Start) -> u64 {
        start.index % Self::WINDOWS * Self::WINDOW + start.step
    }
}

impl Kernel for Sweep {
    fn new(params: &Params, setup: &Setup) -> Self {
        Self { buffer: Buffer::new(params, setup) }
    }

    #[inline(never)]
    fn walk(&self, start: Start, steps: u64) -> u64 {
        let first = Self::first(start) as usize;
        // The mask makes the sum of one window differ from round to round.
        self.buffer.words[first..first + steps as usize]
            .iter()
            .fold(0, |sum, word| sum.wrapping_add(word ^ start.state))
    }

    fn reference(&self, start: Start, steps: u64) -> u64 {
        let first = Self::first(start);
        let sum: u128 =
            (first..first + steps).map(|i| u128::from(self.buffer.reference(i) ^ start.state)).sum();
        sum as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Params = Params { steps: 1000, buffer_bytes: 0 };
    const GATHER: Params = Params { steps: 1000, buffer_bytes: 4096 };
    const SWEEP: Params = Params { steps: 1000, buffer_bytes: 4 * Sweep::WINDOW * 8 };

    fn planted<K: Kernel>(extra_percent: u64, params: &Params) -> Planted<K> {
        Planted::new(extra_percent, params, &Setup::new(1, "none", "unused"))
    }

    fn check_kernel<K: Kernel>(params: &Params) {
        let mut results = std::collections::BTreeSet::new();
        for extra_percent in [0, 10, 100] {
            let mut variant = planted::<K>(extra_percent, params);
            for (round, index) in [(0, 0), (0, 1), (7, 0), (7, 3)] {
                variant.load(round).unwrap();
                variant.run(index).unwrap();
                let check = variant.check(index).unwrap();
                assert!(check.passed, "{extra_percent} %, round {round}, index {index}: {check:?}");
                results.insert(variant.result);
            }
        }
        assert_eq!(results.len(), 4, "an input is a function of round and index, and of nothing else");
    }

    #[test]
    fn every_kernel_agrees_with_its_reference_whatever_extra_work_it_does() {
        check_kernel::<Spin>(&SPIN);
        check_kernel::<Gather>(&GATHER);
        check_kernel::<Sweep>(&SWEEP);
    }

    #[test]
    fn a_wrong_result_is_found() {
        let mut variant = planted::<Gather>(0, &GATHER);
        variant.load(0).unwrap();
        variant.run(0).unwrap();
        variant.result ^= 1 << 40;
        assert!(!variant.check(0).unwrap().passed);
        // A wrong buffer gives a wrong result, which a reference over the same buffer would not see.
        variant.kernel.buffer.words.fill(0);
        variant.run(0).unwrap();
        assert!(!variant.check(0).unwrap().passed);
    }

    /// The spare value is that of a chain of so many steps, and of no other number.
    fn extra_steps<K: Kernel>(extra_percent: u64, params: &Params) -> Vec<u64> {
        let mut variant = planted::<K>(extra_percent, params);
        variant.load(3).unwrap();
        variant.run(2).unwrap();
        let start = Start { index: 2, step: params.steps, state: variant.result };
        (0..=2 * params.steps)
            .filter(|steps| variant.kernel.reference(start, *steps) == variant.spare)
            .collect()
    }

    #[test]
    fn plus10_walks_ten_percent_more_steps() {
        assert_eq!(extra_steps::<Spin>(0, &SPIN), [0]);
        assert_eq!(extra_steps::<Spin>(10, &SPIN), [100]);
        assert_eq!(extra_steps::<Spin>(100, &SPIN), [1000]);
        assert_eq!(extra_steps::<Gather>(10, &GATHER), [100]);
        assert_eq!(extra_steps::<Sweep>(10, &SWEEP), [100]);
    }

    #[test]
    fn sizes_are_such_that_every_kernel_does_what_it_says() {
        for workload in crate::good() {
            for case in &workload.definition().cases {
                let steps = case.params["steps"].as_u64().unwrap();
                assert_eq!(steps % 10, 0, "{}/{}", workload.definition().id, case.id);
                let fits = match workload.definition().id.as_str() {
                    "sweep" => steps + steps / 10 <= Sweep::WINDOW,
                    "gather" => case.params["buffer_bytes"].as_u64().unwrap().is_power_of_two(),
                    _ => true,
                };
                assert!(fits, "{}/{}", workload.definition().id, case.id);
            }
        }
    }

    #[test]
    fn a_jump_ends_where_the_chain_does() {
        for steps in [0, 1, 2, 3, 1023, 1024, 40_000] {
            assert_eq!(Spin::jump(42, steps), Spin::chain(42, steps), "{steps} steps");
        }
    }
}
