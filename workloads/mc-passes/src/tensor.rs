//! Pixels of all images: on the device if they fit, otherwise on the host.
//!
//! They reach the device through staging buffers, or are written in place if host and device share their memory.

use std::ops::Range;

use perfharness_contract::Failure;
use perfharness_gpu::{AdapterKind, Buffer, Commands, Gpu, GpuError, Staging, wgpu};

use crate::kit::Kit;
use crate::pixels::Loader;
use crate::plan::Plan;
use crate::storage::{Pixels, Storage, upload};

/// Pixels that are decoded once per iteration.
pub(crate) struct Tensor {
    gpu: Gpu,
    loader: Loader,
    pub(crate) plan: Plan,
    storage: Storage,
    batches: Vec<Range<usize>>,
    /// One per batch, or as many as are used alternately.
    buffers: Vec<Buffer>,
    /// `None` if pixels are written in place.
    staging: Option<Staging>,
    /// Pixels of each batch, if they do not fit on the device.
    host: Vec<Pixels>,
}

impl Tensor {
    /// Allocates the buffers. If the pixels do not fit, the batches share `turns` buffers.
    pub(crate) fn new(kit: &Kit, storage: Storage, turns: usize) -> Result<Self, Failure> {
        let plan = kit.plan(storage);
        let batches = plan.batches();
        let count = if plan.resident { batches.len() } else { turns.min(batches.len()) };
        let bytes = |range: &Range<usize>| range.len() as u64 * plan.image_bytes();
        let buffers = batches[..count].iter().map(|range| kit.gpu.buffer("pixels", bytes(range)));
        let buffers = buffers.collect::<Result<_, _>>()?;
        let staging = kit.gpu.staging("pixels from the host", plan.batch as u64 * plan.image_bytes(), 2)?;
        Ok(Self::with(kit, storage, plan, buffers, Some(staging)))
    }

    /// Allocates buffers in memory that host and device share.
    pub(crate) fn shared(kit: &Kit, storage: Storage) -> Result<Self, Failure> {
        let facts = kit.gpu.facts();
        if !matches!(facts.kind, AdapterKind::Integrated | AdapterKind::Software) {
            return Err(Failure::Unavailable(format!(
                "{} has its own memory, so writing in place means writing over the bus",
                facts.name
            )));
        }
        kit.gpu.require(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)?;
        let plan = kit.plan(storage);
        if !plan.resident {
            return Err(Failure::Unavailable(format!(
                "the pixels exceed the device memory that may be used: {plan}"
            )));
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::MAP_WRITE;
        let bytes = |range: &Range<usize>| range.len() as u64 * plan.image_bytes();
        let batches = plan.batches();
        let buffers = batches.iter().map(|range| kit.gpu.buffer_with("pixels", bytes(range), usage));
        Ok(Self::with(kit, storage, plan, buffers.collect::<Result<_, _>>()?, None))
    }

    fn with(kit: &Kit, storage: Storage, plan: Plan, buffers: Vec<Buffer>, staging: Option<Staging>) -> Self {
        let (gpu, loader) = (kit.gpu.clone(), kit.loader.clone());
        let batches = plan.batches();
        Self { gpu, loader, plan, storage, batches, buffers, staging, host: Vec::new() }
    }

    /// Buffer that holds batch `i` when it is that batch's turn.
    pub(crate) fn buffer(&self, i: usize) -> &Buffer {
        &self.buffers[i % self.buffers.len()]
    }

    /// Decodes every file once. The pixels go to the device at once if they fit.
    pub(crate) fn load(&mut self, order: &[usize]) -> Result<(), Failure> {
        self.host.clear();
        if self.staging.is_none() {
            return self.load_in_place(order);
        }
        for (i, range) in self.batches.iter().enumerate() {
            let pixels = self.storage.load(&self.loader, &order[range.clone()])?;
            match &mut self.staging {
                Some(staging) if self.plan.resident => {
                    let mut commands = self.gpu.commands("pixels");
                    upload(&mut commands, staging, &self.buffers[i], pixels.bytes());
                    commands.submit()?;
                }
                _ => self.host.push(pixels),
            }
        }
        Ok(())
    }

    /// Maps the buffers, with one sync for all, and writes to them.
    fn load_in_place(&self, order: &[usize]) -> Result<(), Failure> {
        for buffer in &self.buffers {
            // `write` finds out whether the mapping succeeded.
            buffer.raw().map_async(wgpu::MapMode::Write, .., |_| ());
        }
        let filled = self.gpu.wait().map_err(Failure::from).and_then(|()| {
            self.buffers.iter().zip(&self.batches).try_for_each(|(buffer, range)| {
                let pixels = self.storage.load(&self.loader, &order[range.clone()])?;
                Ok(write(buffer, pixels.bytes())?)
            })
        });
        // All buffers are unmapped, also if a file went bad, because the next iteration maps them again.
        self.buffers.iter().for_each(|buffer| buffer.raw().unmap());
        filled
    }

    /// Records the commands that put the pixels of a batch on the device: none, or a copy.
    pub(crate) fn bring(&mut self, commands: &mut Commands, i: usize) {
        if let (Some(pixels), Some(staging)) = (self.host.get(i), &mut self.staging) {
            upload(commands, staging, &self.buffers[i % self.buffers.len()], pixels.bytes());
        }
    }
}

/// Writes to a mapped buffer.
fn write(buffer: &Buffer, bytes: &[u8]) -> Result<(), GpuError> {
    let mapped = buffer.raw().get_mapped_range_mut(..);
    let mut view = mapped.map_err(|error| GpuError::Driver(error.to_string()))?;
    view.slice(..bytes.len()).copy_from_slice(bytes);
    Ok(())
}
