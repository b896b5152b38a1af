//! Parts that all kernels share: inputs, amounts of work, and a placement.

use perfharness_contract::{Check, Counter, Digest, Failure, Measured, MetricDef, Setup, input_rng};
use rand_pcg::rand_core::Rng as _;

use crate::plant::{Fault, Planted};

/// Work counter: steps that the results need.
pub(crate) const STEPS: &str = "steps";
const COPIES: &str = "host-copies";
const COPY_BYTES: &str = "host-copy-bytes";
/// Size of a planted copy in bytes.
pub(crate) const PLANTED_COPY: usize = 64 << 10;

/// Returns word `i` of a sequence (`SplitMix64`). A word does not depend on those before it, so a reference needs no
/// buffer and a broken buffer cannot mislead it.
pub(crate) fn word(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(i.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Seed of the contents of a placement's buffers.
pub(crate) fn buffer_seed(setup: &Setup) -> u64 {
    input_rng(setup.seed(), "buffer", 0).next_u64()
}

/// The input of an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Index of the iteration.
    pub index: u64,
    /// Key from which the inputs of the round are derived.
    pub key: u64,
}

impl Input {
    /// Returns a word that differs from round to round and from iteration to iteration.
    pub fn state(self) -> u64 {
        word(self.key, self.index)
    }
}

/// Work of an iteration. All of it is read at run time, so that all variants share every instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Steps that the result needs.
    pub useful: u64,
    /// Steps after those, which no result needs.
    pub extra: u64,
    /// Copies that no result needs.
    pub copies: u64,
    /// Syncs that no result needs.
    pub syncs: u64,
    /// Writes that no result needs.
    pub writes: u64,
    /// Allocations that no result needs, for each step that the result needs.
    pub allocations: u64,
    /// Bytes that are never freed.
    pub leak: u64,
}

impl Work {
    /// Work of `useful` steps, done as `percent` percent of them.
    pub fn of(useful: u64, percent: u64) -> Self {
        let extra = useful * (percent - 100) / 100;
        Self { useful, extra, copies: 0, syncs: 0, writes: 0, allocations: 0, leak: 0 }
    }

    /// Returns this work with the planted work added.
    pub(crate) fn with(self, planted: &Planted) -> Self {
        let Planted { time, copies, syncs, writes, allocations, leak, .. } = *planted;
        let steps = ((self.useful + self.extra) as f64 * time).round() as u64;
        Self { useful: self.useful, extra: steps - self.useful, copies, syncs, writes, allocations, leak }
    }
}

/// A way to spend a known amount of work.
pub trait Kernel: 'static {
    /// Makes the inputs of a round current.
    ///
    /// # Errors
    /// Returns an error if the inputs cannot be made.
    fn load(&mut self, _key: u64, _work: &Work) -> Result<(), Failure> {
        Ok(())
    }

    /// Runs one iteration.
    ///
    /// # Errors
    /// Returns an error if the iteration fails.
    fn run(&mut self, input: Input, work: &Work) -> Result<(), Failure>;

    /// Waits until all work is done.
    ///
    /// # Errors
    /// Returns an error if some of the work failed.
    fn fence(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Compares the result of the last iteration with a reference.
    ///
    /// # Errors
    /// Returns an error if the result cannot be read.
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
    /// Source and target of planted copies on the host.
    copies: Option<Copies>,
    /// Planted memory.
    _ballast: Vec<u8>,
}

impl<K: Kernel> Known<K> {
    /// Creates a placement in which nothing is planted. The workload must declare the metric `steps`.
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

    /// Plants everything that the kernel does not handle itself.
    pub(crate) fn plant(mut self, planted: &Planted) -> Self {
        self.work = self.work.with(planted);
        self.fault = planted.fault;
        self
    }

    /// Plants work on the host, and holds `planted.peak` times a buffer of `buffer_bytes` bytes.
    pub(crate) fn on_host(self, planted: &Planted, buffer_bytes: u64, setup: &Setup) -> Self {
        // Written, so that the memory is resident.
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
            // The right result of another input is a wrong result.
            Some(Fault::Wrong) => self.input(index + 1),
            Some(Fault::Crash) => std::process::abort(),
            Some(Fault::Hang) => hang(),
        };
        self.kernel.run(input, &self.work)?;
        if let Some(copies) = &mut self.copies {
            copies.copy(self.work.copies);
            waste_memory(&self.work);
        }
        // A work counter counts the work towards the result, which is equal for all variants. The extra steps are
        // waste; counting them would make a variant wrong instead of slow.
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

/// Makes the planted allocations: for each item one that is freed at once, and one per iteration that is never freed.
fn waste_memory(work: &Work) {
    for item in 0..work.allocations * work.useful {
        std::hint::black_box(Box::new(item));
    }
    if work.leak > 0 {
        // Written, so that the memory is resident.
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

/// Copies that no result needs.
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
