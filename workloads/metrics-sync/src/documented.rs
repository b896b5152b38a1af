//! The document's "after", literally: the scalars stay on the device and are read when they are displayed, one by one,
//! each with a wait.
//!
//! The source displays only the last step. Here all variants deliver all steps, so a display reads those since the
//! previous display: 200 bytes per scalar instead of 4, for the same three syncs.

use perfharness_gpu::{Gpu, GpuError};

use crate::batch::SCALARS;
use crate::delivery::{DISPLAY, Delivery};
use crate::history::History;
use crate::item::Item;
use crate::training::Training;

#[derive(Debug)]
pub(crate) struct Documented(Item);

impl Delivery for Documented {
    const KEPT: u64 = DISPLAY;

    fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self(Item::new(gpu, Self::KEPT)?))
    }

    fn run(&mut self, training: &Training, history: &mut History) -> Result<(), GpuError> {
        for step in training.steps() {
            training.step(step).submit()?;
            let Some(count) = training.due(step) else { continue };
            for scalar in 0..SCALARS {
                history.extend(scalar, self.0.read(training, scalar, count)?);
            }
        }
        Ok(())
    }
}
