//! GPUs that NVIDIA's library does not know, as the operating system tells.

use perfharness_contract::Number;
use sysinfo::Gpus;

use super::reading::{Tick, Watched};
use perfharness_record::telemetry::{SeriesDef, quantity};

/// The GPUs that the system lists.
pub(super) struct OtherGpus {
    gpus: Gpus,
}

impl OtherGpus {
    /// Finds out what the system lists, and adds it to what is watched.
    pub(super) fn open(watched: &mut Watched) -> Option<Self> {
        let gpus = match Gpus::new_with_refreshed_list() {
            Ok(gpus) if gpus.is_empty() => {
                Err("the system lists no GPU; a software adapter is none".to_owned())
            }
            Ok(gpus) => Ok(gpus),
            Err(error) => Err(format!("the system tells nothing of GPUs: {error:?}")),
        };
        let gpus = match gpus {
            Ok(gpus) => gpus,
            Err(reason) => {
                for name in [quantity::GPU_UTILIZATION, quantity::GPU_MEMORY] {
                    watched.absent.insert(name.into(), reason.clone());
                }
                return None;
            }
        };
        for (number, gpu) in gpus.iter().enumerate() {
            let name = gpu.model().or(gpu.vendor()).unwrap_or("a GPU without a name");
            for (quantity, unit) in [(quantity::GPU_UTILIZATION, "share"), (quantity::GPU_MEMORY, "bytes")] {
                watched.series.push(SeriesDef {
                    name: of_gpu(quantity, number),
                    unit: unit.into(),
                    source: "sysinfo".into(),
                    gpu: Some(name.to_owned()),
                    window_ms: None,
                });
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

/// The name of a series of a GPU: that of the first is the quantity's own.
pub(super) fn of_gpu(quantity: &str, number: usize) -> String {
    if number == 0 { quantity.to_owned() } else { format!("{quantity}/{number}") }
}
