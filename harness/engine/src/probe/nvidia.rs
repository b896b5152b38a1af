//! Facts of NVIDIA's GPUs that Vulkan does not report: their memory, and the processes that use them.

use std::path::Path;

use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use serde::{Deserialize, Serialize};

use crate::ask::{DRIVER_TIMEOUT, ask, question};
use crate::telemetry::{open_nvml, why_not};

/// Most bytes of a process name that are read.
const NAME_BYTES: usize = 256;

/// GPUs that NVIDIA's management library (NVML) lists, or why it lists none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Nvidia {
    /// The library answers.
    Present {
        /// Version of the driver.
        driver: String,
        /// Its GPUs.
        devices: Vec<NvidiaDevice>,
    },
    /// The library does not answer.
    Absent {
        /// Reason.
        absent: String,
    },
}

/// An NVIDIA GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvidiaDevice {
    /// Its name.
    pub name: String,
    /// Memory; absent if the GPU shares that of the CPU.
    pub memory_total_bytes: Option<u64>,
    /// Memory in use by all processes together.
    pub memory_used_bytes: Option<u64>,
    /// Processes that use the GPU; absent if the driver does not report them.
    pub processes: Option<Vec<NvidiaProcess>>,
}

/// Process that uses a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NvidiaProcess {
    /// Process id as the driver sees it, which differs from that in a container.
    pub pid: u32,
    /// Name of the program; absent if this user may not see it.
    pub name: Option<String>,
    /// Device memory that the process holds; absent if the driver does not report it.
    pub memory_bytes: Option<u64>,
    /// Whether the process computes; one that only draws, such as a desktop, leaves most of the GPU to others.
    pub computes: bool,
}

impl NvidiaDevice {
    fn undescribed(at: u32, error: &NvmlError) -> Self {
        Self {
            name: format!("GPU {at} (the driver does not describe it: {error})"),
            memory_total_bytes: None,
            memory_used_bytes: None,
            processes: None,
        }
    }
}

/// Asks the library, in a process of its own.
pub fn nvidia() -> Nvidia {
    let answer = question(&["nvidia"]).and_then(|command| ask(command, DRIVER_TIMEOUT));
    answer.unwrap_or_else(|error| absent(format!("the process that asked NVIDIA's driver {error}")))
}

fn absent(reason: impl Into<String>) -> Nvidia {
    Nvidia::Absent { absent: reason.into() }
}

/// Asks the library in this process.
pub(super) fn read() -> Nvidia {
    let answer = open_nvml().and_then(|nvml| {
        let number = nvml.device_count()?;
        let devices = (0..number).map(|at| {
            let described = nvml.device_by_index(at).and_then(|gpu| device(&nvml, &gpu));
            // A GPU that is lost or forbidden does not hide the others.
            described.unwrap_or_else(|error| NvidiaDevice::undescribed(at, &error))
        });
        Ok(Nvidia::Present { driver: nvml.sys_driver_version()?, devices: devices.collect() })
    });
    answer.unwrap_or_else(|error| absent(why_not(&error)))
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

/// Lists the processes that compute on a GPU or draw with it; one that does both is listed once.
fn processes(nvml: &Nvml, gpu: &Device<'_>) -> Result<Vec<NvidiaProcess>, NvmlError> {
    let computing = gpu.running_compute_processes()?;
    // GPUs that cannot draw have no such list.
    let drawing = gpu.running_graphics_processes().unwrap_or_default();
    let shows = match gpu.is_display_active() {
        Ok(active) => active,
        Err(NvmlError::NotSupported) => false,
        // Most GPUs of desktops show something.
        Err(_) => true,
    };
    let listed =
        by_pid(computing, drawing, shows, |process| process.pid).into_iter().map(|(process, computes)| {
            NvidiaProcess {
                computes,
                pid: process.pid,
                name: nvml.sys_process_name(process.pid, NAME_BYTES).ok().as_deref().and_then(program),
                memory_bytes: match process.used_gpu_memory {
                    UsedGpuMemory::Used(bytes) => Some(bytes),
                    UsedGpuMemory::Unavailable => None,
                },
            }
        });
    Ok(listed.collect())
}

/// Returns the processes in the order of their ids, each once, and whether it computes. The driver lists Vulkan as
/// graphics, also where it only computes: on a GPU that shows nothing, no process draws.
fn by_pid<P>(computing: Vec<P>, graphics: Vec<P>, shows: bool, pid: impl Fn(&P) -> u32) -> Vec<(P, bool)> {
    let computing = computing.into_iter().map(|process| (process, true));
    let graphics = graphics.into_iter().map(|process| (process, !shows));
    let mut all: Vec<_> = computing.chain(graphics).collect();
    // The sort is stable: of a process that does both, the entry that computes comes first and stays.
    all.sort_by_key(|(process, _)| pid(process));
    all.dedup_by_key(|(process, _)| pid(process));
    all
}

/// Returns the program's name without folders and flags, which may be private.
fn program(name: &str) -> Option<String> {
    let path = name.split(" -").next().filter(|path| !path.trim().is_empty())?;
    Some(Path::new(path).file_name().map_or_else(|| path.into(), |name| name.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_screen_shows_is_drawn() {
        let all = |shows| by_pid(vec![7, 3], vec![3, 5], shows, |pid| *pid);
        assert_eq!(all(true), [(3, true), (5, false), (7, true)]);
        assert_eq!(all(false), [(3, true), (5, true), (7, true)], "a Vulkan program on a server's GPU");
    }

    #[test]
    fn a_process_is_named_without_folders_and_flags() {
        assert_eq!(program("/usr/bin/python3").as_deref(), Some("python3"));
        assert_eq!(program("/opt/some browser --type=gpu --dir=/home/me").as_deref(), Some("some browser"));
        assert_eq!(program("train").as_deref(), Some("train"));
        assert_eq!(program(""), None);
    }
}
