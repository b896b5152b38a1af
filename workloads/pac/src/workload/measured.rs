//! What all variants share: their signals, their result, and how it is checked.

use perfharness_contract::{Check, Counter, Failure, Measured, MetricDef, Setup};

use super::check::check;
use super::signal::{Params, Signals};
use crate::{PacError, Settings, Shape};

const PAIRS: &str = "pairs";
const SAMPLES: &str = "samples";
pub(crate) const COPIED_BYTES: &str = "copied-bytes";

impl From<PacError> for Failure {
    fn from(error: PacError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A way of computing indexes.
pub(crate) trait Variant {
    /// What a check allows, absolutely.
    const TOLERANCE: f64;

    /// Takes over the signals of a round. Not timed.
    fn load(&mut self, _pool: &[Vec<f32>]) -> Result<(), Failure> {
        Ok(())
    }

    /// Computes the index, (amplitude band, phase band, channel), of the signal `x`, which is at place `at` of the
    /// pool, and tells how many bytes were copied without being computed with.
    fn index(&mut self, at: usize, x: &[f32], index: &mut [f64]) -> Result<u64, Failure>;
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
    ]
}

impl<V: Variant> Measured for Pac<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.signals.load(round);
        self.variant.load(&self.signals.pool)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let at = Signals::at(index);
        let copied = self.variant.index(at, &self.signals.pool[at], &mut self.index)?;
        self.pairs.add(self.index.len() as u64);
        self.samples.add(self.shape.len() as u64);
        self.copied.add(copied);
        Ok(())
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let x = &self.signals.pool[Signals::at(index)];
        let check = check(&self.settings, self.shape, x, &self.index, V::TOLERANCE)?;
        Ok(check.with_input(self.signals.digest(index)))
    }
}
