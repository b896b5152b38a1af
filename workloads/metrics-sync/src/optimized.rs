//! The best implementation that we know: one copy, in the submit of every 50th step, brings the scalars of 50 steps,
//! and the host reads them when the next 50 steps are submitted.

use perfharness_gpu::{Gpu, GpuError, Readback};

use crate::batch::SCALARS;
use crate::delivery::{DISPLAY, Delivery};
use crate::history::History;
use crate::training::Training;

const VALUES: usize = SCALARS * DISPLAY as usize;

/// Uses two readback buffers alternately, so that the device has work while the host reads.
///
/// The scalars on the device need only one buffer: the device executes commands in order, so it overwrites them after
/// the copy.
#[derive(Debug)]
pub(crate) struct Optimized {
    next: Readback<f32>,
    last: Readback<f32>,
    values: [f32; VALUES],
}

impl Delivery for Optimized {
    const KEPT: u64 = DISPLAY;

    fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let readback = || gpu.readback("scalars-read", VALUES as u64);
        Ok(Self { next: readback()?, last: readback()?, values: [0.0; VALUES] })
    }

    fn run(&mut self, training: &Training, history: &mut History) -> Result<(), GpuError> {
        let mut on_its_way = None;
        for step in training.steps() {
            let mut commands = training.step(step);
            let Some(count) = training.due(step) else {
                commands.submit()?;
                continue;
            };
            // The whole block is copied even if the loop ends within it; this is still one copy, and the rest is
            // ignored.
            commands.download(training.scalars(), &mut self.next).submit()?;
            if let Some(count) = on_its_way.replace(count) {
                self.take(count, history)?;
            }
            std::mem::swap(&mut self.next, &mut self.last);
        }
        on_its_way.map_or(Ok(()), |count| self.take(count, history))
    }
}

impl Optimized {
    fn take(&mut self, count: u64, history: &mut History) -> Result<(), GpuError> {
        self.last.wait_into(&mut self.values)?;
        for (scalar, values) in self.values.chunks_exact(DISPLAY as usize).enumerate() {
            history.extend(scalar, &values[..count as usize]);
        }
        Ok(())
    }
}
