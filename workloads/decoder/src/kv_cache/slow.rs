//! The document's "before": the whole sequence goes through the decoder for every token.

use perfharness_gpu::{Buffer, GpuError};
use perfharness_layers::Ready;

use super::Params;
use super::host_choice::HostChoice;
use super::placement::{Variant, last_row};
use crate::network::{Network, Span};

/// Keeps its buffers, but nothing that is in them.
pub(crate) struct Slow {
    /// Kernels of each step.
    steps: Vec<Vec<Ready>>,
    choice: HostChoice,
}

impl Variant for Slow {
    fn new(network: &Network, params: &Params, logits: &Buffer) -> Result<Self, GpuError> {
        let positions = params.inputs() as u32;
        let caches = (0..params.model.layers).map(|_| network.cache(positions));
        let caches = caches.collect::<Result<Vec<_>, _>>()?;
        let step = |step: usize| {
            let count = params.prompt + step;
            let mut kernels = network.pass(Span { sequences: 1, first: 0, count: count as u32 }, &caches)?;
            kernels.extend(network.logits(last_row(count), logits, step as u32)?);
            Ok(kernels)
        };
        let steps = (0..params.answer).map(step).collect::<Result<_, GpuError>>()?;
        Ok(Self { steps, choice: HostChoice::new(network, params, logits)? })
    }

    fn generate(&mut self, network: &Network, prompt: &[u32], answer: &mut [u32]) -> Result<(), GpuError> {
        for (step, kernels) in self.steps.iter().enumerate() {
            let mut commands = network.gpu.commands("token");
            self.choice.give_input(&mut commands, network, step, (prompt, answer));
            Ready::record_all(kernels, &mut commands);
            answer[step] = self.choice.choose(&mut commands, step)?;
        }
        Ok(())
    }

    fn forwards(params: &Params) -> u64 {
        (0..params.answer).map(|step| (params.prompt + step) as u64).sum()
    }
}
