//! Passes whose features are read back batch by batch and added up on the host, as in the document's program.

use std::ops::Range;

use perfharness_contract::Failure;
use perfharness_gpu::{Buffer, Commands, Gpu, GpuError, Readback};

use crate::dims::FEATURES;
use crate::encoder::{Batch, Encoder, Kernels, Sink};
use crate::kit::Kit;
use crate::moments::{Moments, Sums};
use crate::params::{Params, Trial};
use crate::plan::Plan;
use crate::storage::Storage;

/// An encoder, and the sums of its features in float64.
pub(crate) struct HostSums {
    gpu: Gpu,
    params: Params,
    encoder: Encoder,
    batches: Vec<(Range<usize>, Batch)>,
    readback: Readback<f32>,
}

impl HostSums {
    /// Creates the encoder. The pixels of batch `i` must be at the start of `pixels(i)`.
    pub(crate) fn new<'a>(
        kit: &Kit,
        plan: &Plan,
        pixels: impl Fn(usize) -> &'a Buffer,
    ) -> Result<Self, GpuError> {
        let encoder = kit.encoder(plan.batch, Storage::Single, Sink::Features, Kernels::Four)?;
        let bind = |(i, range): (usize, Range<usize>)| Ok((range.clone(), encoder.bind(pixels(i), &range)?));
        let batches = plan.batches().into_iter().enumerate().map(bind).collect::<Result<_, GpuError>>()?;
        let readback = kit.gpu.readback("features on the host", (plan.batch * FEATURES) as u64)?;
        Ok(Self { gpu: kit.gpu.clone(), params: kit.params.clone(), encoder, batches, readback })
    }

    /// Runs all passes of all trials. `bring` ensures that the pixels of a batch are on the device.
    pub(crate) fn run(
        &mut self,
        key: u32,
        mut bring: impl FnMut(&mut Commands, usize) -> Result<(), Failure>,
    ) -> Result<Vec<Moments>, Failure> {
        let images = self.params.images;
        let mut result = Vec::new();
        let mut features = vec![0.0; self.encoder.output.count::<f32>() as usize];
        for (trial, Trial { passes, kept }) in self.params.schedule().into_iter().enumerate() {
            let mut sums = Sums::new(images * FEATURES);
            for pass in 0..passes {
                let last = self.batches.len() - 1;
                for (i, (range, batch)) in self.batches.iter().enumerate() {
                    let mut commands = self.gpu.commands("batch");
                    if pass == 0 && i == 0 {
                        self.encoder.start_trial(&mut commands, key, trial as u64, passes);
                    }
                    bring(&mut commands, i)?;
                    self.encoder.forward(&mut commands, batch);
                    let values = range.len() * FEATURES;
                    commands.download(self.encoder.output.range::<f32>(0..values as u64), &mut self.readback);
                    if i == last {
                        self.encoder.end_pass(&mut commands);
                    }
                    commands.submit()?;
                    self.readback.wait_into(&mut features[..values])?;
                    sums.add(range.start * FEATURES, features[..values].iter().map(|v| f64::from(*v)));
                }
                if kept.contains(&(pass + 1)) {
                    result.push(sums.moments(pass + 1));
                }
            }
        }
        Ok(result)
    }
}
