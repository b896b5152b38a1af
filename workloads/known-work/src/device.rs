//! One dispatch per iteration on the GPU. The chains are few and long, so that steps and not launches take the time.

use perfharness_contract::{Check, Failure, Setup, Tolerance};
use perfharness_gpu::{Bound, Buffer, Gpu};

use crate::chain::jump;
use crate::kernel::{Input, Kernel, PLANTED_COPY, Work, word};

/// Number of inputs in a round; the iterations cycle through them.
const POOL: u64 = 4;
/// Number of invocations, as in the shader.
const LANES: u64 = 8;
const MULTIPLIER: u32 = 1_664_525;
const INCREMENT: u32 = 1_013_904_223;
/// Device memory that is held but not used.
const RESERVE: u64 = 4 << 20;

/// A linear congruential chain in each invocation.
#[derive(Debug)]
pub(crate) struct Device {
    gpu: Gpu,
    works: Vec<Buffer>,
    kernels: Vec<Bound>,
    results: Buffer,
    /// Source and target of planted copies.
    from: Buffer,
    to: Buffer,
    _reserve: Buffer,
    /// Planted buffers that are never freed.
    leaked: Vec<Buffer>,
}

impl Device {
    /// Creates the kernel with `peak` times the unused memory.
    pub(crate) fn new(peak: u64, setup: &Setup) -> Result<Self, Failure> {
        let gpu = Gpu::open(setup)?;
        let works: Vec<Buffer> =
            (0..POOL).map(|_| gpu.buffer_for::<u32>("work", 5)).collect::<Result<_, _>>()?;
        let results = gpu.buffer_for::<u32>("results", LANES)?;
        let spare = gpu.buffer_for::<u32>("spare", LANES)?;
        let pipeline = gpu.pipeline("chain", include_str!("chain.wgsl"), "main")?;
        let bind = |work| pipeline.bind([("work", work), ("results", &results), ("spare", &spare)]);
        let kernels = works.iter().map(bind).collect::<Result<_, _>>()?;
        Ok(Self {
            works,
            kernels,
            results,
            from: gpu.buffer("copied from", PLANTED_COPY as u64)?,
            to: gpu.buffer("copied to", PLANTED_COPY as u64)?,
            _reserve: gpu.buffer("reserve", peak * RESERVE)?,
            leaked: Vec::new(),
            gpu,
        })
    }

    fn start(key: u64, slot: u64) -> u32 {
        word(key, slot) as u32
    }
}

impl Kernel for Device {
    fn load(&mut self, key: u64, work: &Work) -> Result<(), Failure> {
        for (slot, buffer) in self.works.iter().enumerate() {
            let work =
                [Self::start(key, slot as u64), work.useful as u32, work.extra as u32, MULTIPLIER, INCREMENT];
            self.gpu.commands("load").upload(buffer, &work).submit()?;
        }
        Ok(self.gpu.fence()?)
    }

    fn run(&mut self, input: Input, work: &Work) -> Result<(), Failure> {
        let mut commands = self.gpu.commands("chain");
        commands.dispatch(&self.kernels[(input.index % POOL) as usize], [1, 1, 1]);
        for _ in 0..work.copies {
            commands.copy(&self.from, &self.to);
        }
        if work.leak > 0 {
            self.leaked.push(self.gpu.buffer("leaked", work.leak)?);
        }
        let submission = commands.submit()?;
        for _ in 0..work.syncs {
            submission.wait()?;
        }
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.gpu.fence()?)
    }

    fn check(&mut self, input: Input, useful: u64) -> Result<Check, Failure> {
        let start = Self::start(input.key, input.index % POOL);
        let chain = |lane: u32| {
            let first = start ^ lane.wrapping_mul(2_654_435_769);
            // The low half of a chain of 64 bits is the chain of 32 bits.
            jump(u64::from(first), useful, u64::from(MULTIPLIER), u64::from(INCREMENT)) as u32
        };
        let due: Vec<f64> = (0..LANES as u32).map(|lane| f64::from(chain(lane))).collect();
        let results: Vec<f64> = self.gpu.read::<u32>(&self.results)?.into_iter().map(f64::from).collect();
        Ok(Check::compare(&due, &results, Tolerance::Exact))
    }
}
