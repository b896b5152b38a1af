//! The inputs and results of the experts on the device.

use perfharness_gpu::{Buffer, Gpu, GpuError, Slice};

use super::Params;
use super::inputs::Batch;
use crate::POOL;

/// Batches of an iteration.
pub(super) const BATCHES: usize = 2;

/// Returns the batch of a turn of an iteration with an input.
pub(super) fn batch_of(input: usize, turn: usize) -> usize {
    (input + turn) % POOL
}

/// A batch on the device; see [`Batch`].
#[derive(Debug)]
pub(super) struct OnDevice {
    queries: Buffer,
    pub(super) keys: Buffer,
    pub(super) values: Buffer,
    pub(super) padding: Buffer,
}

/// Inputs and results.
#[derive(Debug)]
pub(super) struct Heads {
    pub(super) gpu: Gpu,
    pub(super) params: Params,
    pub(super) pool: Vec<OnDevice>,
    /// For each batch of an iteration `[experts][sequences][positions][HEAD]`.
    pub(super) results: Vec<Buffer>,
}

impl Heads {
    pub(super) fn new(gpu: Gpu, params: &Params) -> Result<Self, GpuError> {
        let values = params.values() as u64;
        let of_experts = values * params.experts as u64;
        let pool = (0..POOL).map(|_| {
            Ok(OnDevice {
                queries: gpu.buffer_for::<f32>("queries", of_experts)?,
                keys: gpu.buffer_for::<f32>("keys", values)?,
                values: gpu.buffer_for::<f32>("values", values)?,
                padding: gpu.buffer_for::<u32>("padding", params.sequences as u64)?,
            })
        });
        let pool = pool.collect::<Result<_, GpuError>>()?;
        let results = (0..BATCHES).map(|_| gpu.buffer_for::<f32>("results", of_experts));
        Ok(Self { params: params.clone(), pool, results: results.collect::<Result<_, _>>()?, gpu })
    }

    /// Uploads the batches of a round, and waits for the copies.
    pub(super) fn load(&self, batches: &[Batch]) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("load");
        for (buffers, batch) in self.pool.iter().zip(batches) {
            commands.upload(&buffers.queries, &batch.queries).upload(&buffers.keys, &batch.keys);
            commands.upload(&buffers.values, &batch.values).upload(&buffers.padding, &batch.padding);
        }
        commands.submit()?;
        self.gpu.fence()
    }

    /// Returns the queries of an expert.
    pub(super) fn queries(&self, batch: usize, expert: usize) -> Slice<'_> {
        self.of_expert(&self.pool[batch].queries, expert)
    }

    /// Returns the place for the results of an expert.
    pub(super) fn result(&self, turn: usize, expert: usize) -> Slice<'_> {
        self.of_expert(&self.results[turn], expert)
    }

    fn of_expert<'a>(&self, buffer: &'a Buffer, expert: usize) -> Slice<'a> {
        let (count, expert) = (self.params.values() as u64, expert as u64);
        buffer.range::<f32>(expert * count..(expert + 1) * count)
    }
}
