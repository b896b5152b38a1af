//! The decoder on the device.

use perfharness_gpu::{Buffer, Gpu, GpuError, Pipeline};
use perfharness_layers::{
    Attention, Extras, Heads, Mask, Norm, Product, ProductForm, ProductShape, Ready, Rows, Tile,
};

use crate::model::{HEAD, Model, WIDER, Weights};

/// Positions that go through the decoder in one pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) sequences: u32,
    /// First position; earlier ones are in a cache, which a single sequence only may have.
    pub(crate) first: u32,
    /// Positions of each sequence.
    pub(crate) count: u32,
}

impl Span {
    fn rows(self) -> u32 {
        self.sequences * self.count
    }

    /// Shape of the attention, over a buffer with the keys and values of all positions up to the last one.
    pub(crate) fn heads(self, model: Model) -> Heads {
        let width = model.width as u32;
        Heads {
            sequences: self.sequences,
            heads: width / HEAD as u32,
            queries: self.count,
            keys: self.first + self.count,
            first: self.first,
            query_stride: width,
            key_stride: 2 * width,
            at: [0, width],
        }
    }
}

/// Products of one form, for few rows and for many.
struct Products([Product; 2]);

impl Products {
    fn new(gpu: &Gpu, extras: Extras) -> Result<Self, GpuError> {
        let product = |tile| Product::new(gpu, ProductForm { tile, transposed: false, extras });
        Ok(Self([product(Tile::Low)?, product(Tile::High)?]))
    }

    fn of(&self, rows: u32) -> &Product {
        &self.0[usize::from(rows >= 64)]
    }
}

/// Weights of a layer on the device.
struct Layer {
    query: Buffer,
    key_value: Buffer,
    out: Buffer,
    up: Buffer,
    down: Buffer,
}

/// Pipelines, weights, and the buffers of a pass.
pub(crate) struct Network {
    pub(crate) gpu: Gpu,
    pub(crate) model: Model,
    embed: Pipeline,
    norm: Norm,
    plain: Products,
    relu: Products,
    residual: Products,
    pub(crate) attention: Attention,
    embedding: Buffer,
    places: Buffer,
    layers: Vec<Layer>,
    head: Buffer,
    /// Tokens `[sequences][positions]`.
    pub(crate) tokens: Buffer,
    positions: u32,
    x: Buffer,
    normed: Buffer,
    pub(crate) queries: Buffer,
    pub(crate) mixed: Buffer,
    hidden: Buffer,
}

impl Network {
    /// Creates a network for `sequences` sequences of up to `positions` tokens, of which a pass handles `rows`.
    pub(crate) fn new(gpu: &Gpu, weights: &Weights, sequences: usize, rows: usize) -> Result<Self, GpuError> {
        let model = weights.model;
        let positions = weights.places.len() / model.width;
        let upload = |label, values: &[f32]| gpu.upload(label, values);
        let layers = weights.layers.iter().map(|layer| {
            Ok(Layer {
                query: upload("query", &layer.query)?,
                key_value: upload("keys and values", &layer.key_value)?,
                out: upload("out", &layer.out)?,
                up: upload("up", &layer.up)?,
                down: upload("down", &layer.down)?,
            })
        });
        let values =
            |label, widths: usize| gpu.buffer_for::<f32>(label, (rows * widths * model.width) as u64);
        let extras = Extras::default();
        Ok(Self {
            gpu: gpu.clone(),
            model,
            embed: gpu.pipeline("embed", include_str!("shaders/embed.wgsl"), "main")?,
            norm: Norm::new(gpu)?,
            plain: Products::new(gpu, extras)?,
            relu: Products::new(gpu, Extras { relu: true, ..extras })?,
            residual: Products::new(gpu, Extras { residual: true, ..extras })?,
            attention: Attention::new(gpu, HEAD as u32, Mask::CausalTiles)?,
            embedding: upload("embedding", &weights.embedding)?,
            places: upload("places", &weights.places)?,
            layers: layers.collect::<Result<_, GpuError>>()?,
            head: upload("head", &weights.head)?,
            tokens: gpu.buffer_for::<u32>("tokens", (sequences * positions) as u64)?,
            positions: positions as u32,
            x: values("x", 1)?,
            normed: values("normed", 1)?,
            queries: values("queries", 1)?,
            mixed: values("mixed", 1)?,
            hidden: values("hidden", WIDER)?,
        })
    }

    /// Creates a buffer for the keys and values of `positions` positions.
    pub(crate) fn cache(&self, positions: u32) -> Result<Buffer, GpuError> {
        self.gpu.buffer_for::<f32>("cache", u64::from(positions) * self.cache_values())
    }

