//! The document's "after": keys and values are reused. Each step appends to them as frameworks concatenate: a new
//! buffer, and a copy of everything.

use perfharness_gpu::{Buffer, Commands, GpuError};
use perfharness_layers::{Heads, Ready};

use super::Params;
use super::host_choice::HostChoice;
use super::placement::{Variant, last_row};
use crate::network::{Network, Span};

/// Parts of the steps after the first one.
pub(crate) struct Documented {
    prompt: Vec<Ready>,
    /// Keys and values of the prompt, for each layer. They start a cache, which grows from there in new buffers.
    prompt_caches: Vec<Buffer>,
    /// Keys and values of the new token.
    fresh: Buffer,
    before: Vec<[Ready; 3]>,
    after: Vec<[Ready; 4]>,
    /// For each step after the first one: its embedding, the shape of its attention, and its logits.
    steps: Vec<(Ready, Heads, Buffer, [Ready; 2])>,
    choice: HostChoice,
}

impl Variant for Documented {
    fn new(network: &Network, params: &Params, logits: &Buffer) -> Result<Self, GpuError> {
        let (layers, count) = (params.model.layers, params.prompt as u32);
        let prompt_caches = (0..layers).map(|_| network.cache(count)).collect::<Result<Vec<_>, _>>()?;
        let mut prompt = network.pass(Span { sequences: 1, first: 0, count }, &prompt_caches)?;
        prompt.extend(network.logits(last_row(params.prompt), logits, 0)?);
        let fresh = network.cache(1)?;
        let one = |first: u32| Span { sequences: 1, first, count: 1 };
        let before = (0..layers).map(|layer| network.before(layer, one(0), &fresh, 0));
        let after = (0..layers).map(|layer| network.after(layer, one(0)));
        let step = |step: u32| {
            let span = one(count + step - 1);
            let heads = span.heads(params.model);
            let shape = network.attention.shape(&heads)?;
            Ok((network.embed(span)?, heads, shape, network.logits(last_row(1), logits, step)?))
        };
        Ok(Self {
            prompt,
            before: before.collect::<Result<_, GpuError>>()?,
            after: after.collect::<Result<_, GpuError>>()?,
            steps: (1..params.answer as u32).map(step).collect::<Result<_, GpuError>>()?,
            prompt_caches,
            fresh,
            choice: HostChoice::new(network, params, logits)?,
        })
    }

    fn generate(&mut self, network: &Network, prompt: &[u32], answer: &mut [u32]) -> Result<(), GpuError> {
        let mut commands = network.gpu.commands("prompt");
        self.choice.give_input(&mut commands, network, 0, (prompt, answer));
        Ready::record_all(&self.prompt, &mut commands);
        answer[0] = self.choice.choose(&mut commands, 0)?;
        let mut caches = self.prompt_caches.clone();
        for step in 1..answer.len() {
            let mut commands = network.gpu.commands("token");
            self.choice.give_input(&mut commands, network, step, (prompt, answer));
            self.step(&mut commands, network, step, &mut caches)?;
            answer[step] = self.choice.choose(&mut commands, step)?;
        }
        Ok(())
    }

    fn forwards(params: &Params) -> u64 {
        params.inputs() as u64
    }
}

impl Documented {
    /// Records a step, and replaces the cache of each layer.
    fn step(
        &self,
        commands: &mut Commands,
        network: &Network,
        step: usize,
        caches: &mut [Buffer],
    ) -> Result<(), GpuError> {
        let (embed, heads, shape, logits) = &self.steps[step - 1];
        embed.record(commands);
        for ((before, after), cache) in self.before.iter().zip(&self.after).zip(caches) {
            Ready::record_all(before, commands);
            *cache = self.append(commands, network, cache, heads.keys)?;
            let buffers = [
                ("queries", &network.queries),
                ("keys", &*cache),
                ("values", &*cache),
                ("y", &network.mixed),
            ];
            network.attention.bind_shaped(heads, shape, buffers)?.record(commands);
            Ready::record_all(after, commands);
        }
        Ready::record_all(logits, commands);
        Ok(())
    }

    /// Returns a new buffer of `positions` positions with the old cache and the keys and values of the new token.
    fn append(
        &self,
        commands: &mut Commands,
        network: &Network,
        cache: &Buffer,
        positions: u32,
    ) -> Result<Buffer, GpuError> {
        let longer = network.cache(positions)?;
        let (old, all) = (cache.count::<f32>(), longer.count::<f32>());
        commands.copy(cache, longer.range::<f32>(0..old));
        commands.copy(&self.fresh, longer.range::<f32>(old..all));
        Ok(longer)
    }
}
