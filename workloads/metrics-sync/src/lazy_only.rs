//! Section 2 of the document without section 3: a step leaves its scalars on the device, and the loop reads them at
//! once, all three together.

use perfharness_gpu::{Gpu, GpuError, Readback};

use crate::batch::SCALARS;
use crate::delivery::Delivery;
use crate::history::History;
use crate::training::Training;

/// Needs one copy and one wait for a step, because scalars that are still on the device need not be read one by one.
#[derive(Debug)]
pub(crate) struct LazyOnly {
    readback: Readback<f32>,
    values: [f32; SCALARS],
}

impl Delivery for LazyOnly {
    const KEPT: u64 = 1;

    fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self { readback: gpu.readback("scalars-read", SCALARS as u64)?, values: [0.0; SCALARS] })
    }

    fn run(&mut self, training: &Training, history: &mut History) -> Result<(), GpuError> {
        for step in training.steps() {
            training.step(step).submit()?;
            // A submit of its own, as for each read of the other variants: the loop reads after the step has returned.
            training.gpu.commands("item").download(training.scalars(), &mut self.readback).submit()?;
            self.readback.wait_into(&mut self.values)?;
            for (scalar, value) in self.values.chunks_exact(1).enumerate() {
                history.extend(scalar, value);
            }
        }
        Ok(())
    }
}
