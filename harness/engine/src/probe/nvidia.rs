//! What NVIDIA's driver tells of its GPUs beside Vulkan: their memory, and who else uses them.

use std::path::Path;
use std::time::Duration;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use serde::{Deserialize, Serialize};

use crate::ask::{ask, question};
use crate::telemetry::{open_nvml, why_not};

const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of a process's name that are asked for.
const NAME_BYTES: usize = 256;

/// The GPUs that NVIDIA's management library (NVML) knows, or why it tells nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Nvidia {
    /// It is there.
    Present {
        /// Version of the driver.
        driver: String,
        /// Its GPUs.
        devices: Vec<NvidiaDevice>,
    },
    /// It is not.
    Absent {
        /// Why.
        absent: String,
    },
}

/// A GPU of NVIDIA's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvidiaDevice {
    /// Its name.
    pub name: String,
    /// Its memory; absent where it shares that of the CPU.
    pub memory_total_bytes: Option<u64>,
    /// Memory in use, by whomever.
    pub memory_used_bytes: Option<u64>,
    /// The processes that use it; absent where the driver does not tell.
    pub processes: Option<Vec<NvidiaProcess>>,
}

/// A process that uses a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvidiaProcess {
    /// Its id, as the driver sees it: from within a container that is another one.
    pub pid: u32,
    /// Its program; absent where this user may not know.
    pub name: Option<String>,
    /// Device memory that it holds; absent where the system keeps that from the driver.
    pub memory_bytes: Option<u64>,
    /// Whether it computes; one that only draws, such as a desktop, leaves most of the GPU to others.
    pub computes: bool,
}

impl NvidiaDevice {
    fn untold(at: u32, error: &NvmlError) -> Self {
        Self {
            name: format!("GPU {at} (the driver tells nothing of it: {error})"),
            memory_total_bytes: None,
            memory_used_bytes: None,
            processes: None,
        }
    }
}

/// Asks the library in a process of its own.
pub fn nvidia() -> Nvidia {
    let answer = question(&["nvidia"]).and_then(|command| ask(command, PATIENCE));
    answer.unwrap_or_else(|error| absent(format!("the process that asked NVIDIA's driver {error}")))
}

fn absent(reason: impl Into<String>) -> Nvidia {
    Nvidia::Absent { absent: reason.into() }
}

/// Asks the library in this process.
pub(super) fn read() -> Nvidia {
    let told = open_nvml().and_then(|nvml| {
        let number = nvml.device_count()?;
        let devices = (0..number).map(|at| {
            let told = nvml.device_by_index(at).and_then(|gpu| device(&nvml, &gpu));
            // One that is lost or forbidden does not hide the others.
            told.unwrap_or_else(|error| NvidiaDevice::untold(at, &error))
        });
        Ok(Nvidia::Present { driver: nvml.sys_driver_version()?, devices: devices.collect() })
    });
    told.unwrap_or_else(|error| absent(why_not(&error)))
}

fn device(nvml: &Nvml, gpu: &Device<'_>) -> Result<NvidiaDevice, NvmlError> {
    let memory = gpu.memory_info().ok();
    Ok(NvidiaDevice {
        name: gpu.name()?,
        memory_total_bytes: memory.as_ref().map(|memory| memory.total),
        memory_used_bytes: memory.map(|memory| memory.used),
        processes: processes(nvml, gpu).ok(),
    })
}

/// Whoever computes on it or draws with it; who does both is named once.
fn processes(nvml: &Nvml, gpu: &Device<'_>) -> Result<Vec<NvidiaProcess>, NvmlError> {
    let computing = gpu.running_compute_processes()?.into_iter().map(|process| (process, true));
    // GPUs that cannot draw have no such list.
    let drawing = gpu.running_graphics_processes().unwrap_or_default();
    let mut all: Vec<_> = computing.chain(drawing.into_iter().map(|process| (process, false))).collect();
    // The sort is stable: of who does both, the first to stay is the one that computes.
    all.sort_by_key(|(process, _)| process.pid);
    all.dedup_by_key(|(process, _)| process.pid);
    let told = all.into_iter().map(|(process, computes)| NvidiaProcess {
        computes,
        pid: process.pid,
        name: nvml.sys_process_name(process.pid, NAME_BYTES).ok().as_deref().and_then(program),
        memory_bytes: match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(bytes),
            UsedGpuMemory::Unavailable => None,
        },
    });
    Ok(told.collect())
}

/// The program without its folders and flags, which are nobody's business.
fn program(name: &str) -> Option<String> {
    let path = name.split(" -").next().filter(|path| !path.trim().is_empty())?;
    Some(Path::new(path).file_name().map_or_else(|| path.into(), |name| name.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_named_without_folders_and_flags() {
        assert_eq!(program("/usr/bin/python3").as_deref(), Some("python3"));
        assert_eq!(program("/opt/some browser --type=gpu --dir=/home/me").as_deref(), Some("some browser"));
        assert_eq!(program("train").as_deref(), Some("train"));
        assert_eq!(program(""), None);
    }
}
