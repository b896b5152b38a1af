//! The training loop on the device, the same for all variants.

use perfharness_contract::Counter;
use perfharness_gpu::{Bound, Buffer, Commands, Gpu, GpuError, Slice};

use super::experts::{EXPERTS, Experts, LENGTH, PAIRS, SCALARS, TURN};
use crate::POOL;

/// The document computes the metrics at every tenth step.
pub(super) const EVERY: u64 = 10;

/// Weights of all experts.
const WEIGHTS: u64 = (EXPERTS * LENGTH) as u64;
/// Weights of each expert that a workgroup of the first kernel takes, and its partial sums: one for each pair and one
/// for each expert with itself.
const COLUMNS: usize = 256;
const SUMS: usize = PAIRS + EXPERTS;

/// Bytes of a placement: its inputs on host and device, and the state.
pub(super) fn memory_bytes() -> u64 {
    (4 * POOL + 2) * 4 * WEIGHTS
}

/// Inputs on the device, and the kernel that reads the tokens.
#[derive(Debug)]
struct Input {
    weights: Buffer,
    momentum: Buffer,
    tokens: Buffer,
    finish: Bound,
}

/// A training loop whose state and metrics stay on the device until they are read.
#[derive(Debug)]
pub(super) struct Training {
    pub(super) gpu: Gpu,
    pub(super) steps: u64,
    weights: Buffer,
    momentum: Buffer,
    metrics: Buffer,
    inputs: Vec<Input>,
    step: Bound,
    gram: Bound,
    computations: Counter,
}

impl Training {
    pub(super) fn new(gpu: Gpu, steps: u64, computations: Counter) -> Result<Self, GpuError> {
        let state = |label| gpu.buffer_for::<f32>(label, WEIGHTS);
        let (weights, momentum) = (state("weights")?, state("momentum")?);
        let metrics = gpu.buffer_for::<f32>("metrics", SCALARS as u64)?;
        let partials = gpu.buffer_for::<f32>("partial-sums", (SUMS * LENGTH / COLUMNS) as u64)?;
        let [cos, sin] = TURN;
        let source =
            format!("const COS = {cos:?}f; const SIN = {sin:?}f;\n{}", include_str!("shaders/step.wgsl"));
        let step = gpu.pipeline("training-step", &source, "main")?;
        let step = step.bind([("weights", &weights), ("momentum", &momentum)])?;
        let gram = gpu.pipeline("gram", include_str!("shaders/gram.wgsl"), "main")?;
        let gram = gram.bind([("weights", &weights), ("partials", &partials)])?;
        let finish = gpu.pipeline("metrics", include_str!("shaders/finish.wgsl"), "main")?;
        let mut inputs = Vec::with_capacity(POOL as usize);
        for _ in 0..POOL {
            let tokens = gpu.buffer_for::<f32>("tokens", 1024)?;
            let given =
                [("weights", &weights), ("partials", &partials), ("tokens", &tokens), ("metrics", &metrics)];
            let finish = finish.bind(given)?;
            inputs.push(Input {
                weights: state("first-weights")?,
                momentum: state("first-momentum")?,
                tokens,
                finish,
            });
        }
        Ok(Self { gpu, steps, weights, momentum, metrics, inputs, step, gram, computations })
    }

    /// Uploads the inputs of a round, and waits for the copies.
    pub(super) fn load(&self, pool: &[Experts]) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("load");
        for (input, experts) in self.inputs.iter().zip(pool) {
            commands.upload(&input.weights, &experts.weights);
            commands.upload(&input.momentum, &experts.momentum);
            commands.upload(&input.tokens, &experts.tokens);
        }
        commands.submit()?;
        self.gpu.fence()
    }

    /// Returns the commands of one step. They are a separate submit in every variant, since a training loop launches
    /// its kernels step by step.
    pub(super) fn step(&self, step: u64, input: usize) -> Commands {
        let mut commands = self.gpu.commands("step");
        if step == 0 {
            let input = &self.inputs[input];
            commands.copy(&input.weights, &self.weights).copy(&input.momentum, &self.momentum);
        }
        commands.dispatch(&self.step, self.step.groups(WEIGHTS));
        commands
    }

    /// Adds the computation of the metrics: partial sums, then the rest in one workgroup.
    pub(super) fn compute(&self, commands: &mut Commands, input: usize) {
        self.computations.add(1);
        commands
            .dispatch(&self.gram, [(LENGTH / COLUMNS) as u32, 1, 1])
            .dispatch(&self.inputs[input].finish, [1, 1, 1]);
    }

    /// Returns the metrics that were computed last.
    pub(super) fn metrics(&self) -> &Buffer {
        &self.metrics
    }

    /// Returns one of them.
    pub(super) fn metric(&self, at: u64) -> Slice<'_> {
        self.metrics.range::<f32>(at..at + 1)
    }

    /// Returns one number of the state of an expert.
    pub(super) fn state(&self, expert: u64) -> Slice<'_> {
        let at = expert * LENGTH as u64;
        self.weights.range::<f32>(at..at + 1)
    }
}
