//! Parts that all variants share: images, weights, the result, and its check.

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use perfharness_contract::{Check, Counter, Digest, Failure, Measured, Setup, Tolerance, input_rng};
use perfharness_gpu::Gpu;
use rand_pcg::rand_core::Rng as _;

use crate::dims::FEATURES;
use crate::encoder::FORWARDS;
use crate::folder::Folder;
use crate::kit::Kit;
use crate::masks::{Mask, pass_key};
use crate::moments::{Moments, Sums};
use crate::params::{Params, Trial};
use crate::photographs::{cache_folder, digest, known_digest, make_files};
use crate::pixels::Loader;
use crate::plan::Plan;
use crate::reference;
use crate::weights::Weights;

/// Number of files in the folder that are not images.
pub(crate) const SKIPPED: &str = "files-skipped";
/// Number of batches into which the images are divided.
pub(crate) const BATCHES: &str = "batches";
/// Name of the setting for a folder with the user's own images.
pub(crate) const IMAGES: &str = "images";

/// Number of forward passes that a check computes again, at least those of one image. If the case has more, the check
/// takes some of the images, others in every iteration.
const CHECKED_FORWARDS: u64 = 64;

/// A way to run all trials.
pub(crate) trait Variant {
    /// Sends the files, in this order, through all passes of all trials. Returns the statistics trial by trial of
    /// [`Params::schedule`], within a trial in the order of [`Trial::kept`].
    fn run(&mut self, order: &[usize], key: u32) -> Result<Vec<Moments>, Failure>;

    /// Returns the division of its images into batches.
    fn plan(&self) -> &Plan;
}

/// A placement.
pub(crate) struct Trials<V> {
    kit: Kit,
    pub(crate) variant: V,
    seed: u64,
    round: u64,
    tolerance: Tolerance,
    pub(crate) result: Vec<Moments>,
    /// Embedded images by file, for checks, in float64.
    embedded: HashMap<usize, Vec<f64>>,
    /// Digest of the contents of all files.
    contents: Digest,
    skipped_files: u64,
    skipped: Counter,
    batches: Counter,
}

impl<V: Variant> Trials<V> {
    /// Finds the images, notes the plan, and creates a variant.
    pub(crate) fn new(
        gpu: Gpu,
        params: &Params,
        setup: &Setup,
        tolerance: Tolerance,
        variant: impl FnOnce(&Kit) -> Result<V, Failure>,
    ) -> Result<Self, Failure> {
        let folder = if let Some(own) = setup.setting(IMAGES) {
            Folder::open(own.as_ref(), params.images)?
        } else {
            let files = make_files(&cache_folder(), params.images)?;
            if known_digest(params.images).is_some_and(|known| digest(&files).ok() != Some(known)) {
                setup.note("the images that were made here differ from those of other machines, so the figures differ too");
            }
            Folder { files, skipped: Vec::new() }
        };
        Self::with_folder(gpu, params, setup, tolerance, &folder, variant)
    }

    /// As [`new`](Self::new), with given images. If there are fewer than the case asks for, they are used repeatedly.
    pub(crate) fn with_folder(
        gpu: Gpu,
        params: &Params,
        setup: &Setup,
        tolerance: Tolerance,
        folder: &Folder,
        variant: impl FnOnce(&Kit) -> Result<V, Failure>,
    ) -> Result<Self, Failure> {
        let contents = digest(&folder.files)?;
        let loader = Loader::new(folder.files.clone(), params.size, setup);
        let weights = Weights::new(setup.seed(), params.size, params.large);
        let forwards = setup.counter(FORWARDS);
        let kit = Kit { gpu, params: params.clone(), loader, weights, forwards, compiling: Cell::default() };
        let variant = variant(&kit)?;
        kit.attach_meter(setup);
        folder.skipped_files().chain(folder.shortage(params.images)).for_each(|line| setup.note(line));
        setup.note(format!("memory plan: {}", variant.plan()));
        let (all, prefix) = params.operations();
        setup.note(format!(
            "a forward pass: {:.1} MFLOP an image, {:.0} % of them before any dropout",
            all / 1e6,
            100.0 * prefix / all
        ));
        Ok(Self {
            kit,
            variant,
            seed: setup.seed(),
            round: 0,
            tolerance,
            result: Vec::new(),
            embedded: HashMap::new(),
            contents,
            skipped_files: folder.skipped.len() as u64,
            skipped: setup.counter(SKIPPED),
            batches: setup.counter(BATCHES),
        })
    }

