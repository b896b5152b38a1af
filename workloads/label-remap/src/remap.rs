//! Parts that all variants share: the labels, the result, and its check.

use perfharness_contract::{Check, Counter, Failure, Measured, Setup, Tolerance};
use perfharness_gpu::{Buffer, Gpu, GpuError};

use crate::labels::{Labels, Params, dense_ranks};

/// Work counter: labels replaced.
pub(crate) const LABELS: &str = "labels";

/// A way to replace labels.
pub(crate) trait Variant {
    /// Starts to write the ranks of the labels at position `at` of the pool. The labels stay unchanged.
    fn remap(&mut self, at: usize) -> Result<(), GpuError>;
}

/// A placement.
pub(crate) struct Remap<V> {
    gpu: Gpu,
    pub(crate) labels: Labels,
    /// Buffer for the ranks, and the variant that fills it; `None` without labels, since a buffer cannot be empty.
    work: Option<(Buffer, V)>,
    replaced: Counter,
}

impl<V: Variant> Remap<V> {
    /// Creates the buffers, and a variant that reads the pool of labels and writes the ranks.
    pub(crate) fn new(
        gpu: &Gpu,
        params: &Params,
        setup: &Setup,
        variant: impl FnOnce(&Gpu, &[Buffer], &Buffer) -> Result<V, GpuError>,
    ) -> Result<Self, Failure> {
        let labels = Labels::new(gpu, params, setup.seed())?;
        let work = if params.n == 0 {
            None
        } else {
            let ranks = gpu.buffer_for::<u32>("ranks", params.n)?;
            let variant = variant(gpu, &labels.device, &ranks)?;
            Some((ranks, variant))
        };
        Ok(Self { gpu: gpu.clone(), labels, work, replaced: setup.counter(LABELS) })
    }

    fn ranks(&self) -> Result<Vec<u32>, GpuError> {
        self.work.as_ref().map_or(Ok(Vec::new()), |(ranks, _)| self.gpu.read(ranks))
    }
}

impl<V: Variant> Measured for Remap<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        Ok(self.labels.load(round)?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        if let Some((ranks, variant)) = &mut self.work {
            variant.remap(Labels::at(index))?;
            self.replaced.add(ranks.count::<u32>());
        }
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let due: Vec<f64> = dense_ranks(self.labels.host(index)).into_iter().map(f64::from).collect();
        let ranks: Vec<f64> = self.ranks()?.into_iter().map(f64::from).collect();
        Ok(Check::compare(&due, &ranks, Tolerance::Exact).with_input(self.labels.digest(index)))
    }
}
