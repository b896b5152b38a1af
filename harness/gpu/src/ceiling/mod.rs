//! Ceilings of a device: bandwidths, arithmetic and latencies, measured with the simplest possible commands.
//!
//! Each figure is the best of several tries, because a ceiling is an upper bound, and a disturbance of a try makes it
//! smaller. The device times its own work where it can; the host times what it takes part in, over so many repetitions
//! that the wait hardly matters.

mod arithmetic;
mod dispatch;
mod memory;
mod timing;
mod transfer;

use serde::{Deserialize, Serialize};

use crate::{Gpu, GpuError};

/// Ceilings of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceCeilings {
    /// Bytes per second that commands or shaders read and write in device memory together.
    pub copy: f64,
    /// Bytes per second from the host to the device, with the filling of staging buffers.
    pub upload: f64,
    /// Bytes per second that the host writes into staging buffers alone.
    pub staging_fill: f64,
    /// Bytes per second that the device copies out of staging buffers alone; `None` if it cannot time copies.
    pub staging_copy: Option<f64>,
    /// Bytes per second from the device to the host, with the reading of readback buffers.
    pub download: f64,
    /// Operations per second in single precision.
    pub operations: f64,
    /// Operations per second in half precision; `None` if shaders do not support it.
    pub half_operations: Option<f64>,
    /// Time in ns of a copy of four bytes to the host, including the wait for it.
    pub sync_ns: f64,
    /// Time in ns of an empty dispatch, one of many in a submit.
    pub dispatch_ns: f64,
}

impl DeviceCeilings {
    /// Measures a device, which takes about ten seconds.
    ///
    /// # Errors
    /// Returns an error if the device rejects a command that every device supports.
    pub fn measure(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self {
            copy: memory::rate(gpu)?,
            upload: transfer::upload(gpu)?,
            staging_fill: transfer::staging_fill(gpu)?,
            staging_copy: transfer::staging_copy(gpu)?,
            download: transfer::download(gpu)?,
            operations: arithmetic::operations(gpu, "f32")?,
            half_operations: match gpu.require(wgpu::Features::SHADER_F16) {
                Ok(()) => Some(arithmetic::operations(gpu, "f16")?),
                Err(_) => None,
            },
            sync_ns: transfer::sync_ns(gpu)?,
            dispatch_ns: dispatch::each_ns(gpu)?,
        })
    }
}
