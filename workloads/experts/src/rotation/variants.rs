//! The variants. One that makes buffers in an iteration also binds them there, which takes a uniform buffer of sizes
//! for each product.

use perfharness_gpu::{Buffer, Commands, GpuError, Pipeline};
use perfharness_layers::Ready;

use super::Variant;
use super::experts::WIDTH;
use super::network::{Logits, Network, Rotated};

/// Computes an expert's output from its rotated input, and its logits if there is a head. They are kept.
fn forward(
    network: &Network,
    commands: &mut Commands,
    expert: usize,
    rotated: &Rotated,
) -> Result<Vec<Logits>, GpuError> {
    network.layer(expert, rotated, &network.output)?.record(commands);
    if network.params.vocabulary == 0 {
        network.mean_square(commands, expert, &network.output)?;
        return Ok(Vec::new());
    }
    network
        .parts(usize::MAX)
        .map(|rows| {
            let logits = network.logits(rows)?;
            if let Some(head) = network.head(&logits)? {
                head.record(commands);
            }
            Ok(logits)
        })
        .collect()
}

/// Computes the losses of all experts from their logits, in one submit, if there are any.
fn losses(network: &Network, input: usize, logits: &[Vec<Logits>]) -> Result<(), GpuError> {
    if network.params.vocabulary == 0 {
        return Ok(());
    }
    let mut commands = network.gpu.commands("losses");
    for (expert, parts) in logits.iter().enumerate() {
        for logits in parts {
            network.cross_entropy(&mut commands, (input, expert), logits)?;
        }
    }
    commands.submit()?;
    Ok(())
}

/// The document's "before": all rotated inputs, then all experts, then all losses.
#[derive(Debug)]
pub(super) struct AllFirst;

impl Variant for AllFirst {
    fn new(_network: &Network) -> Result<Self, GpuError> {
        Ok(Self)
    }

    fn run(&mut self, network: &Network, input: usize) -> Result<(), GpuError> {
        let mut commands = network.gpu.commands("rotate");
        let rotated = (0..network.params.experts).map(|expert| {
            let rotated = network.rotated()?;
            network.rotation(input, expert, &rotated)?.record(&mut commands);
            Ok(rotated)
        });
        let rotated = rotated.collect::<Result<Vec<_>, GpuError>>()?;
        commands.submit()?;
        let mut logits = Vec::new();
        for (expert, rotated) in rotated.iter().enumerate() {
            logits.push(forward(network, &mut commands, expert, rotated)?);
            commands.submit()?;
        }
        losses(network, input, &logits)
    }
}

/// The document's "after": a generator of rotated inputs. Each is gone before the next is made.
#[derive(Debug)]
pub(super) struct InTurn;

impl Variant for InTurn {
    fn new(_network: &Network) -> Result<Self, GpuError> {
        Ok(Self)
    }

    fn run(&mut self, network: &Network, input: usize) -> Result<(), GpuError> {
        let mut logits = Vec::new();
        for expert in 0..network.params.experts {
            let mut commands = network.gpu.commands("expert");
            let rotated = network.rotated()?;
            network.rotation(input, expert, &rotated)?.record(&mut commands);
            logits.push(forward(network, &mut commands, expert, &rotated)?);
            commands.submit()?;
        }
        losses(network, input, &logits)
    }
}

/// The document's generator in a training step: one backward pass after all experts. The gradient of a layer needs its
/// input, so each rotated input lives until then, as in a framework that keeps what a backward pass needs.
#[derive(Debug)]
pub(super) struct Joint {
    gradient: Pipeline,
    /// Gradient by the weights of each expert's layer.
    pub(super) gradients: Vec<Buffer>,
}

impl Variant for Joint {
    fn new(network: &Network) -> Result<Self, GpuError> {
        let gpu = &network.gpu;
        let gradients =
            (0..network.params.experts).map(|_| gpu.buffer_for::<f32>("gradient", (WIDTH * WIDTH) as u64));
        let gradient = gpu.pipeline("gradient", include_str!("shaders/gradient.wgsl"), "main")?;
        Ok(Self { gradient, gradients: gradients.collect::<Result<_, _>>()? })
    }

    fn run(&mut self, network: &Network, input: usize) -> Result<(), GpuError> {
        let mut kept = Vec::new();
        for expert in 0..network.params.experts {
            let mut commands = network.gpu.commands("expert");
            let (rotated, output) = (network.rotated()?, network.activations()?);
            network.rotation(input, expert, &rotated)?.record(&mut commands);
            network.layer(expert, &rotated, &output)?.record(&mut commands);
            network.mean_square(&mut commands, expert, &output)?;
            commands.submit()?;
            kept.push((rotated, output));
        }
        let mut commands = network.gpu.commands("backward");
        for ((rotated, output), gradient) in kept.iter().zip(&self.gradients) {
            let buffers = [("inputs", &rotated.buffer), ("outputs", output), ("gradient", gradient)];
            commands.dispatch(&self.gradient.bind(buffers)?, [WIDTH as u32 / 64, WIDTH as u32 / 4, 1]);
        }
        commands.submit()?;
        Ok(())
    }
}

/// The best implementation that we know: one buffer for rotated inputs and one for logits, both kept and bound once,
/// and each loss as soon as its logits are there. An iteration makes no buffer and is one submit.
#[derive(Debug)]
pub(super) struct Reused {
    _rotated: Rotated,
    /// For each input the rotation of each expert.
    rotations: Vec<Vec<Ready>>,
    layers: Vec<Ready>,
    heads: Vec<(Logits, Ready)>,
}

impl Variant for Reused {
    fn new(network: &Network) -> Result<Self, GpuError> {
        let experts = network.params.experts;
        let rotated = network.rotated()?;
        let rotations = (0..crate::POOL)
            .map(|input| (0..experts).map(|expert| network.rotation(input, expert, &rotated)).collect());
        let layers = (0..experts).map(|expert| network.layer(expert, &rotated, &network.output));
        let mut heads = Vec::new();
        let mut shared: Option<Buffer> = None;
        for rows in network.parts(network.params.logit_bytes) {
            // The first part is the longest.
            let logits = match &shared {
                Some(buffer) => Logits { rows, buffer: buffer.clone() },
                None if network.params.vocabulary == 0 => break,
                None => network.logits(rows)?,
            };
            shared = Some(logits.buffer.clone());
            heads.extend(network.head(&logits)?.map(|ready| (logits, ready)));
        }
        Ok(Self {
            rotations: rotations.collect::<Result<_, _>>()?,
            layers: layers.collect::<Result<_, _>>()?,
            heads,
            _rotated: rotated,
        })
    }

    fn run(&mut self, network: &Network, input: usize) -> Result<(), GpuError> {
        let mut commands = network.gpu.commands("experts");
        for (expert, (rotation, layer)) in self.rotations[input].iter().zip(&self.layers).enumerate() {
            rotation.record(&mut commands);
            layer.record(&mut commands);
            if self.heads.is_empty() {
                network.mean_square(&mut commands, expert, &network.output)?;
            }
            for (logits, head) in &self.heads {
                head.record(&mut commands);
                network.cross_entropy(&mut commands, (input, expert), logits)?;
            }
        }
        commands.submit()?;
        Ok(())
    }
}
