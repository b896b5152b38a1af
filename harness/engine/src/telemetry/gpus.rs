//! GPUs that the operating system reports, for those that NVIDIA's library does not know.

use perfharness_contract::Number;
use perfharness_record::telemetry::quantity;
use sysinfo::Gpus;

use super::reading::{Tick, Watched};

/// GPUs that the system lists.
pub(super) struct OtherGpus {
    gpus: Gpus,
}

impl OtherGpus {
    /// Lists the GPUs and adds their quantities to `watched`.
    pub(super) fn open(watched: &mut Watched) -> Option<Self> {
        let lack = |watched: &mut Watched, reason: &str| {
            watched.lack(&[quantity::GPU_UTILIZATION, quantity::GPU_MEMORY], reason);
            None
        };
        let gpus = match Gpus::new_with_refreshed_list() {
            Ok(gpus) if gpus.is_empty() => {
                return lack(watched, "the system lists no GPU; a software adapter does not count");
            }
            Ok(gpus) => gpus,
            Err(error) => return lack(watched, &format!("the system does not list its GPUs: {error:?}")),
        };
        for (number, gpu) in gpus.iter().enumerate() {
            let name = gpu.model().or(gpu.vendor()).unwrap_or("a GPU without a name");
            for (quantity, unit) in [(quantity::GPU_UTILIZATION, "share"), (quantity::GPU_MEMORY, "bytes")] {
                watched.add(of_gpu(quantity, number), unit, "sysinfo", Some(name));
            }
        }
        Some(Self { gpus })
    }

    /// Reads all of them.
    pub(super) fn read(&mut self, tick: &mut Tick) {
        self.gpus.refresh(false);
        for (number, gpu) in self.gpus.iter().enumerate() {
            let mut put = |name: &str, value: Option<f64>| {
                if let Some(value) = value {
                    tick.values.insert(of_gpu(name, number), Number(value));
                }
            };
            put(quantity::GPU_UTILIZATION, gpu.usage().map(|usage| f64::from(usage) / 100.0));
            put(quantity::GPU_MEMORY, gpu.used_memory().map(|bytes| bytes as f64));
        }
    }
}

/// Returns the name of a GPU's series; for the first GPU it is that of the quantity.
pub(super) fn of_gpu(quantity: &str, number: usize) -> String {
    if number == 0 { quantity.to_owned() } else { format!("{quantity}/{number}") }
}
