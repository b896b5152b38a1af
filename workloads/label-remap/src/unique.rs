//! The different labels in ascending order, found on the device: what `torch.unique` returns.
//!
//! All labels are sorted, as by the library, and then the ones that differ from the one before them are kept.

use perfharness_gpu::{Buffer, Commands, Gpu, GpuError, Pipeline};

use crate::kernels::{DIGITS, Dispatch, KEYS, OFFSETS, SHARED_KEYS, SIZE, SUMS, pipeline};

/// Largest input that one workgroup sorts in its memory, as in the shader.
const SMALL: u64 = 2048;
/// Number of labels in a tile, as in the shaders: 16 for each of 256 threads.
const TILE: u64 = 4096;
/// Number of values of a digit, as in the shaders.
const DIGIT_VALUES: u64 = 16;
/// Number of digits of a label.
const DIGIT_PASSES: u32 = 8;

const TILES: &str = include_str!("shaders/tiles.wgsl");
const NEW_LABELS: &str = include_str!("shaders/new_labels.wgsl");

/// Needs one dispatch for few labels, and 27 for more: three for each digit of four bits, and three to keep the
/// different ones.
pub(crate) struct Unique {
    /// The different labels, in front of words that mean nothing.
    pub(crate) labels: Buffer,
    /// Number of different labels.
    pub(crate) count: Buffer,
    /// Dispatches for each input of the pool.
    inputs: Vec<Vec<Dispatch>>,
}

impl Unique {
    /// Creates kernels for each of `inputs`, which have `n` labels.
    ///
    /// # Errors
    /// Returns an error if the device cannot bind `n` labels at once.
    pub(crate) fn new(gpu: &Gpu, inputs: &[Buffer], n: u64) -> Result<Self, GpuError> {
        gpu.require_binding(n * size_of::<i32>() as u64)?;
        let labels = gpu.buffer_for::<i32>("different labels", n)?;
        let count = gpu.buffer_for::<u32>("number of different labels", 1)?;
        let inputs = if n <= SMALL {
            let small = include_str!("shaders/unique_small.wgsl");
            let small = pipeline(gpu, "unique-small", &[SIZE, KEYS, SHARED_KEYS, SUMS, small])?;
            let bind = |input| {
                let bound = small.bind([("labels", input), ("unique", &labels), ("total", &count)])?;
                Ok(vec![(bound, [1, 1, 1])])
            };
            inputs.iter().map(bind).collect::<Result<_, GpuError>>()?
        } else {
            let large = Large::new(gpu, n)?;
            inputs.iter().map(|input| large.bind(input, &labels, &count)).collect::<Result<_, _>>()?
        };
        Ok(Self { labels, count, inputs })
    }

    /// Appends the dispatches for the input at position `at` of the pool.
    pub(crate) fn find(&self, at: usize, commands: &mut Commands) {
        for (bound, groups) in &self.inputs[at] {
            commands.dispatch(bound, *groups);
        }
    }
}

/// Kernels for more labels, and the buffers that they share.
struct Large {
    digit_counts: Pipeline,
    prefix: Pipeline,
    digit_scatter: Pipeline,
    unique_counts: Pipeline,
    unique_write: Pipeline,
    /// Number of each pass over the digits.
    numbers: Vec<Buffer>,
    sorted: Buffer,
    counts: Buffer,
    tiles: u64,
}

impl Large {
    fn new(gpu: &Gpu, n: u64) -> Result<Self, GpuError> {
        let tiles = n.div_ceil(TILE);
        let counts = [SIZE, KEYS, DIGITS, TILES, include_str!("shaders/digit_counts.wgsl")];
        let scatter = [SIZE, KEYS, DIGITS, SUMS, OFFSETS, TILES, include_str!("shaders/digit_scatter.wgsl")];
        let of_new = |label, source| pipeline(gpu, label, &[SIZE, SUMS, TILES, NEW_LABELS, source]);
        Ok(Self {
            digit_counts: pipeline(gpu, "digit-counts", &counts)?,
            prefix: pipeline(gpu, "prefix", &[SIZE, SUMS, include_str!("shaders/prefix.wgsl")])?,
            digit_scatter: pipeline(gpu, "digit-scatter", &scatter)?,
            unique_counts: of_new("unique-counts", include_str!("shaders/unique_counts.wgsl"))?,
            unique_write: of_new("unique-write", include_str!("shaders/unique_write.wgsl"))?,
            numbers: (0..DIGIT_PASSES).map(|pass| gpu.uniform("digit", &pass)).collect::<Result<_, _>>()?,
            sorted: gpu.buffer_for::<i32>("sorted labels", n)?,
            counts: gpu.buffer_for::<u32>("counts", DIGIT_VALUES * tiles)?,
            tiles,
        })
    }

    /// The passes go from the input to `unique`, to `sorted`, to `unique` and so on; the last of eight ends in
    /// `sorted`, so that `unique` is free for the result.
    fn bind(&self, input: &Buffer, unique: &Buffer, total: &Buffer) -> Result<Vec<Dispatch>, GpuError> {
        let threads = unique.count::<i32>().div_ceil(TILE / 256);
        let mut dispatches = Vec::new();
        let mut from = input;
        for (pass, number) in self.numbers.iter().enumerate() {
            let to = if pass % 2 == 0 { unique } else { &self.sorted };
            let digit = [("labels", from), ("pass_number", number), ("counts", &self.counts)];
            let count = self.digit_counts.bind(digit)?;
            let prefix = self.prefix.bind([("counts", &self.counts), ("total", total)])?;
            let scatter = self.digit_scatter.bind(digit.into_iter().chain([("moved", to)]))?;
            let groups = [count.groups(threads), [1, 1, 1], scatter.groups(threads)];
            dispatches.extend([count, prefix, scatter].into_iter().zip(groups));
            from = to;
        }
        let counts = self.counts.range::<u32>(0..self.tiles);
        let sorted = [("labels", from.into()), ("counts", counts)];
        let count = self.unique_counts.bind(sorted)?;
        let prefix = self.prefix.bind([("counts", counts), ("total", total.into())])?;
        let write = self.unique_write.bind(sorted.into_iter().chain([("unique", unique.into())]))?;
        let groups = [count.groups(threads), [1, 1, 1], write.groups(threads)];
        dispatches.extend([count, prefix, write].into_iter().zip(groups));
        Ok(dispatches)
    }
}
