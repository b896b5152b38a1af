//! Kernels for the processor and its memory: chains of steps.

use std::hint::black_box;

use perfharness_contract::{Check, Failure, Setup};

use crate::kernel::{Input, Kernel, Work, buffer_seed, word};

/// Start of a sequence of steps.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The iteration.
    pub index: u64,
    /// Steps of the iteration that precede this start.
    pub step: u64,
    /// Initial state of the chain.
    pub state: u64,
}

/// A chain of steps that can neither be shortened nor run in parallel with the work that follows it.
pub trait Walk: 'static {
    /// Walks the chain.
    fn walk(&self, start: Start, steps: u64) -> u64;
    /// Expected result of `walk`, computed without the buffer.
    fn reference(&self, start: Start, steps: u64) -> u64;
}

/// A chain and the result of its last iteration.
#[derive(Debug)]
pub struct Chain<W> {
    pub(crate) walk: W,
    pub(crate) result: u64,
    /// Result of the extra work; nothing depends on it.
    pub(crate) spare: u64,
}

impl<W: Walk> Chain<W> {
    /// Creates a chain that has not been walked yet.
    pub fn new(walk: W) -> Self {
        Self { walk, result: 0, spare: 0 }
    }

    fn start(input: Input) -> Start {
        Start { index: input.index, step: 0, state: input.state() }
    }
}

impl<W: Walk> Kernel for Chain<W> {
    fn run(&mut self, input: Input, work: &Work) -> Result<(), Failure> {
        self.result = black_box(self.walk.walk(Self::start(input), work.useful));
        // The extra work begins with the result, so that no processor can overlap it with the work before it.
        let start = Start { index: input.index, step: work.useful, state: self.result };
        self.spare = black_box(self.walk.walk(start, work.extra));
        Ok(())
    }

    fn check(&mut self, input: Input, useful: u64) -> Result<Check, Failure> {
        let due = self.walk.reference(Self::start(input), useful);
        Ok(Check::exact(&due.to_le_bytes(), &self.result.to_le_bytes()))
    }
}

/// Works in registers only: a linear congruential chain in which each step waits for the multiplication before it.
#[derive(Debug)]
pub struct Spin;

impl Spin {
    const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
    const INCREMENT: u64 = 1_442_695_040_888_963_407;

    /// Walks the chain step by step. Each step takes 1 to 2 ns, the time of a multiplication and an addition.
    #[inline(never)]
    pub fn chain(state: u64, steps: u64) -> u64 {
        // If they were constants, the compiler could fold several steps into one.
        let (multiplier, increment) = black_box((Self::MULTIPLIER, Self::INCREMENT));
        (0..steps).fold(state, |state, _| state.wrapping_mul(multiplier).wrapping_add(increment))
    }

    /// Jumps to the end of the chain.
    pub fn jump(state: u64, steps: u64) -> u64 {
        jump(state, steps, Self::MULTIPLIER, Self::INCREMENT)
    }
}

/// Jumps to the end of a linear congruential chain: `steps` affine maps form one map, found by squaring.
pub(crate) fn jump(state: u64, steps: u64, multiplier: u64, increment: u64) -> u64 {
    let (mut whole, mut offset) = (1_u64, 0_u64);
    let (mut square, mut shift) = (multiplier, increment);
    let mut left = steps;
    while left > 0 {
        if left & 1 == 1 {
            whole = whole.wrapping_mul(square);
            offset = offset.wrapping_mul(square).wrapping_add(shift);
        }
        shift = shift.wrapping_mul(square.wrapping_add(1));
        square = square.wrapping_mul(square);
        left >>= 1;
    }
    state.wrapping_mul(whole).wrapping_add(offset)
}

impl Walk for Spin {
    fn walk(&self, start: Start, steps: u64) -> u64 {
        Self::chain(start.state, steps)
    }

    fn reference(&self, start: Start, steps: u64) -> u64 {
        Self::jump(start.state, steps)
    }
}

/// Work that no kernel calls, between those that do.
#[cfg(feature = "uncalled")]
#[inline(never)]
pub(crate) fn uncalled(state: u64, steps: u64) -> u64 {
    (0..steps).fold(state, |state, step| (state ^ step).rotate_left(11).wrapping_mul(Spin::MULTIPLIER))
}

/// A buffer that belongs to one placement.
#[derive(Debug)]
pub(crate) struct Buffer {
    seed: u64,
    pub(crate) words: Vec<u64>,
}

impl Buffer {
    fn new(bytes: u64, setup: &Setup) -> Self {
        let seed = buffer_seed(setup);
        Self { seed, words: (0..bytes / 8).map(|i| word(seed, i)).collect() }
    }

    fn reference(&self, i: u64) -> u64 {
        word(self.seed, i)
    }
}

/// Random reads in a buffer: each word determines the position of the next read.
#[derive(Debug)]
pub struct Gather {
    pub(crate) buffer: Buffer,
}

impl Gather {
    /// Fills a buffer of `bytes` bytes, which must be a power of two.
    pub fn new(bytes: u64, setup: &Setup) -> Self {
        Self { buffer: Buffer::new(bytes, setup) }
    }

    fn next(state: u64, word: u64) -> u64 {
        // The state is wider than the position, so that chains that meet at a word separate again.
        state.rotate_left(23).wrapping_add(word)
    }
}

impl Walk for Gather {
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

/// Sequential reads. Each iteration has its own window, and its extra work reads words in it that no other iteration
/// reads. Otherwise the extra work would load them into the cache for the next iteration and make that one faster. Work
/// that exceeds the window continues in the next windows.
#[derive(Debug)]
pub struct Sweep {
    buffer: Buffer,
}

impl Sweep {
    /// Number of windows in a whole buffer.
    pub const WINDOWS: u64 = 32;
    /// Words in a window: 2 MiB.
    pub const WINDOW: u64 = 1 << 18;
    /// Bytes of a whole buffer.
    pub const BYTES: u64 = Self::WINDOWS * Self::WINDOW * 8;

    /// Fills a buffer of `bytes` bytes.
    pub fn new(bytes: u64, setup: &Setup) -> Self {
        Self { buffer: Buffer::new(bytes, setup) }
    }

    fn first(&self, start: Start) -> u64 {
        (start.index % Self::WINDOWS * Self::WINDOW + start.step) % self.length()
    }

    fn length(&self) -> u64 {
        self.buffer.words.len() as u64
    }
}

impl Walk for Sweep {
    #[inline(never)]
    fn walk(&self, start: Start, steps: u64) -> u64 {
        let words = self.buffer.words.as_slice();
        let (mut at, mut left, mut sum) = (self.first(start) as usize, steps as usize, 0_u64);
        while left > 0 {
            let stretch = &words[at..words.len().min(at + left)];
            // The mask makes the sum of one window differ from round to round.
            sum = stretch.iter().fold(sum, |sum, word| sum.wrapping_add(word ^ start.state));
            left -= stretch.len();
            at = 0;
        }
        sum
    }

    fn reference(&self, start: Start, steps: u64) -> u64 {
        let first = self.first(start);
        let place = |i| (first + i) % self.length();
        let sum: u128 = (0..steps).map(|i| u128::from(self.buffer.reference(place(i)) ^ start.state)).sum();
        sum as u64
    }
}
