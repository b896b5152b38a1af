//! The experts on the device.

use std::ops::Range;

use perfharness_gpu::{Buffer, Commands, Gpu, GpuError, Pipeline, Slice};
use perfharness_layers::{Extras, Product, ProductForm, ProductShape, Ready, Tile};

use super::Params;
use super::experts::{Batch, WIDTH, Weights, scale};
use super::held::{Held, Hold};
use crate::POOL;

/// Most bytes of a buffer of logits: what every adapter can bind.
const BINDING: usize = 64 << 20;

/// A rotated input.
#[derive(Debug)]
pub(super) struct Rotated {
    pub(super) buffer: Buffer,
    _hold: Hold,
}

/// Logits of some of the rows of an expert.
#[derive(Debug)]
pub(super) struct Logits {
    pub(super) rows: Range<u64>,
    pub(super) buffer: Buffer,
}

#[derive(Debug)]
struct OnDevice {
    rotation: Buffer,
    layer: Buffer,
}

/// Weights, inputs, kernels and results.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) gpu: Gpu,
    pub(super) params: Params,
    /// `[experts][rows]`.
    pub(super) losses: Buffer,
    x: Buffer,
    /// Output of the layer of the current expert.
    pub(super) output: Buffer,
    experts: Vec<OnDevice>,
    head: Option<Buffer>,
    biases: Vec<Vec<Buffer>>,
    targets: Vec<Buffer>,
    rotate: Product,
    multiply: Product,
    mean_square: Pipeline,
    cross_entropy: Pipeline,
    held: Held,
}

impl Network {
    pub(super) fn new(gpu: Gpu, params: &Params, weights: &Weights, held: Held) -> Result<Self, GpuError> {
        let rows = params.rows as u64;
        let values = |label, count| gpu.buffer_for::<f32>(label, count);
        let experts = weights.experts.iter().map(|expert| {
            let rotation = gpu.upload("rotation", &expert.rotation)?;
            Ok(OnDevice { rotation, layer: gpu.upload("layer", &expert.layer)? })
        });
        let biases = (0..POOL).map(|_| {
            (0..params.experts).map(|_| values("shift", WIDTH as u64)).collect::<Result<Vec<_>, _>>()
        });
        let form = |transposed, bias| ProductForm {
            tile: Tile::High,
            transposed,
            extras: Extras { bias, ..Extras::default() },
        };
        let head = (params.vocabulary > 0).then(|| gpu.upload("head", &weights.head)).transpose()?;
        Ok(Self {
            params: params.clone(),
            losses: values("losses", rows * params.experts as u64)?,
            x: values("batch", rows * WIDTH as u64)?,
            output: values("output", rows * WIDTH as u64)?,
            experts: experts.collect::<Result<_, GpuError>>()?,
            head,
            biases: biases.collect::<Result<_, _>>()?,
            targets: (0..POOL).map(|_| gpu.buffer_for::<u32>("targets", rows)).collect::<Result<_, _>>()?,
            rotate: Product::new(&gpu, form(true, true))?,
            multiply: Product::new(&gpu, form(false, false))?,
            mean_square: gpu.pipeline(
                "mean-square",
                &row_kernel(include_str!("shaders/mean_square.wgsl")),
                "main",
            )?,
            cross_entropy: gpu.pipeline(
                "cross-entropy",
                &row_kernel(include_str!("shaders/cross_entropy.wgsl")),
                "main",
            )?,
            held,
            gpu,
        })
    }

