//! Ceilings of a device: bandwidths, arithmetic and latencies, measured with the simplest possible commands.
//!
//! Each figure is the best of several tries, because a ceiling is an upper bound, and a disturbance of a try makes it
//! smaller. The device times its own work where it can; the host times what it takes part in, over so many repetitions
//! that the wait hardly matters.

mod arithmetic;
mod timing;

use serde::{Deserialize, Serialize};

use crate::{Gpu, GpuError};
use timing::{TRYING, on_device, on_host, shortest};

/// Number of bytes that are copied at once: more than caches hold, and less than any binding allows.
const COPIED: u64 = 64 << 20;

/// Ceilings of a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceCeilings {
    /// Bytes per second that a copy within device memory reads and writes together.
    pub copy: f64,
    /// Bytes per second from the host to the device.
    pub upload: f64,
    /// Bytes per second from the device to the host.
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
    /// Measures a device, which takes about six seconds.
    ///
    /// # Errors
    /// Returns an error if the device rejects a command that every device supports.
    pub fn measure(gpu: &Gpu) -> Result<Self, GpuError> {
        Ok(Self {
            copy: copy(gpu)?,
            upload: upload(gpu)?,
            download: COPIED as f64 / shortest_download(gpu, COPIED)? * 1e9,
            operations: arithmetic::operations(gpu, "f32")?,
            half_operations: match gpu.require(wgpu::Features::SHADER_F16) {
                Ok(()) => Some(arithmetic::operations(gpu, "f16")?),
                Err(_) => None,
            },
            sync_ns: shortest_download(gpu, 4)?,
            dispatch_ns: dispatch(gpu)?,
        })
    }
}

/// Returns the shortest time in ns of a download of so many bytes, including the wait for it.
fn shortest_download(gpu: &Gpu, bytes: u64) -> Result<f64, GpuError> {
    let from = gpu.buffer("from", bytes)?;
    let mut readback = gpu.readback::<u8>("down", bytes)?;
    let mut data = vec![0u8; bytes as usize];
    shortest(TRYING, |repetitions| {
        on_host(|| {
            (0..repetitions).try_for_each(|_| {
                gpu.commands("download").download(&from, &mut readback).submit()?;
                readback.wait_into(&mut data)
            })
        })
    })
}

fn copy(gpu: &Gpu) -> Result<f64, GpuError> {
    let (from, to) = (gpu.buffer("from", COPIED)?, gpu.buffer("to", COPIED)?);
    let ns = shortest(TRYING, |repetitions| {
        on_device(gpu, "copy", |commands| {
            (0..repetitions).for_each(|_| _ = commands.copy(&from, &to));
            Ok(())
        })
    })?;
    Ok(2.0 * COPIED as f64 / ns * 1e9)
}

fn upload(gpu: &Gpu) -> Result<f64, GpuError> {
    let to = gpu.buffer("to", COPIED)?;
    let data = vec![1u8; COPIED as usize];
    let mut staging = gpu.staging("up", COPIED, 1)?;
    let ns = shortest(TRYING, |repetitions| {
        on_host(|| {
            for _ in 0..repetitions {
                gpu.commands("upload").upload_through(&mut staging, &to, &data).submit()?;
            }
            gpu.fence()
        })
    })?;
    Ok(COPIED as f64 / ns * 1e9)
}

fn dispatch(gpu: &Gpu) -> Result<f64, GpuError> {
    const SOURCE: &str = "
        @group(0) @binding(0) var<storage, read_write> value: array<u32>;
        @compute @workgroup_size(1) fn main() { if value[0] == 1u { value[0] = 2u; } }";
    let value = gpu.buffer_for::<u32>("value", 1)?;
    let bound = gpu.pipeline("nothing", SOURCE, "main")?.bind([("value", &value)])?;
    shortest(TRYING, |dispatches| {
        on_device(gpu, "dispatch", |commands| {
            (0..dispatches).for_each(|_| _ = commands.dispatch(&bound, [1, 1, 1]));
            Ok(())
        })
    })
}
