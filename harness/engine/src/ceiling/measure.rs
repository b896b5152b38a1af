//! Measuring of the ceilings, in the process that may crash over it.

use std::collections::BTreeMap;

use perfharness_contract::{Number, Reading};
use perfharness_gpu::{DeviceCeilings, Gpu, GpuOptions};
use perfharness_record::ceilings::{
    Ceiling, DEVICE_COPY, DISPATCH, DOWNLOAD, FILE_WRITE, HALF_OPERATIONS, HOST_COPY, OPERATIONS,
    STAGING_COPY, STAGING_FILL, SYNC, UPLOAD,
};

use super::host;

/// Measures the host, and the device that a run with this `--device` uses; takes about eight seconds.
pub fn measure(device: &str) -> BTreeMap<String, Ceiling> {
    let mut figures = BTreeMap::new();
    let mut put = |name: &str, unit: &str, value: Result<f64, String>| {
        let value = match value {
            Ok(value) => Reading::Value(Number(value)),
            Err(absent) => Reading::Absent { absent },
        };
        figures.insert(name.to_owned(), Ceiling { unit: unit.into(), value });
    };
    put(HOST_COPY, "bytes/s", Ok(host::copy()));
    put(FILE_WRITE, "bytes/s", host::write(&std::env::temp_dir()).map_err(|error| error.to_string()));
    let measured = Gpu::new(device, &GpuOptions::default()).and_then(|gpu| DeviceCeilings::measure(&gpu));
    let measured = measured.map_err(|error| error.to_string());
    let figure = |pick: fn(&DeviceCeilings) -> f64| measured.as_ref().map(pick).map_err(Clone::clone);
    put(DEVICE_COPY, "bytes/s", figure(|of| of.copy));
    put(UPLOAD, "bytes/s", figure(|of| of.upload));
    put(DOWNLOAD, "bytes/s", figure(|of| of.download));
    put(OPERATIONS, "operations/s", figure(|of| of.operations));
    let optional = |pick: fn(&DeviceCeilings) -> Option<f64>, why: &str| {
        measured.as_ref().map_err(Clone::clone).and_then(|of| pick(of).ok_or_else(|| why.to_owned()))
    };
    let half = optional(|of| of.half_operations, "the adapter has no shader-f16");
    put(HALF_OPERATIONS, "operations/s", half);
    put(STAGING_FILL, "bytes/s", figure(|of| of.staging_fill));
    let staging_copy = optional(|of| of.staging_copy, "the adapter has no timestamp queries around copies");
    put(STAGING_COPY, "bytes/s", staging_copy);
    put(SYNC, "ns", figure(|of| of.sync_ns));
    put(DISPATCH, "ns", figure(|of| of.dispatch_ns));
    figures
}
