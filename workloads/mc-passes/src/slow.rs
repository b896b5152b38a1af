//! The document's "before": every pass opens, decodes, resizes, normalises and uploads every image again.

use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Staging};

use crate::host_sums::HostSums;
use crate::kit::Kit;
use crate::moments::Moments;
use crate::pixels::Loader;
use crate::plan::Plan;
use crate::storage::{Storage, upload};
use crate::trials::Variant;

/// Keeps its buffers, as the document's program does, but no pixels.
pub(crate) struct Slow {
    plan: Plan,
    loader: Loader,
    pixels: Buffer,
    staging: Staging,
    /// A batch on the host.
    values: Vec<f32>,
    sums: HostSums,
}

impl Slow {
    pub(crate) fn new(kit: &Kit) -> Result<Self, Failure> {
        let plan = kit.plan(Storage::Single);
        let bytes = plan.batch as u64 * plan.image_bytes();
        let pixels = kit.gpu.buffer("pixels", bytes)?;
        let staging = kit.gpu.staging("pixels from the host", bytes, 1)?;
        let sums = HostSums::new(kit, &plan, |_| &pixels)?;
        Ok(Self { plan, loader: kit.loader.clone(), pixels, staging, values: Vec::new(), sums })
    }
}

impl Variant for Slow {
    fn run(&mut self, order: &[usize], key: u32) -> Result<Vec<Moments>, Failure> {
        let batches = self.plan.batches();
        self.sums.run(key, |commands, i| {
            self.loader.load_into(&order[batches[i].clone()], &mut self.values)?;
            upload(commands, &mut self.staging, &self.pixels, bytemuck::cast_slice(&self.values));
            Ok(())
        })
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }
}
