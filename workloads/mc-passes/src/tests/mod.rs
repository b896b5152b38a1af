//! Tests every variant against the float64 reference, with files of all kinds, and its exact counts.

mod counts;
mod files;
mod orders;
mod results;

use std::collections::BTreeMap;
use std::path::Path;

use perfharness_contract::{Failure, Measured, Setup};
use perfharness_gpu::{Gpu, metric};

use super::*;
use crate::documented::Documented;
use crate::folder::Folder;
use crate::optimized::Optimized;
use crate::slow::Slow;

const VARIANTS: [&str; 7] = [SLOW, DOCUMENTED, OPTIMIZED, FUSED, HALF, UNIFIED, PREFIX_ONCE];

/// A small case.
fn params(images: usize, passes: u64, trials: u64, batch: usize) -> Params {
    Params::new(224, images, passes, trials, batch, BUDGET)
}

/// Makes a folder with the first `count` files that the cases use.
fn made(folder: &Path, count: usize) -> Folder {
    Folder { files: photographs::make_files(folder, count).unwrap(), skipped: Vec::new() }
}

/// Creates a placement of a variant outside any case.
fn place(gpu: &Gpu, variant: &str, params: &Params, folder: &Folder) -> Result<Box<dyn Measured>, Failure> {
    let setup = Setup::new(1, "auto", ".");
    let gpu = gpu.clone();
    Ok(match variant {
        SLOW => Box::new(Trials::with_folder(gpu, params, &setup, SINGLE, folder, Slow::new)?),
        DOCUMENTED => Box::new(Trials::with_folder(gpu, params, &setup, SINGLE, folder, Documented::new)?),
        UNIFIED => Box::new(Trials::with_folder(gpu, params, &setup, SINGLE, folder, Optimized::unified)?),
        other => {
            let (storage, tolerance) =
                if other == HALF { (Storage::Half, STORED_IN_HALF) } else { (Storage::Single, SINGLE) };
            let kernels = match other {
                FUSED => Kernels::Fused,
                PREFIX_ONCE => Kernels::PrefixOnce,
                _ => Kernels::Four,
            };
            let make = |kit: &Kit| Optimized::new(kit, storage, kernels);
            Box::new(Trials::with_folder(gpu, params, &setup, tolerance, folder, make)?)
        }
    })
}

/// As [`place`], or `None` if the adapter lacks something that the variant needs.
fn place_if_able(gpu: &Gpu, variant: &str, params: &Params, folder: &Folder) -> Option<Box<dyn Measured>> {
    match place(gpu, variant, params, folder) {
        Ok(placed) => Some(placed),
        Err(Failure::Unavailable(reason)) if [HALF, UNIFIED, FUSED].contains(&variant) => {
            assert!(!reason.is_empty());
            None
        }
        Err(error) => panic!("{variant}: {error}"),
    }
}

/// Returns the device's readings of one iteration.
fn metered(
    gpu: &Gpu,
    placed: &mut dyn Measured,
    index: u64,
) -> BTreeMap<String, perfharness_contract::Reading> {
    let mut meter = gpu.meter();
    let mut readings = BTreeMap::new();
    meter.start();
    placed.run(index).unwrap();
    placed.fence().unwrap();
    meter.stop(&mut readings);
    readings
}

fn reading(readings: &BTreeMap<String, perfharness_contract::Reading>, id: &str) -> f64 {
    readings[id].value().unwrap_or_else(|| panic!("{id} is absent"))
}

const SYNCS: &str = metric::SYNCS;
