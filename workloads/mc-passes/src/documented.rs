//! The document's "after": it decodes pixels once and keeps them on the device, and reads features back in every pass.

use perfharness_contract::Failure;

use crate::host_sums::HostSums;
use crate::kit::Kit;
use crate::moments::Moments;
use crate::plan::Plan;
use crate::storage::Storage;
use crate::tensor::Tensor;
use crate::trials::Variant;

/// If the pixels do not fit, it keeps them on the host and uploads batch after batch, as the document says.
pub(crate) struct Documented {
    tensor: Tensor,
    sums: HostSums,
}

impl Documented {
    pub(crate) fn new(kit: &Kit) -> Result<Self, Failure> {
        let tensor = Tensor::new(kit, Storage::Single, 1)?;
        let sums = HostSums::new(kit, &tensor.plan, |i| tensor.buffer(i))?;
        Ok(Self { tensor, sums })
    }
}

impl Variant for Documented {
    fn run(&mut self, order: &[usize], key: u32) -> Result<Vec<Moments>, Failure> {
        self.tensor.load(order)?;
        self.sums.run(key, |commands, i| {
            self.tensor.bring(commands, i);
            Ok(())
        })
    }

    fn plan(&self) -> &Plan {
        &self.tensor.plan
    }
}
