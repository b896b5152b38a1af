//! The encoder on the device.

use std::borrow::Cow;
use std::ops::Range;

use half::f16;
use perfharness_contract::Counter;
use perfharness_gpu::{Bound, Buffer, Commands, Gpu, GpuError, Pipeline, Staging, wgpu};

use crate::dims::{COLORS, FEATURES, HIDDEN, PATCH, WIDTH, tokens};
use crate::masks::pass_key;
use crate::weights::Weights;

/// Work counter: images sent through the encoder.
pub(crate) const FORWARDS: &str = "forwards";

/// Form in which pixels, weights and tokens are stored. All sums are in float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    Single,
    Half,
}

impl Storage {
    pub(crate) fn value_bytes(self) -> u64 {
        match self {
            Self::Single => 4,
            Self::Half => 2,
        }
    }

    fn prelude(self) -> &'static str {
        match self {
            Self::Single => "alias real = f32; alias real4 = vec4f;\n",
            Self::Half => "enable f16; alias real = f16; alias real4 = vec4<f16>;\n",
        }
    }

    /// Values in this form.
    pub(crate) fn bytes(self, values: &[f32]) -> Cow<'_, [u8]> {
        match self {
            Self::Single => Cow::Borrowed(bytemuck::cast_slice(values)),
            Self::Half => {
                let halves: Vec<f16> = values.iter().map(|v| f16::from_f32(*v)).collect();
                Cow::Owned(bytemuck::pod_collect_to_vec(&halves))
            }
        }
    }

    /// Records an upload of values in this form, to the start of a buffer.
    pub(crate) fn upload_through(
        self,
        commands: &mut Commands,
        staging: &mut Staging,
        to: &Buffer,
        values: &[f32],
    ) {
        let bytes = self.bytes(values);
        commands.upload_through(staging, to.range::<u8>(0..bytes.len() as u64), &bytes);
    }
}

/// Where the features go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Those of the batch at hand, by themselves.
    Features,
    /// Mean and deviation of all images, summed up on the device.
    Moments,
}

/// What an encoder is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) images: usize,
    /// Most images in a batch.
    pub(crate) batch: usize,
    /// Edge of an image in pixels.
    pub(crate) size: usize,
    /// Passes of a trial.
    pub(crate) passes: u64,
    pub(crate) storage: Storage,
    pub(crate) sink: Sink,
    /// One kernel in place of four.
    pub(crate) fused: bool,
}

/// Pipelines, weights and what the kernels hand to each other.
pub(crate) struct Encoder {
    gpu: Gpu,
    form: Form,
    kernels: Vec<Kernel>,
    buffers: Vec<(&'static str, Buffer)>,
    /// Number of the pass at hand and the keys of all.
    passes: Buffer,
    keys: Staging,
    advance: Bound,
    /// Features of a batch, or moments of all images.
    pub(crate) output: Buffer,
    forwards: Counter,
}

struct Kernel {
    pipeline: Pipeline,
    uses: &'static [&'static str],
    groups: fn(&Form, u32) -> [u32; 3],
}

/// Some images, bound to the encoder.
pub(crate) struct Batch {
    kernels: Vec<(Bound, [u32; 3])>,
    images: u64,
}

const COMMON: &str = include_str!("shaders/common.wgsl");
const EMBEDDING: &str = include_str!("shaders/embedding.wgsl");
const MIX_TOKEN: &str = include_str!("shaders/mix_token.wgsl");
const PASS_TOKEN: &str = include_str!("shaders/pass_token.wgsl");
const PROJECT: &str = include_str!("shaders/project.wgsl");

/// Threads of a group.
const GROUP: u32 = 64;

fn for_each_token(form: &Form, images: u32) -> [u32; 3] {
    [(images * tokens(form.size) as u32).div_ceil(GROUP), 1, 1]
}

fn for_two_tokens(form: &Form, images: u32) -> [u32; 3] {
    [(images * tokens(form.size) as u32).div_ceil(2 * GROUP), 1, 1]
}

fn for_each_image(_: &Form, images: u32) -> [u32; 3] {
    [images, 1, 1]
}

