//! Matrix product.

use perfharness_gpu::{Gpu, GpuError, Pipeline, Slice};

use crate::Ready;

/// Rows that a workgroup computes, for 64 columns. With many rows a large tile loads each weight less often; with few
/// rows most of it would be idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// 16 rows, by 64 threads.
    Low,
    /// 64 rows, by 256 threads.
    High,
}

impl Tile {
    fn rows(self) -> u32 {
        match self {
            Self::Low => 16,
            Self::High => 64,
        }
    }
}

/// Number of columns that a workgroup computes, as in the shader.
const TILE_COLUMNS: u32 = 64;

/// Steps that follow the product, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Whether a bias is added to each row.
    pub bias: bool,
    /// Whether negative values become 0.
    pub relu: bool,
    /// Whether the result is added to the values that `y` holds, as in a residual connection.
    pub residual: bool,
}

/// Properties that a pipeline is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductForm {
    /// Rows of a workgroup.
    pub tile: Tile,
    /// Whether the weights are `[columns][inner]` and not `[inner][columns]`.
    pub transposed: bool,
    /// Steps that follow the product.
    pub extras: Extras,
}

/// Sizes of a batch of products `y = scale * x * weights`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductShape {
    /// Number of products: `x` is `[batches][rows][inner]`, and `y` is `[batches][rows][columns]`.
    pub batches: u32,
    /// Rows of `x` and `y`.
    pub rows: u32,
    /// Columns of `x`, and rows of the weights.
    pub inner: u32,
    /// Columns of the weights and of `y`.
    pub columns: u32,
    /// Whether each product has its own weights, one after the other; otherwise all share them.
    pub own_weights: bool,
    /// Factor of the sums, before the bias.
    pub scale: f32,
}

impl ProductShape {
    /// Returns the sizes of one product without a scale.
    pub fn plain(rows: u32, inner: u32, columns: u32) -> Self {
        Self { batches: 1, rows, inner, columns, own_weights: false, scale: 1.0 }
    }

    /// Floating-point operations, with a multiplication and an addition counting as two.
    pub fn operations(&self) -> f64 {
        2.0 * [self.batches, self.rows, self.inner, self.columns].map(f64::from).iter().product::<f64>()
    }
}

/// Matrix product on the device. Its bindings are `x`, `weights`, `y`, and `bias` (`[columns]`) if the form has one.
#[derive(Clone, Debug)]
pub struct Product {
    gpu: Gpu,
    pipeline: Pipeline,
    form: ProductForm,
}

impl Product {
    /// Creates the pipeline.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn new(gpu: &Gpu, form: ProductForm) -> Result<Self, GpuError> {
        let Extras { bias, relu, residual } = form.extras;
        let rows = form.tile.rows();
        let bias = if bias {
            "@group(0) @binding(3) var<storage, read> bias: array<f32>;\n\
             fn bias_of(column: u32) -> f32 { return bias[column]; }\n"
        } else {
            "fn bias_of(column: u32) -> f32 { return 0.0; }\n"
        };
        let constants = format!(
            "const ROWS = {rows}u;\nconst TRANSPOSED = {};\nconst RELU = {relu};\nconst RESIDUAL = {residual};\n",
            form.transposed
        );
        let source = [&constants, bias, include_str!("shaders/product.wgsl")].concat();
        Ok(Self { gpu: gpu.clone(), pipeline: gpu.pipeline("product", &source, "main")?, form })
    }

    /// Binds the buffers of a batch of products.
    ///
    /// # Errors
    /// Returns an error if a buffer is missing, unknown, or beyond the limits of the device.
    pub fn bind<'a, S: Into<Slice<'a>>>(
        &self,
        shape: &ProductShape,
        buffers: impl IntoIterator<Item = (&'a str, S)>,
    ) -> Result<Ready, GpuError> {
        let ProductShape { batches, rows, inner, columns, own_weights, scale } = *shape;
        let words = [rows, inner, columns, u32::from(own_weights), scale.to_bits()];
        let shape = self.gpu.uniform("shape of a product", &words)?;
        let buffers = buffers.into_iter().map(|(name, slice)| (name, slice.into()));
        let bound = self.pipeline.bind(buffers.chain([("shape", Slice::from(&shape))]))?;
        let groups = [columns.div_ceil(TILE_COLUMNS), rows.div_ceil(self.form.tile.rows()), batches];
        Ok(Ready { bound, groups })
    }
}
