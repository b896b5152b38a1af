//! The choice of a token on the host, as in a loop that samples: it reads the logits of each step.

use perfharness_gpu::{Buffer, Commands, GpuError, Readback, Staging};

use super::Params;
use crate::network::Network;

/// Reused buffers between host and device.
pub(crate) struct HostChoice {
    prompt: usize,
    vocabulary: u64,
    logits: Buffer,
    readback: Readback<f32>,
    row: Vec<f32>,
    staging: Staging,
}

impl HostChoice {
    pub(crate) fn new(network: &Network, params: &Params, logits: &Buffer) -> Result<Self, GpuError> {
        let vocabulary = params.model.vocabulary;
        Ok(Self {
            prompt: params.prompt,
            vocabulary: vocabulary as u64,
            logits: logits.clone(),
            readback: network.gpu.readback("logits of a token", vocabulary as u64)?,
            row: vec![0.0; vocabulary],
            staging: network.gpu.staging("tokens from the host", 4 * params.prompt as u64, 2)?,
        })
    }

    /// Records the upload of the tokens from `at` on.
    pub(crate) fn give(&mut self, commands: &mut Commands, network: &Network, at: usize, tokens: &[u32]) {
        let to = network.tokens.range::<u32>(at as u64..(at + tokens.len()) as u64);
        commands.upload_through(&mut self.staging, to, tokens);
    }

    /// Records the upload of the input of step `step`: the prompt, or the token that the step before it chose.
    pub(crate) fn give_input(
        &mut self,
        commands: &mut Commands,
        network: &Network,
        step: usize,
        (prompt, answer): (&[u32], &[u32]),
    ) {
        if step == 0 {
            self.give(commands, network, 0, prompt);
        } else {
            self.give(commands, network, self.prompt + step - 1, &answer[step - 1..step]);
        }
    }

    /// Submits a step, waits for its logits, and returns the most likely token.
    pub(crate) fn choose(&mut self, commands: &mut Commands, step: usize) -> Result<u32, GpuError> {
        let row = step as u64 * self.vocabulary..(step as u64 + 1) * self.vocabulary;
        commands.download(self.logits.range::<f32>(row), &mut self.readback).submit()?;
        self.readback.wait_into(&mut self.row)?;
        Ok(most_likely(&self.row))
    }
}

/// Returns the token with the largest logit; of equal ones the first.
fn most_likely(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (token, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = token;
        }
    }
    best as u32
}
