//! Attention that never stores its scores.

use perfharness_gpu::{Buffer, Gpu, GpuError, Pipeline, Slice};

use crate::Ready;

/// Queries of a workgroup, one for each thread, as in the shader.
const QUERIES: u32 = 64;

/// Keys that a query attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mask {
    /// All of them.
    None,
    /// Those up to its own position. Every tile of keys is loaded, and what lies above the diagonal is ignored.
    Causal,
    /// As `Causal`. Tiles that lie above the diagonal are not loaded.
    CausalTiles,
    /// As `CausalTiles`, and without the first keys of each sequence: as many as its number in the binding `padding`
    /// (`u32`) says. A query that is left without keys has zeros as its result.
    CausalPadded,
}

/// Shape of the queries, keys and values, with sizes and strides in values.
///
/// The value `c` of head `h` at position `p` of sequence `s` is at `(s * positions + p) * stride + at + h * head + c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Number of sequences.
    pub sequences: u32,
    /// Number of heads of a sequence that lie side by side.
    pub heads: u32,
    /// Queries of a sequence.
    pub queries: u32,
    /// Keys of a sequence.
    pub keys: u32,
    /// Position of the first query. It differs from 0 if earlier keys come from a cache.
    pub first: u32,
    /// Values from a query to the next.
    pub query_stride: u32,
    /// Values from a key to the next, and from a value to the next.
    pub key_stride: u32,
    /// Place of the first key, and of the first value, in a position.
    pub at: [u32; 2],
}

impl Heads {
    /// Returns the shape of separate queries, keys and values `[sequences][positions][head]` of one head each.
    pub fn separate(sequences: u32, positions: u32, head: u32) -> Self {
        Self {
            sequences,
            heads: 1,
            queries: positions,
            keys: positions,
            first: 0,
            query_stride: head,
            key_stride: head,
            at: [0, 0],
        }
    }

    /// Returns the shape of queries, keys and values that lie side by side in a position, `[positions][3][heads * head]`.
    pub fn side_by_side(sequences: u32, positions: u32, heads: u32, head: u32) -> Self {
        let width = heads * head;
        Self {
            sequences,
            heads,
            queries: positions,
            keys: positions,
            first: 0,
            query_stride: 3 * width,
            key_stride: 3 * width,
            at: [width, 2 * width],
        }
    }
}

/// Attention on the device with a running softmax over tiles of 16 keys. Its bindings are `queries`, `keys`, `values`,
/// and the result `y`: `[sequences][queries][heads * head]`.
#[derive(Clone, Debug)]
pub struct Attention {
    gpu: Gpu,
    pipeline: Pipeline,
    mask: Mask,
}

impl Attention {
    /// Keys in a tile.
    pub const TILE: u32 = 16;

    /// Creates the pipeline for heads of `head` values, a multiple of 4.
    ///
    /// # Errors
    /// Returns [`GpuError::Invalid`] for another width, or [`GpuError::Lacks`] if a workgroup cannot hold a tile.
    pub fn new(gpu: &Gpu, head: u32, mask: Mask) -> Result<Self, GpuError> {
        if head == 0 || !head.is_multiple_of(4) {
            return Err(GpuError::Invalid(format!("attention heads of {head} values: not a multiple of 4")));
        }
        let constants = format!(
            "const LANES = {}u;\nconst CAUSAL = {};\nconst SKIP = {};\n",
            head / 4,
            mask != Mask::None,
            matches!(mask, Mask::CausalTiles | Mask::CausalPadded)
        );
        let padding = if mask == Mask::CausalPadded {
            "@group(0) @binding(5) var<storage, read> padding: array<u32>;\n\
             fn padding_of(sequence: u32) -> u32 { return padding[sequence]; }\n"
        } else {
            "fn padding_of(sequence: u32) -> u32 { return 0u; }\n"
        };
        let source = [&constants, padding, include_str!("shaders/attention.wgsl")].concat();
        Ok(Self { gpu: gpu.clone(), pipeline: gpu.pipeline("attention", &source, "main")?, mask })
    }

    /// Creates the uniform buffer of a shape.
    ///
    /// # Errors
    /// Returns an error if the device fails.
    pub fn shape(&self, heads: &Heads) -> Result<Buffer, GpuError> {
        let Heads { queries, keys, first, query_stride, key_stride, at, .. } = *heads;
        // The shader reads fours of values.
        let words = [queries, keys, first, query_stride / 4, key_stride / 4, at[0] / 4, at[1] / 4];
        self.gpu.uniform("shape of attention", &words)
    }

    /// Binds the buffers.
    ///
    /// # Errors
    /// Returns an error if a buffer is missing, unknown, or beyond the limits of the device.
    pub fn bind<'a, S: Into<Slice<'a>>>(
        &self,
        heads: &Heads,
        buffers: impl IntoIterator<Item = (&'a str, S)>,
    ) -> Result<Ready, GpuError> {
        let shape = self.shape(heads)?;
        self.bind_shaped(heads, &shape, buffers.into_iter().map(|(name, slice)| (name, slice.into())))
    }

    /// As [`bind`](Self::bind), with the uniform buffer of the same shape, for a loop that binds new buffers.
    ///
    /// # Errors
    /// See [`bind`](Self::bind).
    pub fn bind_shaped<'a, S: Into<Slice<'a>>>(
        &self,
        heads: &Heads,
        shape: &'a Buffer,
        buffers: impl IntoIterator<Item = (&'a str, S)>,
    ) -> Result<Ready, GpuError> {
        let buffers = buffers.into_iter().map(|(name, slice)| (name, slice.into()));
        let bound = self.pipeline.bind(buffers.chain([("shape", Slice::from(shape))]))?;
        Ok(Ready { bound, groups: [heads.queries.div_ceil(QUERIES), heads.heads, heads.sequences] })
    }

    /// Tiles of keys that the workgroups of one dispatch load, by the bounds of the shader's loop; with padding at most.
    pub fn tiles(&self, heads: &Heads) -> u64 {
        let end = |tile: u32| match self.mask {
            Mask::CausalTiles | Mask::CausalPadded => (heads.first + (tile + 1) * QUERIES).min(heads.keys),
            Mask::None | Mask::Causal => heads.keys,
        };
        let of_head: u64 =
            (0..heads.queries.div_ceil(QUERIES)).map(|tile| u64::from(end(tile).div_ceil(Self::TILE))).sum();
        u64::from(heads.sequences) * u64::from(heads.heads) * of_head
    }
}
