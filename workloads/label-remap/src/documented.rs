//! The document's "after": a loop over the classes with a masked pass for each.

use std::ops::Range;

use perfharness_gpu::{Bound, Buffer, Gpu, GpuError, Pipeline, Readback, Staging};

use crate::remap::Variant;

/// Distance of two pass numbers in bytes: the largest alignment that a uniform binding may need.
const STRIDE: u64 = 256;

/// Finds the classes by reading the labels back.
pub(crate) struct Documented {
    gpu: Gpu,
    labels: Vec<Buffer>,
    ranks: Buffer,
    readback: Readback<i32>,
    staging: Staging,
    unique: Buffer,
    mark: Pipeline,
    /// The labels in chunks that can be bound.
    chunks: Vec<Range<u64>>,
    /// Passes over each input of the pool, one for each class seen so far.
    passes: Vec<Vec<Pass>>,
}

/// A pass over all labels, one dispatch for each chunk.
type Pass = Vec<(Bound, [u32; 3])>;

impl Documented {
    pub(crate) fn new(gpu: &Gpu, labels: &[Buffer], ranks: &Buffer) -> Result<Self, GpuError> {
        let n = ranks.count::<u32>();
        // There may be as many classes as labels, if that many can be bound.
        let unique = gpu.buffer("classes", ranks.bytes().min(gpu.max_binding()))?;
        Ok(Self {
            gpu: gpu.clone(),
            labels: labels.to_vec(),
            ranks: ranks.clone(),
            readback: gpu.readback("labels on the host", n)?,
            staging: gpu.staging("classes from the host", unique.bytes(), 1)?,
            mark: gpu.pipeline("mark", include_str!("shaders/mark.wgsl"), "main")?,
            chunks: gpu.chunks(n, size_of::<i32>() as u64)?,
            passes: labels.iter().map(|_| Vec::new()).collect(),
            unique,
        })
    }

    /// Adds passes until every input has `count` of them. The number of classes seldom grows.
    fn make_passes(&mut self, count: usize) -> Result<(), GpuError> {
        let known = self.passes.first().map_or(0, Vec::len);
        if count <= known {
            return Ok(());
        }
        let words = STRIDE as usize / size_of::<u32>();
        let numbers: Vec<u32> = (known..count)
            .flat_map(|number| std::iter::once(number as u32).chain(std::iter::repeat_n(0, words - 1)))
            .collect();
        let usage =
            perfharness_gpu::wgpu::BufferUsages::UNIFORM | perfharness_gpu::wgpu::BufferUsages::COPY_DST;
        let buffer = self.gpu.buffer_with("pass numbers", size_of_val(&numbers[..]) as u64, usage)?;
        self.gpu.commands("pass numbers").upload(&buffer, &numbers).submit()?;
        let mut added = Vec::with_capacity(self.labels.len());
        for labels in &self.labels {
            let mut passes = Vec::with_capacity(count - known);
            for slot in 0..(count - known) as u64 {
                let word = slot * words as u64;
                let number = buffer.range::<u32>(word..word + 1);
                let pass = self.chunks.iter().map(|chunk| {
                    let bound = self.mark.bind([
                        ("labels", labels.range::<i32>(chunk.clone())),
                        ("unique", (&self.unique).into()),
                        ("pass_number", number),
                        ("ranks", self.ranks.range::<u32>(chunk.clone())),
                    ])?;
                    let groups = bound.groups(chunk.end - chunk.start);
                    Ok((bound, groups))
                });
                passes.push(pass.collect::<Result<Pass, GpuError>>()?);
            }
            added.push(passes);
        }
        // All or none, so that every input has the same number of passes.
        self.passes.iter_mut().zip(added).for_each(|(passes, added)| passes.extend(added));
        Ok(())
    }
}

impl Variant for Documented {
    fn remap(&mut self, at: usize) -> Result<(), GpuError> {
        self.gpu.commands("read labels").download(&self.labels[at], &mut self.readback).submit()?;
        let mut unique = self.readback.wait()?;
        unique.sort_unstable();
        unique.dedup();
        self.gpu.require_binding(size_of_val(&unique[..]) as u64)?;
        self.make_passes(unique.len())?;
        let classes = self.unique.range::<i32>(0..unique.len() as u64);
        let mut commands = self.gpu.commands("masked passes");
        commands.upload_through(&mut self.staging, classes, &unique).clear(&self.ranks);
        for (bound, groups) in self.passes[at][..unique.len()].iter().flatten() {
            commands.dispatch(bound, *groups);
        }
        commands.submit()?;
        Ok(())
    }
}
