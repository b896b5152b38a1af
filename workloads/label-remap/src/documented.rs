//! The document's "after": the device finds the classes, and the host loops over them with a masked pass for each.

use perfharness_gpu::wgpu::BufferUsages;
use perfharness_gpu::{Bound, Buffer, Gpu, GpuError, Pipeline, Readback};

use crate::kernels::{Dispatch, pipeline};
use crate::remap::Variant;
use crate::unique::Unique;

/// Distance of two pass numbers in bytes: the largest alignment that a uniform binding may need.
const STRIDE: u64 = 256;

/// Reads back the number of classes, without which the host cannot loop over them.
pub(crate) struct Documented {
    gpu: Gpu,
    labels: Vec<Buffer>,
    ranks: Buffer,
    unique: Unique,
    readback: Readback<u32>,
    mark: Pipeline,
    /// Masked passes over each input of the pool, one for each class seen so far.
    passes: Vec<Vec<Dispatch>>,
}

impl Documented {
    pub(crate) fn new(gpu: &Gpu, labels: &[Buffer], ranks: &Buffer) -> Result<Self, GpuError> {
        Ok(Self {
            gpu: gpu.clone(),
            labels: labels.to_vec(),
            ranks: ranks.clone(),
            unique: Unique::new(gpu, labels, ranks.count::<u32>())?,
            readback: gpu.readback("number of classes on the host", 1)?,
            mark: pipeline(gpu, "mark", &[include_str!("shaders/mark.wgsl")])?,
            passes: labels.iter().map(|_| Vec::new()).collect(),
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
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let buffer = self.gpu.buffer_with("pass numbers", size_of_val(&numbers[..]) as u64, usage)?;
        self.gpu.commands("pass numbers").upload(&buffer, &numbers).submit()?;
        let pass = |labels: &Buffer, slot: usize| -> Result<Dispatch, GpuError> {
            let word = (slot * words) as u64;
            let bound: Bound = self.mark.bind([
                ("labels", labels.into()),
                ("unique", (&self.unique.labels).into()),
                ("pass_number", buffer.range::<u32>(word..word + 1)),
                ("ranks", (&self.ranks).into()),
            ])?;
            let groups = bound.groups(labels.count::<i32>());
            Ok((bound, groups))
        };
        let of_input = |labels| (0..count - known).map(|slot| pass(labels, slot)).collect();
        let added: Vec<Vec<Dispatch>> = self.labels.iter().map(of_input).collect::<Result<_, GpuError>>()?;
        // All or none, so that every input has the same number of passes.
        self.passes.iter_mut().zip(added).for_each(|(passes, added)| passes.extend(added));
        Ok(())
    }
}

impl Variant for Documented {
    fn remap(&mut self, at: usize) -> Result<(), GpuError> {
        let mut commands = self.gpu.commands("find classes");
        self.unique.find(at, &mut commands);
        commands.download(&self.unique.count, &mut self.readback).submit()?;
        let mut count = [0];
        self.readback.wait_into(&mut count)?;
        let count = count[0] as usize;
        self.make_passes(count)?;
        let mut commands = self.gpu.commands("masked passes");
        commands.clear(&self.ranks);
        for (bound, groups) in &self.passes[at][..count] {
            commands.dispatch(bound, *groups);
        }
        commands.submit()?;
        Ok(())
    }
}
