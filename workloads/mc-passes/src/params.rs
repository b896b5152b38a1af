//! Parameters of the cases.

use serde::Serialize;

use crate::dims::{FEATURES, image_values, operations, tokens};
use crate::moments::snapshots;
use crate::vit::Size;

/// Parameters of a case.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Params {
    /// Number of images, N.
    pub(crate) images: usize,
    /// Edge of an image in pixels.
    pub(crate) size: usize,
    /// Number of passes, T.
    pub(crate) passes: u64,
    /// Number of trials, K.
    pub(crate) trials: u64,
    /// Images in a batch.
    pub(crate) batch: usize,
    /// Device memory that may be used.
    pub(crate) budget_bytes: u64,
    /// Bytes of all pixels in float32.
    pub(crate) pixel_bytes: u64,
    /// Whether each of the document's numbers of passes is a run of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) separate_runs: bool,
    /// Size of the encoder, if it is a large one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) large: Option<Size>,
}

/// A trial of the schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trial {
    pub(crate) passes: u64,
    /// Numbers of passes after which the statistics are kept, in order.
    pub(crate) kept: Vec<u64>,
}

impl Params {
    pub(crate) fn new(
        size: usize,
        images: usize,
        passes: u64,
        trials: u64,
        batch: usize,
        budget_bytes: u64,
    ) -> Self {
        let pixel_bytes = 4 * (images * image_values(size)) as u64;
        Self {
            images,
            size,
            passes,
            trials,
            batch,
            budget_bytes,
            pixel_bytes,
            separate_runs: false,
            large: None,
        }
    }

    /// Takes a large encoder.
    pub(crate) fn with_encoder(self, size: Size) -> Self {
        Self { large: Some(size), ..self }
    }

    /// Floating-point operations of a forward pass of an image, and those of them that precede any dropout.
    pub(crate) fn operations(&self) -> (f64, f64) {
        match self.large {
            Some(large) => large.operations(tokens(self.size)),
            None => operations(self.size),
        }
    }

    /// Makes each of the document's numbers of passes a run of its own, as its program does.
    pub(crate) fn in_separate_runs(self) -> Self {
        Self { separate_runs: true, ..self }
    }

    /// Returns the trials of an iteration, run by run. One run keeps statistics on its way to the last pass; separate
    /// runs begin anew for each number of passes.
    pub(crate) fn schedule(&self) -> Vec<Trial> {
        let kept = snapshots(self.passes);
        let runs = if self.separate_runs {
            kept.into_iter().map(|passes| Trial { passes, kept: vec![passes] }).collect()
        } else {
            vec![Trial { passes: self.passes, kept }]
        };
        runs.into_iter().flat_map(|trial| std::iter::repeat_n(trial, self.trials as usize)).collect()
    }

    /// Number of passes in an iteration, over all trials.
    pub(crate) fn all_passes(&self) -> u64 {
        self.schedule().iter().map(|trial| trial.passes).sum()
    }

    /// Memory of a placement, on the device and on the host, that keeps `kept_pixels` bytes of pixels.
    pub(crate) fn memory_bytes(&self, kept_pixels: u64) -> u64 {
        /// Memory that a worker with an open device takes by itself.
        const WORKER: u64 = 100 << 20;
        let image = 4 * image_values(self.size) as u64;
        let batch = image * self.batch.min(self.images) as u64;
        let results =
            snapshots(self.passes).len() as u64 * self.trials * (self.images * FEATURES * 16) as u64;
        // One batch while it is loaded, and two staging buffers.
        // Weights on the host and on the device.
        let large = self.large.map_or(0, |large| {
            let rows = self.batch.min(self.images) * tokens(self.size);
            2 * large.weight_bytes(tokens(self.size)) + large.buffer_bytes(rows)
        });
        WORKER + kept_pixels + 3 * batch + results + large
    }

    /// Number of images sent through the encoder in an iteration.
    pub(crate) fn forwards(&self) -> u64 {
        self.images as u64 * self.all_passes()
    }
}
