//! Parts that all variants share: the signals, the result, and its check.

use perfharness_contract::{Check, Counter, Direction, Failure, Measured, MetricDef, Portability, Setup};

use super::check::check;
use super::signal::{Params, Signals};
use crate::{PacError, Settings, Shape};

const PAIRS: &str = "pairs";
const SAMPLES: &str = "samples";
pub(crate) const COPIED_BYTES: &str = "copied-bytes";
pub(crate) const TENSOR_BYTES: &str = "tensor-bytes";
pub(crate) const CHUNKS: &str = "chunks";

impl From<PacError> for Failure {
    fn from(error: PacError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Figures that a variant reports for a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// Bytes written where values were only moved: cloned, flipped, cut, gathered, rearranged, or put into a longer or
    /// a complex buffer. Results of arithmetic do not count, nor do zeros that fill up a buffer.
    pub(crate) copied_bytes: u64,
    /// Size of the one-hot tensor in bytes, zeros included.
    pub(crate) tensor_bytes: u64,
    /// Number of chunks of the work.
    pub(crate) chunks: u64,
}

/// A way to compute indexes.
pub(crate) trait Variant {
    /// Absolute tolerance of the check.
    const TOLERANCE: f64;

    /// Loads the signals of a round. Not timed.
    fn load(&mut self, _pool: &[Vec<f32>]) -> Result<(), Failure> {
        Ok(())
    }

    /// Computes the index, (amplitude band, phase band, channel), of the signal `x`, which is at position `at` of the
    /// pool.
    fn index(&mut self, at: usize, x: &[f32], index: &mut [f64]) -> Result<Told, Failure>;
}

/// A placement.
pub(crate) struct Pac<V> {
    settings: Settings,
    shape: Shape,
    signals: Signals,
    variant: V,
    index: Vec<f64>,
    pairs: Counter,
    samples: Counter,
    copied: Counter,
    tensor: Counter,
    chunks: Counter,
}

impl<V: Variant> Pac<V> {
    pub(crate) fn new(
        params: &Params,
        setup: &Setup,
        variant: impl FnOnce(&Settings, Shape) -> Result<V, Failure>,
    ) -> Result<Self, Failure> {
        let (settings, shape) = (params.settings(), params.shape());
        Ok(Self {
            signals: Signals::new(params, setup.seed()),
            variant: variant(&settings, shape)?,
            index: vec![0.0; settings.indexes(shape.channels)],
            pairs: setup.counter(PAIRS),
            samples: setup.counter(SAMPLES),
            copied: setup.counter(COPIED_BYTES),
            tensor: setup.counter(TENSOR_BYTES),
            chunks: setup.counter(CHUNKS),
            settings,
            shape,
        })
    }
}

pub(crate) fn metrics() -> Vec<MetricDef> {
    vec![
        MetricDef::work(PAIRS, "indexes computed"),
        MetricDef::work(SAMPLES, "samples taken in"),
        MetricDef::bytes(COPIED_BYTES, "bytes copied unchanged"),
        MetricDef::bytes(TENSOR_BYTES, "bytes of the one-hot tensor"),
        // They follow from the limits of the device, and fewer chunks are not better as such.
        MetricDef {
            direction: Direction::Neutral,
            portability: Portability::MachineClass,
            ..MetricDef::count(CHUNKS, "chunks of the work")
        },
    ]
}

impl<V: Variant> Measured for Pac<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.signals.load(round);
        self.variant.load(&self.signals.pool)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let at = Signals::at(index);
        let told = self.variant.index(at, &self.signals.pool[at], &mut self.index)?;
        self.pairs.add(self.index.len() as u64);
        self.samples.add(self.shape.len() as u64);
        self.copied.add(told.copied_bytes);
        self.tensor.add(told.tensor_bytes);
        self.chunks.add(told.chunks);
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let x = &self.signals.pool[Signals::at(index)];
        let check = check(&self.settings, self.shape, x, &self.index, V::TOLERANCE)?;
        Ok(check.with_input(self.signals.digest(index)))
    }
}