    /// Returns the order of the files and the key of the masks of an iteration. Both differ between iterations.
    fn input(&self, index: u64) -> (Vec<usize>, u32) {
        let mut rng = input_rng(self.seed, &format!("mc-passes {index}"), self.round);
        let files = self.kit.loader.files.len();
        let mut order: Vec<usize> = (0..self.kit.params.images).map(|i| i % files).collect();
        for last in (1..order.len()).rev() {
            // The upper half of a product maps 32 random bits to 0..=last without a division.
            let at = (u64::from(rng.next_u32()) * (last as u64 + 1)) >> 32;
            order.swap(last, at as usize);
        }
        (order, rng.next_u32())
    }

    /// Positions of the images that are checked in an iteration. They are spread evenly from a start that every round
    /// and index draws anew, so that every batch is checked eventually, even if a sample has one iteration.
    pub(crate) fn checked(&self, index: u64) -> impl Iterator<Item = usize> + use<V> {
        let images = self.kit.params.images;
        let count = (CHECKED_FORWARDS / self.kit.params.all_passes()).clamp(1, images as u64) as usize;
        let mut rng = input_rng(self.seed, &format!("mc-passes checked {index}"), self.round);
        let first = ((u64::from(rng.next_u32()) * images as u64) >> 32) as usize;
        (0..count).map(move |i| (i * images / count + first) % images)
    }

    /// Returns the expected statistics of an image: means and variances for each trial and snapshot.
    fn due(&mut self, file: usize, place: usize, key: u32) -> Result<Vec<f64>, Failure> {
        let Kit { params, loader, weights, .. } = &self.kit;
        let embedded = match self.embedded.entry(file) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(vacant) => {
                let pixels = loader.load_all(&[file])?;
                vacant.insert(reference::embed(weights, &pixels, params.size))
            }
        };
        let mut due = Vec::new();
        for (trial, Trial { passes, kept }) in params.schedule().into_iter().enumerate() {
            let mut sums = Sums::new(FEATURES);
            for pass in 0..passes {
                let mask = Mask::new(pass_key(key, trial as u64, pass), place);
                sums.add(0, reference::features(weights, embedded, mask));
                if kept.contains(&(pass + 1)) {
                    due.extend(sums.moments(pass + 1).of_image(0));
                }
            }
        }
        Ok(due)
    }
}

impl<V: Variant> Measured for Trials<V> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.round = round;
        Ok(self.kit.gpu.fence()?)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let (order, key) = self.input(index);
        self.result = self.variant.run(&order, key)?;
        self.skipped.add(self.skipped_files);
        self.batches.add(self.variant.plan().batches().len() as u64);
        Ok(())
    }

    fn fence(&mut self) -> Result<(), Failure> {
        Ok(self.kit.gpu.fence()?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        let (order, key) = self.input(index);
        let Params { images, .. } = self.kit.params;
        let kept: usize = self.kit.params.schedule().iter().map(|trial| trial.kept.len()).sum();
        let whole = self.result.iter().all(|m| m.mean.len() == images * FEATURES);
        if !whole || self.result.len() != kept {
            return Ok(Check::wrong("statistics of some images are missing"));
        }
        let (mut due, mut actual) = (Vec::new(), Vec::new());
        for place in self.checked(index) {
            due.extend(self.due(order[place], place, key)?);
            actual.extend(self.result.iter().flat_map(|moments| moments.of_image(place)));
        }
        let words: Vec<u64> = order.iter().map(|file| *file as u64).chain([u64::from(key)]).collect();
        let input = Digest::of_parts([self.contents.0.as_bytes(), bytemuck::cast_slice(&words)]);
        Ok(Check::compare(&due, &actual, self.tolerance).with_input(input))
    }
}
