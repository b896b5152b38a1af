//! The layers on the device.

use perfharness_gpu::{Buffer, Gpu, GpuError, Pipeline};
use perfharness_layers::{
    Attention, Extras, Heads, Mask, Norm, Product, ProductForm, ProductShape, Ready, Rows, Tile,
};

use super::{HEAD, Layers, Size, WIDER};
use crate::dims::PATCH_VALUES;
use crate::masks::Layer as Site;

/// Weights of a layer on the device.
struct LayerBuffers {
    qkv: Buffer,
    out: Buffer,
    up: Buffer,
    down: Buffer,
}

/// Pipelines, weights, and the buffers of a batch.
pub(crate) struct Vit {
    gpu: Gpu,
    size: Size,
    tokens: u32,
    patches: Pipeline,
    drop: Pipeline,
    norm: Norm,
    plain: Product,
    relu: Product,
    residual: Product,
    attention: Attention,
    embedding: Buffer,
    places: Buffer,
    layers: Vec<LayerBuffers>,
    /// Values of the patches, `[rows][values of a patch]`.
    values: Buffer,
    normed: Buffer,
    qkv: Buffer,
    mixed: Buffer,
    added: Buffer,
    hidden: Buffer,
}

impl Vit {
    /// Creates the encoder for batches of up to `images` images of `tokens` tokens. `common` is the source that the
    /// kernels share with those of the small encoder.
    pub(crate) fn new(
        gpu: &Gpu,
        weights: &Layers,
        embedding: &[f32],
        [images, tokens]: [usize; 2],
        common: &str,
    ) -> Result<Self, GpuError> {
        let (size, rows) = (weights.size, images * tokens);
        let pipeline = |label, source: &str| gpu.pipeline(label, &[common, source].concat(), "main");
        let product = |extras| Product::new(gpu, ProductForm { tile: Tile::High, transposed: false, extras });
        let extras = Extras::default();
        let upload = |label, values: &[f32]| gpu.upload(label, values);
        let layers = weights.each.iter().map(|layer| {
            Ok(LayerBuffers {
                qkv: upload("queries, keys, values", &layer.qkv)?,
                out: upload("out", &layer.out)?,
                up: upload("up", &layer.up)?,
                down: upload("down", &layer.down)?,
            })
        });
        let of = |label, values: usize| gpu.buffer_for::<f32>(label, (rows * values) as u64);
        Ok(Self {
            gpu: gpu.clone(),
            size,
            tokens: tokens as u32,
            patches: pipeline("patches", include_str!("../shaders/vit_patches.wgsl"))?,
            drop: pipeline("drop", include_str!("../shaders/vit_drop.wgsl"))?,
            norm: Norm::new(gpu)?,
            plain: product(extras)?,
            relu: product(Extras { relu: true, ..extras })?,
            residual: product(Extras { residual: true, ..extras })?,
            attention: Attention::new(gpu, HEAD as u32, Mask::None)?,
            embedding: upload("embedding", embedding)?,
            places: upload("places", &weights.places)?,
            layers: layers.collect::<Result<_, GpuError>>()?,
            values: of("patches", PATCH_VALUES)?,
            normed: of("normed", size.width)?,
            qkv: of("queries, keys, values", 3 * size.width)?,
            mixed: of("mixed", size.width)?,
            added: of("added", size.width)?,
            hidden: of("hidden", WIDER * size.width)?,
        })
    }

    /// Returns the kernels from the pixels of `images` images to their tokens in `y`.
    pub(crate) fn bind(
        &self,
        [batch, passes, pixels, y]: [&Buffer; 4],
        images: u32,
    ) -> Result<Vec<Ready>, GpuError> {
        let (rows, width, wide) =
            (images * self.tokens, self.size.width as u32, (WIDER * self.size.width) as u32);
        let values = PATCH_VALUES as u32;
        let patches = self.patches.bind([
            ("batch", batch),
            ("pixels", pixels),
            ("places", &self.places),
            ("patches", &self.values),
            ("y", y),
        ])?;
        let groups = patches.groups(u64::from(rows) * u64::from(values));
        let product = |of: &Product, inner, columns, buffers: [(&str, &Buffer); 3]| {
            of.bind(&ProductShape::plain(rows, inner, columns), buffers)
        };
        let norm = || self.norm.bind(Rows::all(rows), width, y, &self.normed);
        let drop = |site: Site, layer: usize| {
            let first = site as u32 + layer as u32 * self.tokens * width;
            let first = self.gpu.uniform("first element", &first)?;
            let bound = self.drop.bind([
                ("batch", batch),
                ("passes", passes),
                ("first_element", &first),
                ("added", &self.added),
                ("y", y),
            ])?;
            let groups = bound.groups(u64::from(rows * width));
            Ok::<_, GpuError>(Ready::new(bound, groups))
        };
        let heads = Heads::side_by_side(images, self.tokens, width / HEAD as u32, HEAD as u32);
        let mut list = vec![
            Ready::new(patches, groups),
            product(
                &self.residual,
                values,
                width,
                [("x", &self.values), ("weights", &self.embedding), ("y", y)],
            )?,
        ];
        for (at, layer) in self.layers.iter().enumerate() {
            let (normed, added) = (("x", &self.normed), ("y", &self.added));
            let qkv = [normed, ("weights", &layer.qkv), ("y", &self.qkv)];
            let (queries, y) = (&self.qkv, &self.mixed);
            let attended = [("queries", queries), ("keys", queries), ("values", queries), ("y", y)];
            list.extend([
                norm()?,
                product(&self.plain, width, 3 * width, qkv)?,
                self.attention.bind(&heads, attended)?,
                product(&self.plain, width, width, [("x", &self.mixed), ("weights", &layer.out), added])?,
                drop(Site::Mixed, at)?,
                norm()?,
                product(&self.relu, width, wide, [normed, ("weights", &layer.up), ("y", &self.hidden)])?,
                product(&self.plain, wide, width, [("x", &self.hidden), ("weights", &layer.down), added])?,
                drop(Site::Perceptron, at)?,
            ]);
        }
        Ok(list)
    }
}
