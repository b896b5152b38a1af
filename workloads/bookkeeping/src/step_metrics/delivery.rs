//! Ways of the metrics to the host.

use std::hint::black_box;

use perfharness_gpu::{Gpu, GpuError, Readback, Slice};

use super::experts::SCALARS;
use super::training::{EVERY, Training};

/// A variant: it runs the training and appends the metrics of every tenth step.
pub(super) trait Delivery {
    fn run(
        &mut self,
        training: &Training,
        input: usize,
        history: &mut Vec<[f32; SCALARS]>,
    ) -> Result<(), GpuError>;
}

/// A choice of steps and reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Steps from one computation to the next.
    every: u64,
    /// Other numbers that are read at every step.
    others: u64,
}

/// The document's "before".
pub(super) const ALWAYS: Choice = Choice { every: 1, others: 0 };
/// The document's "after".
pub(super) const AS_DUE: Choice = Choice { every: EVERY, others: 0 };
/// The source's program after the change: it still reads its loss and its loads, six numbers, at every step. A weight of
/// six experts stands for them here, since a read of four bytes costs the same whatever they are.
pub(super) const AS_SHIPPED: Choice = Choice { every: EVERY, others: 6 };

/// Reads numbers one by one, each with a copy in its own submit and a wait.
#[derive(Debug)]
pub(super) struct Items {
    choice: Choice,
    readback: Readback<f32>,
}

impl Items {
    pub(super) fn new(gpu: &Gpu, choice: Choice) -> Result<Self, GpuError> {
        Ok(Self { choice, readback: gpu.readback("item", 1)? })
    }

    fn read(&mut self, gpu: &Gpu, from: Slice<'_>) -> Result<f32, GpuError> {
        gpu.commands("item").download(from, &mut self.readback).submit()?;
        let mut value = [0.0];
        self.readback.wait_into(&mut value)?;
        Ok(value[0])
    }
}

impl Delivery for Items {
    fn run(
        &mut self,
        training: &Training,
        input: usize,
        history: &mut Vec<[f32; SCALARS]>,
    ) -> Result<(), GpuError> {
        for step in 0..training.steps {
            let mut commands = training.step(step, input);
            let is_computed = step.is_multiple_of(self.choice.every);
            if is_computed {
                training.compute(&mut commands, input);
            }
            commands.submit()?;
            if is_computed {
                let mut metrics = [0.0; SCALARS];
                for (at, metric) in (0..).zip(&mut metrics) {
                    *metric = self.read(&training.gpu, training.metric(at))?;
                }
                if step.is_multiple_of(EVERY) {
                    history.push(metrics);
                }
            }
            for expert in 0..self.choice.others {
                black_box(self.read(&training.gpu, training.state(expert))?);
            }
        }
        Ok(())
    }
}

/// The best delivery that we know: the submit that computes the metrics also copies them, and the host takes them when
/// the next ones are on their way.
#[derive(Debug)]
pub(super) struct Late {
    next: Readback<f32>,
    last: Readback<f32>,
}

impl Late {
    pub(super) fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let readback = || gpu.readback("metrics-read", SCALARS as u64);
        Ok(Self { next: readback()?, last: readback()? })
    }

    fn take(&mut self, history: &mut Vec<[f32; SCALARS]>) -> Result<(), GpuError> {
        let mut metrics = [0.0; SCALARS];
        self.last.wait_into(&mut metrics)?;
        history.push(metrics);
        Ok(())
    }
}

impl Delivery for Late {
    fn run(
        &mut self,
        training: &Training,
        input: usize,
        history: &mut Vec<[f32; SCALARS]>,
    ) -> Result<(), GpuError> {
        for step in 0..training.steps {
            let mut commands = training.step(step, input);
            if step.is_multiple_of(EVERY) {
                training.compute(&mut commands, input);
                commands.download(training.metrics(), &mut self.next);
            }
            commands.submit()?;
            if step.is_multiple_of(EVERY) {
                if step > 0 {
                    self.take(history)?;
                }
                std::mem::swap(&mut self.next, &mut self.last);
            }
        }
        if training.steps > 0 { self.take(history) } else { Ok(()) }
    }
}
