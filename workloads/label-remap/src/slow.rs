//! The document's "before": everything runs on the host.

use std::collections::{BTreeSet, HashMap};

use perfharness_gpu::{Buffer, Gpu, GpuError, Readback, Staging};

use crate::remap::Variant;

/// Reads the labels back, and uploads their ranks. It keeps its buffers from batch to batch, as `PyTorch` does.
pub(crate) struct Slow {
    gpu: Gpu,
    labels: Vec<Buffer>,
    ranks: Buffer,
    readback: Readback<i32>,
    staging: Staging,
}

impl Slow {
    pub(crate) fn new(gpu: &Gpu, labels: &[Buffer], ranks: &Buffer) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: gpu.clone(),
            labels: labels.to_vec(),
            ranks: ranks.clone(),
            readback: gpu.readback("labels on the host", ranks.count::<u32>())?,
            staging: gpu.staging("ranks from the host", ranks.bytes(), 1)?,
        })
    }
}

impl Variant for Slow {
    fn remap(&mut self, at: usize) -> Result<(), GpuError> {
        self.gpu.commands("read labels").download(&self.labels[at], &mut self.readback).submit()?;
        let labels = self.readback.wait()?;
        let unique: BTreeSet<i32> = labels.iter().copied().collect();
        let map: HashMap<i32, u32> = unique.into_iter().zip(0..).collect();
        let ranks: Vec<u32> = labels.iter().map(|label| map[label]).collect();
        self.gpu.commands("write ranks").upload_through(&mut self.staging, &self.ranks, &ranks).submit()?;
        Ok(())
    }
}
