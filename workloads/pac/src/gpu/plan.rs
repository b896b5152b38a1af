//! A plan for the GPU: buffers, pipelines and bindings, made once.

use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Gpu};

use super::cut::Need;
use super::outcome::Outcome;
use super::planner::Planner;
use super::{COMPLEX_BYTES, Work};
use crate::fast::Spectrum;
use crate::settings::check_length;
use crate::{Filters, Settings, Shape};

/// Computes indexes of signals of one shape that are on the device.
#[derive(Debug)]
pub struct GpuPlan {
    gpu: Gpu,
    inputs: usize,
    work: Vec<Work>,
    /// Number of samples in every bin over the call, if the normalisation needs them.
    in_call: Option<Buffer>,
    outcome: Outcome,
    chunks: u64,
    copied_bytes: u64,
}

impl GpuPlan {
    /// Plans for signals that are in one of `inputs`, (channel, sample) of f32. All other data on the device, including
    /// the result that is read back, takes at most `budget` bytes.
    ///
    /// # Errors
    /// Returns an error if the settings or the shape are invalid, the budget is too small for one channel and two
    /// bands, or the device lacks something.
    pub fn new(
        gpu: &Gpu,
        settings: &Settings,
        shape: Shape,
        inputs: &[Buffer],
        budget: u64,
    ) -> Result<Self, Failure> {
        settings.check()?;
        shape.check()?;
        for input in inputs {
            check_length("samples", input.count::<f32>() as usize, shape.len())?;
        }
        let spectrum = Spectrum::<f32>::new(&Filters::design(settings, shape.samples), shape.samples);
        let need = Need {
            channels: shape.channels as u64,
            samples: shape.samples as u64,
            circle: spectrum.circle_length() as u64,
            padded: spectrum.padded_length() as u64,
            phase_bands: settings.phase.len() as u64,
            amplitude_bands: settings.amplitude.len() as u64,
            bins: settings.bins as u64,
            budget,
            max_binding: gpu.max_binding(),
            max_groups: u64::from(gpu.device().limits().max_compute_workgroups_per_dimension),
        };
        let planner = Planner::new(gpu, settings, shape, &spectrum, &need)?;
        let (work, chunks) = planner.work(inputs)?;
        let pairs = spectrum.phase.len() + spectrum.amplitude.len();
        Ok(Self {
            gpu: gpu.clone(),
            inputs: inputs.len(),
            work,
            in_call: planner.in_call,
            outcome: planner.outcome,
            chunks,
            copied_bytes: (pairs * shape.len()) as u64 * COMPLEX_BYTES,
        })
    }

    /// Bytes that a call copies unchanged on the device: the filtered signals, which are padded.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// Number of chunks into which the limits of the budget and the device divide the signals of a call.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Computes the index of input `at`, (amplitude band, phase band, channel), and waits for it: one submit, one sync.
    ///
    /// # Errors
    /// Returns an error if a sample is NaN or infinite, which leaves `index` unchanged, if the length of `index`
    /// differs from the plan, or if the device fails.
    pub fn index(&mut self, at: usize, index: &mut [f64]) -> Result<(), Failure> {
        self.outcome.check_length(index)?;
        if at >= self.inputs {
            return Err(Failure::Failed(format!("input {at} does not exist; there are {}", self.inputs)));
        }
        let mut commands = self.gpu.commands("index");
        if let Some(in_call) = &self.in_call {
            commands.clear(in_call);
        }
        for Work { bound, groups } in &self.work {
            commands.dispatch(&bound[at.min(bound.len() - 1)], *groups);
        }
        self.outcome.fetch(&mut commands, index)
    }
}
