//! The document's "before": each step reads its three scalars one by one and waits for each of them.

use perfharness_gpu::{Gpu, GpuError};

use crate::batch::SCALARS;
use crate::delivery::Delivery;
use crate::history::History;
use crate::item::Item;
use crate::training::Training;

#[derive(Debug)]
pub(crate) struct Slow(Item);

impl Delivery for Slow {
    const KEPT: u64 = 1;

    fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self(Item::new(gpu, Self::KEPT)?))
    }

    fn run(&mut self, training: &Training, history: &mut History) -> Result<(), GpuError> {
        for step in training.steps() {
            training.step(step).submit()?;
            for scalar in 0..SCALARS {
                history.extend(scalar, self.0.read(training, scalar, 1)?);
            }
        }
        Ok(())
    }
}
