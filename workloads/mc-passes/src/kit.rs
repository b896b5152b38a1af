//! What a variant is made from.

use perfharness_contract::Counter;
use perfharness_gpu::{Gpu, GpuError};

use crate::encoder::{Encoder, Form, Sink};
use crate::params::Params;
use crate::pixels::Loader;
use crate::plan::{Need, Plan, plan};
use crate::storage::Storage;
use crate::weights::Weights;

/// The device, the images and the weights of a placement.
pub(crate) struct Kit {
    pub(crate) gpu: Gpu,
    pub(crate) params: Params,
    pub(crate) loader: Loader,
    pub(crate) weights: Weights,
    pub(crate) forwards: Counter,
}

impl Kit {
    /// The memory plan where pixels are stored in this form.
    pub(crate) fn plan(&self, storage: Storage) -> Plan {
        plan(&Need {
            images: self.params.images,
            size: self.params.size,
            value_bytes: storage.value_bytes(),
            batch: self.params.batch,
            budget: self.params.budget_bytes,
            max_binding: self.gpu.max_binding(),
        })
    }

    /// An encoder for batches of `batch` images.
    pub(crate) fn encoder(
        &self,
        batch: usize,
        storage: Storage,
        sink: Sink,
        fused: bool,
    ) -> Result<Encoder, GpuError> {
        let Params { images, size, passes, .. } = self.params;
        let form = Form { images, batch, size, passes, storage, sink, fused };
        Encoder::new(&self.gpu, form, &self.weights, self.forwards.clone())
    }
}