    /// Uploads the inputs of a round, and waits for the copies.
    pub(super) fn load(&self, batch: &Batch) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("load");
        commands.upload(&self.x, &batch.x);
        for (input, biases) in self.biases.iter().enumerate() {
            commands.upload(&self.targets[input], &batch.targets[input]);
            for (expert, buffer) in biases.iter().enumerate() {
                commands.upload(buffer, batch.bias(input, expert));
            }
        }
        commands.submit()?;
        self.gpu.fence()
    }

    fn rows(&self) -> u64 {
        self.params.rows as u64
    }

    /// Creates a buffer for one rotated input.
    pub(super) fn rotated(&self) -> Result<Rotated, GpuError> {
        let buffer = self.gpu.buffer_for::<f32>("rotated", self.rows() * WIDTH as u64)?;
        Ok(Rotated { _hold: self.held.hold(buffer.bytes()), buffer })
    }

    /// Creates a buffer for the output of a layer.
    pub(super) fn activations(&self) -> Result<Buffer, GpuError> {
        self.gpu.buffer_for::<f32>("activations", self.rows() * WIDTH as u64)
    }

    /// Prepares the rotation for an expert.
    pub(super) fn rotation(&self, input: usize, expert: usize, to: &Rotated) -> Result<Ready, GpuError> {
        let width = WIDTH as u32;
        let shape =
            ProductShape { scale: scale(expert), ..ProductShape::plain(self.rows() as u32, width, width) };
        let (weights, bias) = (&self.experts[expert].rotation, &self.biases[input][expert]);
        self.rotate.bind(&shape, [("x", &self.x), ("weights", weights), ("bias", bias), ("y", &to.buffer)])
    }

    /// Prepares the layer of an expert.
    pub(super) fn layer(&self, expert: usize, from: &Rotated, to: &Buffer) -> Result<Ready, GpuError> {
        let shape = ProductShape::plain(self.rows() as u32, WIDTH as u32, WIDTH as u32);
        let weights = &self.experts[expert].layer;
        self.multiply.bind(&shape, [("x", &from.buffer), ("weights", weights), ("y", to)])
    }

    /// Returns the rows whose logits are computed together, if they may take `bytes`: whole blocks of 64 rows.
    pub(super) fn parts(&self, bytes: usize) -> impl Iterator<Item = Range<u64>> + use<> {
        let row = self.params.vocabulary.max(1) * size_of::<f32>();
        let (all, most) = (self.rows(), (bytes.min(BINDING) / row / 64 * 64).max(64) as u64);
        (0..all).step_by(most as usize).map(move |first| first..all.min(first + most))
    }

    /// Creates a buffer for the logits of some rows.
    pub(super) fn logits(&self, rows: Range<u64>) -> Result<Logits, GpuError> {
        let count = (rows.end - rows.start) * self.params.vocabulary as u64;
        Ok(Logits { buffer: self.gpu.buffer_for::<f32>("logits", count)?, rows })
    }

    /// Prepares the head for some rows of the current output.
    pub(super) fn head(&self, logits: &Logits) -> Result<Option<Ready>, GpuError> {
        let Some(head) = &self.head else { return Ok(None) };
        let (width, rows) = (WIDTH as u64, &logits.rows);
        let shape =
            ProductShape::plain((rows.end - rows.start) as u32, WIDTH as u32, self.params.vocabulary as u32);
        let x = self.output.range::<f32>(rows.start * width..rows.end * width);
        let y = self.part(logits);
        self.multiply.bind(&shape, [("x", x), ("weights", Slice::from(head)), ("y", y)]).map(Some)
    }

    fn part<'a>(&self, logits: &'a Logits) -> Slice<'a> {
        logits.buffer.range::<f32>(0..(logits.rows.end - logits.rows.start) * self.params.vocabulary as u64)
    }

    /// Records the losses of some rows from their logits: one dispatch.
    pub(super) fn cross_entropy(
        &self,
        commands: &mut Commands,
        (input, expert): (usize, usize),
        logits: &Logits,
    ) -> Result<(), GpuError> {
        let rows = &logits.rows;
        let bound = self.cross_entropy.bind([
            ("values", self.part(logits)),
            ("targets", self.targets[input].range::<u32>(rows.clone())),
            ("losses", self.losses_of(expert, rows)),
        ])?;
        commands.dispatch(&bound, [(rows.end - rows.start) as u32, 1, 1]);
        Ok(())
    }

    /// Records the losses of all rows from an output: one dispatch.
    pub(super) fn mean_square(
        &self,
        commands: &mut Commands,
        expert: usize,
        output: &Buffer,
    ) -> Result<(), GpuError> {
        let losses = self.losses_of(expert, &(0..self.rows()));
        let bound = self.mean_square.bind([("values", Slice::from(output)), ("losses", losses)])?;
        commands.dispatch(&bound, [self.rows() as u32, 1, 1]);
        Ok(())
    }

    fn losses_of(&self, expert: usize, rows: &Range<u64>) -> Slice<'_> {
        let first = expert as u64 * self.rows();
        self.losses.range::<f32>(first + rows.start..first + rows.end)
    }
}

/// Returns the source of a kernel with one workgroup for each row.
fn row_kernel(source: &str) -> String {
    [include_str!("shaders/row.wgsl"), source].concat()
}
