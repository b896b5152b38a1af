//! Ceilings of a device: bandwidths, arithmetic and latencies, measured with the simplest possible commands.
//!
//! Each figure is the best of several tries, because a ceiling is an upper bound, and a disturbance of a try makes it
//! smaller. Times are those of the host around a submit and a wait, over so many repetitions that the wait hardly
//! matters.

use std::time::Duration;

use perfharness_platform::clock;
use serde::{Deserialize, Serialize};

use crate::{Commands, Gpu, GpuError};

/// Duration of the tries of each figure, long enough to outlast moments in which other programs keep the machine busy.
const TRYING: Duration = Duration::from_millis(600);

/// Duration of a try, which repeats its commands so often that one wait is a small part.
const TRY: Duration = Duration::from_millis(40);

/// Number of bytes that are copied at once: more than caches hold, and less than any binding allows.
const COPIED: u64 = 64 << 20;

/// Number of invocations of the kernel that computes.
const INVOCATIONS: u64 = 1 << 16;

/// Number of steps in a chain of multiplications and additions; each invocation has four chains.
const STEPS: u32 = 256;

/// Number of operations of one invocation: four chains of steps on vectors of four, with two operations each.
const OPERATIONS: f64 = STEPS as f64 * 4.0 * 4.0 * 2.0;

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
            operations: operations(gpu, "f32")?,
            half_operations: match gpu.require(wgpu::Features::SHADER_F16) {
                Ok(()) => Some(operations(gpu, "f16")?),
                Err(_) => None,
            },
            sync_ns: shortest_download(gpu, 4)?,
            dispatch_ns: dispatch(gpu)?,
        })
    }
}

/// Returns the shortest time in ns of one repetition, over tries with enough repetitions to fill their time.
fn shortest(mut repeat: impl FnMut(u64) -> Result<(), GpuError>) -> Result<f64, GpuError> {
    // Touches the buffers and triggers late compilation.
    repeat(1)?;
    let mut time = |repetitions: u64| -> Result<f64, GpuError> {
        let start = clock::now();
        repeat(repetitions)?;
        Ok(start.elapsed().as_nanos() as f64)
    };
    let mut repetitions = 1;
    while time(repetitions)? < TRY.as_nanos() as f64 && repetitions < 1 << 16 {
        repetitions *= 2;
    }
    let begin = clock::now();
    let mut best = f64::INFINITY;
    while begin.elapsed() < TRYING || best.is_infinite() {
        best = best.min(time(repetitions)? / repetitions as f64);
    }
    Ok(best)
}

/// As [`shortest`], with all repetitions in one submit.
fn shortest_in_a_submit(gpu: &Gpu, label: &str, add: impl Fn(&mut Commands)) -> Result<f64, GpuError> {
    shortest(|repetitions| {
        let mut commands = gpu.commands(label);
        (0..repetitions).for_each(|_| add(&mut commands));
        commands.submit()?;
        gpu.fence()
    })
}

/// Returns the shortest time in ns of a download of so many bytes, including the wait for it.
fn shortest_download(gpu: &Gpu, bytes: u64) -> Result<f64, GpuError> {
    let from = gpu.buffer("from", bytes)?;
    let mut readback = gpu.readback::<u8>("down", bytes)?;
    let mut data = vec![0u8; bytes as usize];
    shortest(|repetitions| {
        for _ in 0..repetitions {
            gpu.commands("download").download(&from, &mut readback).submit()?;
            readback.wait_into(&mut data)?;
        }
        Ok(())
    })
}

fn copy(gpu: &Gpu) -> Result<f64, GpuError> {
    let (from, to) = (gpu.buffer("from", COPIED)?, gpu.buffer("to", COPIED)?);
    let ns = shortest_in_a_submit(gpu, "copy", |commands| {
        commands.copy(&from, &to);
    })?;
    Ok(2.0 * COPIED as f64 / ns * 1e9)
}

fn upload(gpu: &Gpu) -> Result<f64, GpuError> {
    let to = gpu.buffer("to", COPIED)?;
    let data = vec![1u8; COPIED as usize];
    let mut staging = gpu.staging("up", COPIED, 1)?;
    let ns = shortest(|repetitions| {
        for _ in 0..repetitions {
            gpu.commands("upload").upload_through(&mut staging, &to, &data).submit()?;
        }
        gpu.fence()
    })?;
    Ok(COPIED as f64 / ns * 1e9)
}

fn operations(gpu: &Gpu, scalar: &str) -> Result<f64, GpuError> {
    let enable = if scalar == "f16" { "enable f16;" } else { "" };
    // Four chains that hardly wait for each other, and a result that depends on all of them and on a value that no
    // compiler knows. The values stay small, because infinities may take another path.
    let source = format!(
        "{enable}
        @group(0) @binding(0) var<storage, read_write> results: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {{
            let start = {scalar}(results[id.x] * 1e-30);
            let factor = vec4<{scalar}>(start, start + 0.5, start + 0.25, start + 0.125);
            var a = factor; var b = factor.yzwx; var c = factor.zwxy; var d = factor.wxyz;
            for (var step = 0u; step < {STEPS}u; step++) {{
                a = a * factor + b; b = b * factor + c; c = c * factor + d; d = d * factor + a;
            }}
            let sum = a + b + c + d;
            results[id.x] = f32(sum.x + sum.y + sum.z + sum.w);
        }}"
    );
    let results = gpu.buffer_for::<f32>("results", INVOCATIONS)?;
    gpu.commands("clear").clear(&results).submit()?;
    let pipeline = gpu.pipeline("operations", &source, "main")?;
    let bound = pipeline.bind([("results", &results)])?;
    let groups = [(INVOCATIONS / 64) as u32, 1, 1];
    let ns = shortest_in_a_submit(gpu, "operations", |commands| {
        commands.dispatch(&bound, groups);
    })?;
    Ok(OPERATIONS * INVOCATIONS as f64 / ns * 1e9)
}

fn dispatch(gpu: &Gpu) -> Result<f64, GpuError> {
    const SOURCE: &str = "
        @group(0) @binding(0) var<storage, read_write> value: array<u32>;
        @compute @workgroup_size(1) fn main() { if value[0] == 1u { value[0] = 2u; } }";
    let value = gpu.buffer_for::<u32>("value", 1)?;
    let bound = gpu.pipeline("nothing", SOURCE, "main")?.bind([("value", &value)])?;
    shortest_in_a_submit(gpu, "dispatch", |commands| {
        commands.dispatch(&bound, [1, 1, 1]);
    })
}
