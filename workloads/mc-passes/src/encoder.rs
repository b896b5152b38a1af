//! The encoder on the device.

use std::ops::Range;
use std::time::Duration;

use perfharness_contract::Counter;
use perfharness_gpu::{Bound, Buffer, Commands, Gpu, GpuError, Staging, wgpu};
use perfharness_layers::Ready;
use perfharness_platform::clock;

use crate::dims::{FEATURES, WIDTH, tokens};
use crate::kernels::{Kernel, common, kernels};
use crate::masks::pass_key;
use crate::storage::Storage;
use crate::vit::{Size, Vit};
use crate::weights::Weights;

/// Work counter: images sent through the encoder.
pub(crate) const FORWARDS: &str = "forwards";

/// Target of the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// Features of the current batch, stored separately.
    Features,
    /// Mean and deviation of all images, accumulated on the device.
    Moments,
}

/// Properties that an encoder is built for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) images: usize,
    /// Largest number of images in a batch.
    pub(crate) batch: usize,
    /// Edge of an image in pixels.
    pub(crate) size: usize,
    /// Largest number of passes in a trial.
    pub(crate) passes: u64,
    pub(crate) storage: Storage,
    pub(crate) sink: Sink,
    pub(crate) kernels: Kernels,
    /// Size of a large encoder, in place of the small one.
    pub(crate) large: Option<Size>,
}

/// Division of a forward pass into kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernels {
    /// Four, each in every pass.
    Four,
    /// One in place of four.
    Fused,
    /// Four, the first of which runs once for all passes: it embeds the patches, before any dropout.
    PrefixOnce,
}

impl Form {
    /// Size of the tokens of some images in bytes.
    fn token_bytes(&self, images: usize) -> u64 {
        (images * tokens(self.size) * self.width()) as u64 * self.storage.value_bytes()
    }

    /// Values of a token.
    pub(crate) fn width(&self) -> usize {
        self.large.map_or(WIDTH, |large| large.width)
    }
}

/// Pipelines, weights and the buffers that the kernels share.
pub(crate) struct Encoder {
    gpu: Gpu,
    form: Form,
    kernels: Vec<Kernel>,
    /// Layers of a large encoder, before the kernels.
    vit: Option<Vit>,
    buffers: Vec<(&'static str, Buffer)>,
    /// Number of the current pass, followed by the keys of all passes.
    passes: Buffer,
    keys: Staging,
    advance: Bound,
    /// Features of a batch, or moments of all images.
    pub(crate) output: Buffer,
    forwards: Counter,
    /// Time that the creation of the pipelines took.
    pub(crate) compiling: Duration,
}

/// Images that are bound to the encoder.
pub(crate) struct Batch {
    /// Kernels whose results all passes share.
    prefix: Vec<Ready>,
    kernels: Vec<Ready>,
    images: u64,
}

impl Batch {
    /// Records the part of the forward passes that all of them share, which is nothing unless the form separates it.
    pub(crate) fn record_prefix(&self, commands: &mut Commands) {
        Ready::record_all(&self.prefix, commands);
    }
}

impl Encoder {
    /// Creates the encoder and uploads its weights.
    ///
    /// # Errors
    /// Returns [`GpuError::Lacks`] if the device does not support the form.
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
            upload("projection", &weights.projection)?,
            ("output", output.clone()),
            ("passes", passes.clone()),
        ];
        if form.large.is_none() {
            buffers.push(upload("embedding", &weights.embedding)?);
            buffers.push(upload("mixing", &weights.mixing)?);
            buffers.push(upload("perceptron", &perceptron)?);
        }
        if form.kernels != Kernels::Fused {
            buffers.push(("y", gpu.buffer("y", form.token_bytes(form.batch))?));
        }
        if form.kernels == Kernels::Four && form.large.is_none() {
            buffers.push(("x", gpu.buffer("x", form.token_bytes(form.batch))?));
        }
        let start = clock::now();
        let kernels = kernels(gpu, &form, sink)?;
        let vit = weights.layers.as_ref().map(|layers| {
            let sizes = [form.batch, tokens(form.size)];
            Vit::new(gpu, layers, &weights.embedding, sizes, &common(&form))
        });
        let vit = vit.transpose()?;
        let advance = gpu.pipeline("advance", include_str!("shaders/advance.wgsl"), "main")?;
        let compiling = start.elapsed();
        Ok(Self {
            gpu: gpu.clone(),
            form,
            kernels,
            vit,
            buffers,
            keys: gpu.staging("keys of the passes", passes.bytes(), 2)?,
            advance: advance.bind([("passes", &passes)])?,
            passes,
            output,
            forwards,
            compiling,
        })
    }

    fn buffer(&self, name: &str) -> Result<&Buffer, GpuError> {
        let found = self.buffers.iter().find(|(known, _)| *known == name);
        found.map(|(_, buffer)| buffer).ok_or_else(|| GpuError::Invalid(format!("no buffer `{name}`")))
    }

    /// Binds the images at these positions of the order, whose pixels are at the start of `pixels`.
    ///
    /// # Errors
    /// Returns an error if they do not fit.
    pub(crate) fn bind(&self, pixels: &Buffer, images: &Range<usize>) -> Result<Batch, GpuError> {
        let count = images.len() as u32;
        let batch = self.gpu.uniform("batch", &[images.start as u32, count])?;
        // Tokens that outlive a pass are kept for each batch.
        let own = match self.form.kernels {
            Kernels::PrefixOnce => Some(self.gpu.buffer("x", self.form.token_bytes(images.len()))?),
            Kernels::Four | Kernels::Fused => None,
        };
        let kernels = self.kernels.iter().map(|kernel| {
            let buffer = |name: &&'static str| match *name {
                "batch" => Some((*name, &batch)),
                "pixels" => Some((*name, pixels)),
                "x" if own.is_some() => own.as_ref().map(|own| (*name, own)),
                _ => self.buffers.iter().find(|(known, _)| known == name).map(|(_, buffer)| (*name, buffer)),
            };
            let bound = kernel.pipeline.bind(kernel.uses.iter().filter_map(buffer))?;
            Ok(Ready::new(bound, (kernel.groups)(&self.form, count)))
        });
        let mut prefix = match &self.vit {
            Some(vit) => vit.bind([&batch, &self.passes, pixels, self.buffer("y")?], count)?,
            None => Vec::new(),
        };
        prefix.extend(kernels.collect::<Result<Vec<_>, GpuError>>()?);
        let kernels = prefix.split_off(usize::from(own.is_some()));
        Ok(Batch { prefix, kernels, images: u64::from(count) })
    }

    /// Records the start of a trial, which makes its first pass current.
    pub(crate) fn start_trial(
        &mut self,
        commands: &mut Commands,
        iteration_key: u32,
        trial: u64,
        passes: u64,
    ) {
        let keys = (0..passes).map(|pass| pass_key(iteration_key, trial, pass));
        let words: Vec<u32> = std::iter::once(0).chain(keys).collect();
        commands.upload_through(&mut self.keys, self.passes.range::<u32>(0..1 + passes), &words);
    }

    /// Records a forward pass of a batch.
    pub(crate) fn forward(&self, commands: &mut Commands, batch: &Batch) {
        Ready::record_all(&batch.kernels, commands);
        self.forwards.add(batch.images);
    }

    /// Records the end of a pass, which makes the next one current.
    pub(crate) fn end_pass(&self, commands: &mut Commands) {
        commands.dispatch(&self.advance, [1, 1, 1]);
    }
}