    /// Values that a position has in a cache.
    pub(crate) fn cache_values(&self) -> u64 {
        2 * self.model.width as u64
    }

    /// Returns the kernels of a pass: `caches` has a buffer for each layer, into which the pass writes the keys and
    /// values of its positions, after those of the earlier ones.
    pub(crate) fn pass(&self, span: Span, caches: &[Buffer]) -> Result<Vec<Ready>, GpuError> {
        let mut kernels = vec![self.embed(span)?];
        for (layer, cache) in caches.iter().enumerate() {
            kernels.extend(self.before(layer, span, cache, span.first)?);
            let all = u64::from(span.sequences * (span.first + span.count)) * self.cache_values();
            let seen = cache.range::<f32>(0..all);
            let buffers = [
                ("queries", (&self.queries).into()),
                ("keys", seen),
                ("values", seen),
                ("y", (&self.mixed).into()),
            ];
            kernels.push(self.attention.bind(&span.heads(self.model), buffers)?);
            kernels.extend(self.after(layer, span)?);
        }
        Ok(kernels)
    }

    /// Returns the kernel that looks the tokens up.
    pub(crate) fn embed(&self, span: Span) -> Result<Ready, GpuError> {
        let width = self.model.width as u32;
        let shape =
            self.gpu.uniform("span", &[span.rows(), span.count, span.first, self.positions, width])?;
        let bound = self.embed.bind([
            ("shape", &shape),
            ("tokens", &self.tokens),
            ("embedding", &self.embedding),
            ("places", &self.places),
            ("x", &self.x),
        ])?;
        let groups = bound.groups(u64::from(span.rows() * width));
        Ok(Ready::new(bound, groups))
    }

    /// Returns the kernels of a layer before its attention. Keys and values go to a cache, from a position on.
    pub(crate) fn before(
        &self,
        layer: usize,
        span: Span,
        cache: &Buffer,
        at: u32,
    ) -> Result<[Ready; 3], GpuError> {
        let Layer { query, key_value, .. } = &self.layers[layer];
        let (rows, width, each) = (span.rows(), self.model.width as u32, self.cache_values());
        let part = cache.range::<f32>(u64::from(at) * each..u64::from(at + rows) * each);
        let product = self.plain.of(rows);
        let x = || ("x", (&self.normed).into());
        Ok([
            self.norm.bind(Rows::all(rows), width, &self.x, &self.normed)?,
            product.bind(
                &ProductShape::plain(rows, width, width),
                [x(), ("weights", query.into()), ("y", (&self.queries).into())],
            )?,
            product.bind(
                &ProductShape::plain(rows, width, 2 * width),
                [x(), ("weights", key_value.into()), ("y", part)],
            )?,
        ])
    }

    /// Returns the kernels of a layer after its attention.
    pub(crate) fn after(&self, layer: usize, span: Span) -> Result<[Ready; 4], GpuError> {
        let Layer { out, up, down, .. } = &self.layers[layer];
        let (rows, width) = (span.rows(), self.model.width as u32);
        let wide = WIDER as u32 * width;
        let product = |products: &Products, inner, columns, x, weights, y| {
            let shape = ProductShape::plain(rows, inner, columns);
            products.of(rows).bind(&shape, [("x", x), ("weights", weights), ("y", y)])
        };
        Ok([
            product(&self.residual, width, width, &self.mixed, out, &self.x)?,
            self.norm.bind(Rows::all(rows), width, &self.x, &self.normed)?,
            product(&self.relu, width, wide, &self.normed, up, &self.hidden)?,
            product(&self.residual, wide, width, &self.hidden, down, &self.x)?,
        ])
    }

    /// Returns the kernels from the last layer to the logits of some rows, in `logits` from row `at` on.
    pub(crate) fn logits(&self, rows: Rows, logits: &Buffer, at: u32) -> Result<[Ready; 2], GpuError> {
        let (width, vocabulary) = (self.model.width as u32, self.model.vocabulary as u32);
        let count = rows.batches * rows.rows;
        let of = u64::from(at * vocabulary)..u64::from((at + count) * vocabulary);
        let buffers =
            [("x", (&self.normed).into()), ("weights", (&self.head).into()), ("y", logits.range::<f32>(of))];
        Ok([
            self.norm.bind(rows, width, &self.x, &self.normed)?,
            self.plain.of(count).bind(&ProductShape::plain(count, width, vocabulary), buffers)?,
        ])
    }
}
