//! What all kernels share: inputs, amounts of work, and a placement.

use perfharness_contract::{Check, Counter, Digest, Failure, Measured, MetricDef, Setup, input_rng};
use rand_pcg::rand_core::Rng as _;

use crate::plant::{Fault, Planted};

/// Work counter: steps that the results need.
pub(crate) const STEPS: &str = "steps";
const COPIES: &str = "host-copies";
const COPY_BYTES: &str = "host-copy-bytes";
/// Bytes of a copy that is planted.
pub(crate) const PLANTED_COPY: usize = 64 << 10;

/// Word `i` of a sequence (`SplitMix64`). Any word can be told without those before it, so that a reference needs no
/// buffer, and cannot be misled by a broken one.
pub(crate) fn word(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The seed of what a placement's buffers hold.
pub(crate) fn buffer_seed(setup: &Setup) -> u64 {
    input_rng(setup.seed(), "buffer", 0).next_u64()
}

/// The input of an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Its index.
    pub index: u64,
    /// What the inputs of the round are derived from.
    pub key: u64,
}

impl Input {
    /// A word that differs from round to round and from iteration to iteration.
    pub fn state(self) -> u64 {
        word(self.key, self.index)
    }
}

/// What an iteration does. All of it is read at run time, so that all variants share every instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Steps that the result needs.
    pub useful: u64,
    /// Steps after them, which nothing needs.
    pub extra: u64,
    /// Copies that nothing needs.
    pub copies: u64,
    /// Syncs that nothing needs.
    pub syncs: u64,
    /// Writes that nothing needs.
    pub writes: u64,
    /// Allocations that nothing needs, for each step that the result needs.
    pub allocations: u64,
    /// Bytes that are never given back.
    pub leak: u64,
}

impl Work {
    /// So many steps that the result needs, done as so many percent of them.
    pub fn of(useful: u64, percent: u64) -> Self {
        let extra = useful * (percent - 100) / 100;
        Self { useful, extra, copies: 0, syncs: 0, writes: 0, allocations: 0, leak: 0 }
    }

    /// The same with what is planted.
    pub(crate) fn with(self, planted: &Planted) -> Self {
        let Planted { time, copies, syncs, writes, allocations, leak, .. } = *planted;
        let steps = ((self.useful + self.extra) as f64 * time).round() as u64;
        Self { useful: self.useful, extra: steps - self.useful, copies, syncs, writes, allocations, leak }
    }
}

/// A way to spend time whose amount is a number.
pub trait Kernel: 'static {
    /// Makes the inputs of a round current.
    ///
    /// # Errors
    /// When they cannot be made.
    fn load(&mut self, _key: u64, _work: &Work) -> Result<(), Failure> {
        Ok(())
    }

    /// One iteration.
    ///
    /// # Errors
    /// When it cannot be done.
    fn run(&mut self, input: Input, work: &Work) -> Result<(), Failure>;

    /// Waits until everything is done.
    ///
    /// # Errors
    /// When something failed.
    fn fence(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Holds the result of the last iteration against a reference.
    ///
    /// # Errors
    /// When the result cannot be read.
    fn check(&mut self, input: Input, useful: u64) -> Result<Check, Failure>;
}

/// A placement of a kernel.
#[derive(Debug)]
pub struct Known<K> {
    pub(crate) kernel: K,
    work: Work,
    seed: u64,
    key: u64,
    steps: Counter,
    fault: Option<Fault>,
    /// On the host: what copies that are planted go through.
    copies: Option<Copies>,
    /// Memory that is planted.
    _ballast: Vec<u8>,
}

impl<K: Kernel> Known<K> {
    /// A placement in which nothing is planted. The workload declares the metric `steps`.
    pub fn new(kernel: K, work: Work, setup: &Setup) -> Self {
        Self {
            kernel,
            work,
            seed: setup.seed(),
            key: 0,
            steps: setup.counter(STEPS),
            fault: None,
            copies: None,
            _ballast: Vec::new(),
        }
    }

    /// Plants what the kernel does not see to itself.
    pub(crate) fn plant(mut self, planted: &Planted) -> Self {
        self.work = self.work.with(planted);
        self.fault = planted.fault;
        self
    }

    /// Lets what is planted happen on the host, and holds so many times a buffer of this size.
    pub(crate) fn on_host(self, planted: &Planted, buffer_bytes: u64, setup: &Setup) -> Self {
        // Written, so that the memory is really there.
        let ballast = vec![1; ((planted.peak - 1) * buffer_bytes) as usize];
        Self { copies: Some(Copies::new(setup)), _ballast: ballast, ..self }
    }

    fn input(&self, index: u64) -> Input {
        Input { index, key: self.key }
    }
}

impl<K: Kernel> Measured for Known<K> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.key = input_rng(self.seed, "planted", round).next_u64();
        self.kernel.load(self.key, &self.work)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let input = match self.fault {
            None => self.input(index),
            // The right result of another input is a wrong one.
            Some(Fault::Wrong) => self.input(index + 1),
            Some(Fault::Crash) => std::process::abort(),
            Some(Fault::Hang) => hang(),
        };
        self.kernel.run(input, &self.work)?;
        if let Some(copies) = &mut self.copies {
            copies.copy(self.work.copies);
            waste_memory(&self.work);
        }
        // A work counter says how much was done towards the result, which is equal for all variants; the extra steps
        // are waste, and would make a variant wrong instead of slow.
        self.steps.add(self.work.useful);
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        self.kernel.fence()
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let input = [self.seed, self.key, index].map(u64::to_le_bytes);
        let input = Digest::of_parts(input.iter().map(<[u8; 8]>::as_slice));
        Ok(self.kernel.check(self.input(index), self.work.useful)?.with_input(input))
    }
}

/// Allocates what is planted: for each item and back at once, and for ever.
fn waste_memory(work: &Work) {
    for item in 0..work.allocations * work.useful {
        std::hint::black_box(Box::new(item));
    }
    if work.leak > 0 {
        // Written, so that the memory is really there.
        std::mem::forget(std::hint::black_box(vec![1_u8; work.leak as usize]));
    }
}

fn hang() -> ! {
    loop {
        std::thread::sleep(std::time::Duration::from_hours(1));
    }
}

/// Counters of copies on the host.
#[derive(Clone, Debug)]
pub(crate) struct CopyCounters {
    copies: Counter,
    bytes: Counter,
}

impl CopyCounters {
    pub(crate) fn new(setup: &Setup) -> Self {
        Self { copies: setup.counter(COPIES), bytes: setup.counter(COPY_BYTES) }
    }

    pub(crate) fn metrics() -> [MetricDef; 2] {
        [
            MetricDef::count(COPIES, "copies on the host"),
            MetricDef::bytes(COPY_BYTES, "bytes copied on the host"),
        ]
    }

    pub(crate) fn add(&self, copies: u64, bytes: usize) {
        self.copies.add(copies);
        self.bytes.add(bytes as u64);
    }
}

/// Copies that nothing needs.
#[derive(Debug)]
struct Copies {
    from: Vec<u8>,
    to: Vec<u8>,
    counters: CopyCounters,
}

impl Copies {
    fn new(setup: &Setup) -> Self {
        Self { from: vec![1; PLANTED_COPY], to: vec![2; PLANTED_COPY], counters: CopyCounters::new(setup) }
    }

    fn copy(&mut self, times: u64) {
        for _ in 0..times {
            std::hint::black_box(&mut self.to).copy_from_slice(&self.from);
            self.counters.add(1, PLANTED_COPY);
        }
    }
}
