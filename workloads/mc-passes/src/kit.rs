//! Parts that a variant is made of.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::{Counter, Meter, Reading, Setup};
use perfharness_gpu::{Gpu, GpuError};

use crate::encoder::{Encoder, Form, Kernels, Sink};
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
    /// Time that the creation of pipelines has taken so far.
    pub(crate) compiling: Cell<Duration>,
}

/// Time from the source of the kernels to their pipelines.
pub(crate) const COMPILE_TIME: &str = "compile-time";

/// Reports the same time in every sample of a placement, because its pipelines are created before the samples.
struct CompileTime(Duration);

impl Meter for CompileTime {
    fn start(&mut self) {}

    fn stop(&mut self, readings: &mut BTreeMap<String, Reading>) {
        readings.insert(COMPILE_TIME.to_owned(), (self.0.as_nanos() as u64).into());
    }
}

impl Kit {
    /// Returns the memory plan for pixels that are stored in this form.
    pub(crate) fn plan(&self, storage: Storage) -> Plan {
        plan(&Need {
            images: self.params.images,
            size: self.params.size,
            value_bytes: storage.value_bytes(),
            batch: self.params.batch,
            budget: self.params.budget_bytes,
            // A buffer holds one batch.
            max_binding: self.gpu.max_binding().min(self.gpu.facts().max_buffer_bytes),
        })
    }

    /// Creates an encoder for batches of `batch` images.
    pub(crate) fn encoder(
        &self,
        batch: usize,
        storage: Storage,
        sink: Sink,
        kernels: Kernels,
    ) -> Result<Encoder, GpuError> {
        let Params { images, size, passes, large, .. } = self.params;
        let form = Form { images, batch, size, passes, storage, sink, kernels, large };
        let encoder = Encoder::new(&self.gpu, form, &self.weights, self.forwards.clone())?;
        self.compiling.set(self.compiling.get() + encoder.compiling);
        Ok(encoder)
    }

    /// Makes metered samples report how long the creation of the pipelines took.
    pub(crate) fn attach_meter(&self, setup: &Setup) {
        setup.attach(Box::new(CompileTime(self.compiling.get())));
    }
}
