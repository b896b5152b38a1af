//! The best implementation that we know: everything stays on the device, and the host never waits.

use perfharness_gpu::{Buffer, Gpu, GpuError, Pipeline};

use crate::kernels::{DIGITS, Dispatch, KEYS, OFFSETS, SHARED_KEYS, SIZE, SUMS, pipeline};
use crate::remap::Variant;

/// Largest input that is handled in the memory of one workgroup.
const SMALL: u64 = 1024;
/// Number of labels that a thread of `distinct` handles, as in the shader.
const ITEMS: u64 = 16;
/// Capacity of the set of keys, as in the shaders.
const CAPACITY: u64 = 2048;
const SLOTS: u64 = 2 * CAPACITY;

const STATE: &str = include_str!("shaders/state.wgsl");

/// Needs one dispatch for few labels, three for more.
pub(crate) struct Optimized {
    gpu: Gpu,
    /// Dispatches for each input of the pool.
    inputs: Vec<Vec<Dispatch>>,
}

impl Optimized {
    pub(crate) fn new(gpu: &Gpu, labels: &[Buffer], ranks: &Buffer) -> Result<Self, GpuError> {
        gpu.require_binding(ranks.bytes())?;
        let inputs = if ranks.count::<u32>() <= SMALL {
            let small = pipeline(gpu, "small", &[KEYS, SHARED_KEYS, include_str!("shaders/small.wgsl")])?;
            let bind =
                |labels: &Buffer| Ok(vec![(small.bind([("labels", labels), ("ranks", ranks)])?, [1, 1, 1])]);
            labels.iter().map(bind).collect::<Result<_, GpuError>>()?
        } else {
            let large = Large::new(gpu, ranks)?;
            labels.iter().map(|labels| large.bind(labels, ranks)).collect::<Result<_, GpuError>>()?
        };
        Ok(Self { gpu: gpu.clone(), inputs })
    }
}

impl Variant for Optimized {
    fn remap(&mut self, at: usize) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("remap");
        for (bound, groups) in &self.inputs[at] {
            commands.dispatch(bound, *groups);
        }
        commands.submit()?;
        Ok(())
    }
}

/// Kernels for more labels, and the buffers that they share.
struct Large {
    distinct: Pipeline,
    sort: Pipeline,
    rank: Pipeline,
    state: Buffer,
    slots: Buffer,
    found: Buffer,
    sorted: Buffer,
    other: Buffer,
    distinct_keys: Buffer,
}

impl Large {
    fn new(gpu: &Gpu, ranks: &Buffer) -> Result<Self, GpuError> {
        let words = |label, count| gpu.buffer_for::<u32>(label, count);
        let n = ranks.count::<u32>();
        let sort = [SIZE, KEYS, STATE, SHARED_KEYS, SUMS, DIGITS, OFFSETS, include_str!("shaders/sort.wgsl")];
        Ok(Self {
            distinct: pipeline(gpu, "distinct", &[KEYS, STATE, include_str!("shaders/distinct.wgsl")])?,
            sort: pipeline(gpu, "sort", &sort)?,
            rank: pipeline(gpu, "rank", &[KEYS, include_str!("shaders/rank.wgsl")])?,
            // Zeros stand for the empty set; `sort` restores them.
            state: words("state", 2)?,
            slots: words("slots", SLOTS)?,
            found: words("different keys", CAPACITY)?,
            sorted: words("sorted keys", n)?,
            other: words("keys half sorted", n)?,
            distinct_keys: words("number of different keys", 1)?,
        })
    }

    fn bind(&self, labels: &Buffer, ranks: &Buffer) -> Result<Vec<Dispatch>, GpuError> {
        let set =
            [("labels", labels), ("state", &self.state), ("slots", &self.slots), ("found", &self.found)];
        let distinct = self.distinct.bind(set)?;
        let more = [("sorted", &self.sorted), ("other", &self.other), ("distinct", &self.distinct_keys)];
        let sort = self.sort.bind(set.into_iter().chain(more))?;
        let rank = self.rank.bind([
            ("labels", labels),
            ("distinct", &self.distinct_keys),
            ("sorted", &self.sorted),
            ("ranks", ranks),
        ])?;
        let n = ranks.count::<u32>();
        let (threads, all) = (distinct.groups(n.div_ceil(ITEMS)), rank.groups(n));
        Ok(vec![(distinct, threads), (sort, [1, 1, 1]), (rank, all)])
    }
}
