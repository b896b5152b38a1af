//! The best implementation that we know: a cache for the whole answer, written in place, and tokens that never leave the
//! device before the answer is complete.

use perfharness_gpu::{Buffer, GpuError, Readback, Staging};
use perfharness_layers::Ready;

use super::Params;
use super::placement::{Variant, last_row};
use crate::network::{Network, Span};

/// All kernels of an answer, in one submit.
pub(crate) struct Optimized {
    kernels: Vec<Ready>,
    staging: Staging,
    readback: Readback<u32>,
}

impl Variant for Optimized {
    fn new(network: &Network, params: &Params, logits: &Buffer) -> Result<Self, GpuError> {
        let positions = params.inputs() as u32;
        let caches = (0..params.model.layers).map(|_| network.cache(positions));
        let caches = caches.collect::<Result<Vec<_>, _>>()?;
        let argmax = network.gpu.pipeline("argmax", include_str!("../shaders/argmax.wgsl"), "main")?;
        let mut kernels = Vec::new();
        for step in 0..params.answer {
            // The first step takes the prompt, and each other the token that the step before it chose.
            let (first, count) = if step == 0 { (0, params.prompt) } else { (params.prompt + step - 1, 1) };
            let span = Span { sequences: 1, first: first as u32, count: count as u32 };
            kernels.extend(network.pass(span, &caches)?);
            kernels.extend(network.logits(last_row(count), logits, step as u32)?);
            let place = network.gpu.uniform("place", &((params.prompt + step) as u32))?;
            let row = params.model.vocabulary as u64;
            let row = logits.range::<f32>(step as u64 * row..(step as u64 + 1) * row);
            let buffers = [("place", (&place).into()), ("logits", row), ("tokens", (&network.tokens).into())];
            kernels.push(Ready::new(argmax.bind(buffers)?, [1, 1, 1]));
        }
        let staging = network.gpu.staging("prompt from the host", 4 * params.prompt as u64, 2)?;
        let readback = network.gpu.readback("answer", params.answer as u64)?;
        Ok(Self { kernels, staging, readback })
    }

    fn generate(&mut self, network: &Network, prompt: &[u32], answer: &mut [u32]) -> Result<(), GpuError> {
        let tokens = &network.tokens;
        let start = prompt.len() as u64;
        let mut commands = network.gpu.commands("answer");
        commands.upload_through(&mut self.staging, tokens.range::<u32>(0..start), prompt);
        Ready::record_all(&self.kernels, &mut commands);
        let all = tokens.range::<u32>(start..start + answer.len() as u64);
        commands.download(all, &mut self.readback).submit()?;
        self.readback.wait_into(answer)
    }

    fn forwards(params: &Params) -> u64 {
        params.inputs() as u64
    }
}