impl Encoder {
    /// Makes the encoder and uploads its weights.
    ///
    /// # Errors
    /// [`GpuError::Lacks`] where the device has not what the form takes.
    pub(crate) fn new(gpu: &Gpu, form: Form, weights: &Weights, forwards: Counter) -> Result<Self, GpuError> {
        if form.storage == Storage::Half {
            gpu.require(wgpu::Features::SHADER_F16)?;
        }
        let perceptron: Vec<f32> = weights
            .inner
            .chunks_exact(WIDTH)
            .zip(weights.outer.chunks_exact(WIDTH))
            .flat_map(|(inner, outer)| inner.iter().chain(outer).copied())
            .collect();
        let upload = |label: &'static str, values: &[f32]| {
            Ok::<_, GpuError>((label, gpu.upload(label, &form.storage.bytes(values))?))
        };
        let (sink, label, values) = match form.sink {
            Sink::Features => {
                (include_str!("shaders/store_features.wgsl"), "features", form.batch * FEATURES)
            }
            Sink::Moments => {
                (include_str!("shaders/store_moments.wgsl"), "moments", form.images * 2 * FEATURES)
            }
        };
        let output = gpu.buffer_for::<f32>(label, values as u64)?;
        let passes = gpu.buffer_for::<u32>("passes", 1 + form.passes)?;
        let mut buffers = vec![
            upload("embedding", &weights.embedding)?,
            upload("mixing", &weights.mixing)?,
            upload("perceptron", &perceptron)?,
            upload("projection", &weights.projection)?,
            ("output", output.clone()),
            ("passes", passes.clone()),
        ];
        if !form.fused {
            let bytes = (form.batch * tokens(form.size) * WIDTH) as u64 * form.storage.value_bytes();
            buffers.push(("x", gpu.buffer("x", bytes)?));
            buffers.push(("y", gpu.buffer("y", bytes)?));
        }
        let kernels = kernels(gpu, &form, sink)?;
        let advance = gpu.pipeline("advance", include_str!("shaders/advance.wgsl"), "main")?;
        Ok(Self {
            gpu: gpu.clone(),
            form,
            kernels,
            buffers,
            keys: gpu.staging("keys of the passes", passes.bytes(), 2)?,
            advance: advance.bind([("passes", &passes)])?,
            passes,
            output,
            forwards,
        })
    }

    /// Binds the images at these places of the order, whose pixels are at the start of `pixels`.
    ///
    /// # Errors
    /// When they do not fit.
    pub(crate) fn bind(&self, pixels: &Buffer, images: &Range<usize>) -> Result<Batch, GpuError> {
        let count = images.len() as u32;
        let batch = self.gpu.uniform("batch", &[images.start as u32, count])?;
        let kernels = self.kernels.iter().map(|kernel| {
            let buffer = |name: &&'static str| match *name {
                "batch" => Some((*name, &batch)),
                "pixels" => Some((*name, pixels)),
                _ => self.buffers.iter().find(|(known, _)| known == name).map(|(_, buffer)| (*name, buffer)),
            };
            let bound = kernel.pipeline.bind(kernel.uses.iter().filter_map(buffer))?;
            Ok((bound, (kernel.groups)(&self.form, count)))
        });
        Ok(Batch { kernels: kernels.collect::<Result<_, GpuError>>()?, images: u64::from(count) })
    }

    /// Records the start of a trial: its first pass is at hand.
    pub(crate) fn start_trial(&mut self, commands: &mut Commands, iteration_key: u32, trial: u64) {
        let keys = (0..self.form.passes).map(|pass| pass_key(iteration_key, trial, pass));
        let passes: Vec<u32> = std::iter::once(0).chain(keys).collect();
        commands.upload_through(&mut self.keys, &self.passes, &passes);
    }

    /// Records a forward pass of a batch.
    pub(crate) fn forward(&self, commands: &mut Commands, batch: &Batch) {
        for (kernel, groups) in &batch.kernels {
            commands.dispatch(kernel, *groups);
        }
        self.forwards.add(batch.images);
    }

    /// Records the end of a pass: the next one is at hand.
    pub(crate) fn end_pass(&self, commands: &mut Commands) {
        commands.dispatch(&self.advance, [1, 1, 1]);
    }
}

fn kernels(gpu: &Gpu, form: &Form, sink: &str) -> Result<Vec<Kernel>, GpuError> {
    let constants = format!(
        "const SIZE = {}u;\nconst TOKENS = {}u;\nconst PATCH = {PATCH}u;\nconst COLORS = {COLORS}u;\n\
         const WIDTH = {WIDTH}u;\nconst HIDDEN = {HIDDEN}u;\nconst FEATURES = {FEATURES}u;\n",
        form.size,
        tokens(form.size),
    );
    let kernel = |label, parts: &[&str], uses, groups| -> Result<Kernel, GpuError> {
        let source = [&[form.storage.prelude(), &constants, COMMON], parts].concat().concat();
        Ok(Kernel { pipeline: gpu.pipeline(label, &source, "main")?, uses, groups })
    };
    if form.fused {
        let parts = [EMBEDDING, MIX_TOKEN, PASS_TOKEN, PROJECT, sink, include_str!("shaders/fused.wgsl")];
        let uses =
            &["batch", "passes", "pixels", "embedding", "mixing", "perceptron", "projection", "output"];
        return Ok(vec![kernel("fused", &parts, uses, for_each_image)?]);
    }
    Ok(vec![
        kernel(
            "embed",
            &[EMBEDDING, include_str!("shaders/embed.wgsl")],
            &["batch", "pixels", "embedding", "x"],
            for_two_tokens,
        )?,
        kernel(
            "mix",
            &[MIX_TOKEN, include_str!("shaders/mix.wgsl")],
            &["batch", "passes", "mixing", "x", "y"],
            for_each_image,
        )?,
        kernel(
            "perceptron",
            &[PASS_TOKEN, include_str!("shaders/perceptron.wgsl")],
            &["batch", "passes", "perceptron", "y"],
            for_each_token,
        )?,
        kernel(
            "head",
            &[PROJECT, sink, include_str!("shaders/head.wgsl")],
            &["batch", "passes", "y", "projection", "output"],
            for_each_image,
        )?,
    ])
}
