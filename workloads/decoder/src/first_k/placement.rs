//! Parts that all variants share: tokens, weights, the loss, and its check.

use perfharness_contract::{Check, Counter, Digest, Failure, Measured, Setup, Tolerance};
use perfharness_gpu::{Gpu, Staging};
use perfharness_layers::Ready;

use super::losses::Losses;
use super::tokens::{PAD, pool};
use super::variants::{Build, Step};
use super::{Params, TARGETS};
use crate::model::{Model, Weights};
use crate::network::Network;
use crate::{POOL, TOKEN_FORWARDS, reference};

/// The largest deviation seen is 1.1e-7, on a software adapter. WGSL allows `exp`, `log` and the square root many times
/// the error that they have there. Losses of different inputs are about 1 apart.
const TOLERANCE: Tolerance = Tolerance::Relative(5e-5);

/// A placement.
pub(crate) struct FirstK {
    network: Network,
    weights: Weights,
    params: Params,
    seed: u64,
    round: u64,
    pub(crate) pool: Vec<Vec<u32>>,
    staging: Staging,
    losses: Losses,
    steps: Vec<Step>,
    targets: Counter,
    forwards: Counter,
}

impl FirstK {
    pub(crate) fn new(params: &Params, setup: &Setup, build: Build) -> Result<Self, Failure> {
        let weights = Weights::new(params.model, params.positions(), setup.seed());
        let rows = params.sequences * params.inputs();
        let network = Network::new(&Gpu::open(setup)?, &weights, params.sequences, rows)?;
        let losses = Losses::new(&network, params)?;
        let steps = build(&network, &losses, params)?;
        Ok(Self {
            staging: network.gpu.staging("tokens from the host", network.tokens.bytes(), 2)?,
            network,
            weights,
            params: *params,
            seed: setup.seed(),
            round: 0,
            pool: Vec::new(),
            losses,
            steps,
            targets: setup.counter(TARGETS),
            forwards: setup.counter(TOKEN_FORWARDS),
        })
    }

    fn tokens(&self, index: u64) -> Result<&[u32], Failure> {
        let tokens = self.pool.get((index % POOL) as usize);
        tokens.map(Vec::as_slice).ok_or_else(|| Failure::Failed("no round is loaded".into()))
    }

    /// Sequences whose losses are computed again: all of a small model, and one of a large model, which changes.
    fn checked(&self, index: u64) -> Vec<usize> {
        let all = 0..self.params.sequences;
        if self.params.model.width > Model::SMALL.width {
            let at = (self.round + index) as usize % all.len();
            return vec![at];
        }
        all.collect()
    }
}

impl Measured for FirstK {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.round = round;
        self.pool = pool(&self.params, self.seed, round);
        Ok(self.network.gpu.fence()?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let Some(tokens) = self.pool.get((index % POOL) as usize) else {
            return Err(Failure::Failed("no round is loaded".into()));
        };
        let mut commands = self.network.gpu.commands("forward");
        commands.upload_through(&mut self.staging, &self.network.tokens, tokens);
        for step in &self.steps {
            Ready::record_all(&step.kernels, &mut commands);
            commands.submit()?;
            self.forwards.add(step.positions);
        }
        self.targets.add(self.params.targets());
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.network.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let Params { prompt, answer, model, .. } = self.params;
        let (positions, inputs) = (self.params.positions(), self.params.inputs());
        let gpu = &self.network.gpu;
        let mut losses: Vec<f64> = gpu.read::<f32>(&self.losses.each)?.into_iter().map(f64::from).collect();
        let tokens = self.tokens(index)?;
        let targets = |sequence: usize| &tokens[sequence * positions + prompt..][..answer];
        let mut due = losses.clone();
        for sequence in self.checked(index) {
            let inputs = &tokens[sequence * positions..][..inputs];
            let logits = reference::logits(&self.weights, inputs, prompt - 1..inputs.len());
            let rows = logits.chunks_exact(model.vocabulary).zip(targets(sequence));
            for (at, (logits, target)) in rows.enumerate() {
                due[sequence * answer + at] =
                    if *target == PAD { 0.0 } else { reference::loss(logits, *target) };
            }
        }
        let count = (0..self.params.sequences).flat_map(targets).filter(|target| **target != PAD).count();
        let mean = due.iter().sum::<f64>() / count.max(1) as f64;
        due.extend([mean, count as f64]);
        losses.extend(gpu.read::<f32>(&self.losses.mean_and_count)?.into_iter().map(f64::from));
        let input = Digest::of_f64(tokens.iter().map(|token| f64::from(*token)));
        Ok(Check::compare(&due, &losses, TOLERANCE).with_input(input))
    }
}
