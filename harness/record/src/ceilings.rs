//! Ceilings of a machine, and the distance of a benchmark from them.
//!
//! Figures of the device come from a process of their own, like everything that needs a driver. They hardly change, so
//! they are kept for a week for each machine class and version of the program.

use std::collections::BTreeMap;

use perfharness_contract::{Floor, Reading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes in a second that are read and written in device memory together.
pub const DEVICE_COPY: &str = "device-copy";
/// Bytes in a second from the host to the device.
pub const UPLOAD: &str = "host-to-device";
/// Bytes in a second that the host writes into staging buffers. Where they lie in the device, this crosses the bus.
pub const STAGING_FILL: &str = "staging-fill";
/// Bytes in a second that the device copies out of staging buffers.
pub const STAGING_COPY: &str = "staging-copy";
/// Bytes in a second from the device to the host.
pub const DOWNLOAD: &str = "device-to-host";
/// Operations in a second of the device, in single precision.
pub const OPERATIONS: &str = "operations-f32";
/// The same in half precision.
pub const HALF_OPERATIONS: &str = "operations-f16";
/// Time of a copy of four bytes to the host that is waited for.
pub const SYNC: &str = "sync";
/// Time of a dispatch of nothing.
pub const DISPATCH: &str = "empty-dispatch";
/// Bytes in a second that a copy within host memory reads and writes together, on one core.
pub const HOST_COPY: &str = "host-copy";
/// Bytes in a second that one writer gets into a file of the system's cache.
pub const FILE_WRITE: &str = "file-write";

/// Factor by which an iteration may beat a ceiling before its time is impossible. Bytes in a cache move several times as
/// fast as the copies of 64 MiB that are measured, special units compute faster than vectors, and a ceiling that was
/// measured beside other programs is too low.
const ERROR: f64 = 10.0;

/// Ceilings: the most that a machine can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceilings {
    /// When it was measured, RFC 3339, UTC.
    pub measured: String,
    /// Name and version of the program that measured it.
    pub harness: String,
    /// The device that was asked for.
    pub device: String,
    /// Name to figure.
    pub figures: BTreeMap<String, Ceiling>,
}

/// One thing that a machine can do at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The unit: `bytes/s`, `operations/s`, or `ns` for what takes at least so long.
    pub unit: String,
    /// The figure, or why there is none.
    pub value: Reading,
}

/// The time below which an iteration cannot get.
#[derive(Clone, Debug, PartialEq)]
pub struct LeastTime {
    /// The time in ns.
    pub ns: f64,
    /// The ceiling that most of it is due to.
    pub term: &'static str,
}

impl Ceilings {
    fn value(&self, name: &str) -> Option<f64> {
        self.figures.get(name)?.value.value().filter(|value| value.is_finite() && *value > 0.0)
    }

    /// The time below which an iteration with this floor cannot get. Transfers, arithmetic and work on the host overlap at
    /// best, so the longest counts; waits and dispatches come one after the other and are added. `None` where a ceiling
    /// that it takes is not known, or nothing is needed. On a GPU, bytes that a cache may hold from one iteration to the
    /// next bound nothing, because the ceiling is that of its memory.
    pub fn bound(&self, floor: &Floor, on_gpu: bool) -> Option<LeastTime> {
        let floor = if on_gpu { floor.beyond_device_caches() } else { *floor };
        bound(&floor, on_gpu, |name| self.value(name))
    }

    /// The time below which no measured time of such an iteration is believed: every ceiling is taken to be ten times as
    /// good as it was measured, and on a processor once more as many times as it has `cores`, because its ceilings are
    /// those of one.
    pub fn impossible_below(&self, floor: &Floor, on_gpu: bool, cores: u32) -> Option<LeastTime> {
        bound(floor, on_gpu, |name| {
            let value = self.value(name)?;
            Some(match name {
                SYNC | DISPATCH => value / ERROR,
                _ => value * ERROR * f64::from(cores.max(1)),
            })
        })
    }
}

/// The bound of a floor by these ceilings.
fn bound(floor: &Floor, on_gpu: bool, value: impl Fn(&str) -> Option<f64>) -> Option<LeastTime> {
    // What computes on the host moves its bytes there, and waits for no device.
    let memory = if on_gpu { DEVICE_COPY } else { HOST_COPY };
    let rates = [
        (floor.device_bytes, memory, true),
        (floor.upload_bytes, UPLOAD, on_gpu),
        (floor.download_bytes, DOWNLOAD, on_gpu),
        (floor.operations, OPERATIONS, on_gpu),
        (floor.host_bytes, HOST_COPY, true),
        (floor.file_bytes, FILE_WRITE, true),
    ];
    let mut least = LeastTime { ns: 0.0, term: memory };
    for (amount, ceiling, _) in rates.into_iter().filter(|(amount, _, counts)| *amount > 0.0 && *counts) {
        let ns = amount / value(ceiling)? * 1e9;
        if ns > least.ns {
            least = LeastTime { ns, term: ceiling };
        }
    }
    let mut most = least.ns;
    let latencies = [(floor.syncs, SYNC), (floor.dispatches, DISPATCH)];
    for (count, ceiling) in latencies.into_iter().filter(|(count, _)| *count > 0.0 && on_gpu) {
        let each = count * value(ceiling)?;
        least.ns += each;
        if each > most {
            (most, least.term) = (each, ceiling);
        }
    }
    (least.ns > 0.0).then_some(least)
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Number;

    use super::*;

    fn ceilings() -> Ceilings {
        let figure =
            |unit: &str, value: f64| Ceiling { unit: unit.into(), value: Reading::Value(Number(value)) };
        let figures = [
            (DEVICE_COPY, figure("bytes/s", 1e9)),
            (UPLOAD, figure("bytes/s", 1e8)),
            (SYNC, figure("ns", 1000.0)),
            (DISPATCH, figure("ns", 10.0)),
            (HOST_COPY, figure("bytes/s", 2e9)),
        ];
        Ceilings {
            measured: "2026-01-01T00:00:00Z".into(),
            harness: "perfharness 0".into(),
            device: "auto".into(),
            figures: figures.into_iter().map(|(name, figure)| (name.to_owned(), figure)).collect(),
        }
    }

    #[test]
    fn what_overlaps_counts_once_and_what_is_waited_for_is_added() {
        let floor = Floor { device_bytes: 1e9, upload_bytes: 1e9, syncs: 2.0, ..Floor::default() };
        let bound = ceilings().bound(&floor, true).unwrap();
        assert_eq!((bound.ns, bound.term), (1e10 + 2000.0, UPLOAD));
        let waits = Floor { upload_bytes: 100.0, syncs: 5.0, dispatches: 10.0, ..Floor::default() };
        let bound = ceilings().bound(&waits, true).unwrap();
        assert_eq!((bound.ns, bound.term), (1000.0 + 5000.0 + 100.0, SYNC));
    }

    #[test]
    fn on_the_host_there_is_no_device_to_wait_for() {
        let floor = Floor { device_bytes: 1000.0, upload_bytes: 1e9, syncs: 5.0, ..Floor::default() };
        let bound = ceilings().bound(&floor, false).unwrap();
        assert_eq!((bound.ns, bound.term), (500.0, HOST_COPY));
    }

    #[test]
    fn bytes_that_a_cache_of_the_device_holds_bound_nothing() {
        use perfharness_contract::LARGEST_DEVICE_CACHE;
        let of = |device_bytes| Floor { device_bytes, dispatches: 1.0, ..Floor::default() };
        let fits = ceilings().bound(&of(LARGEST_DEVICE_CACHE - 1.0), true).unwrap();
        assert_eq!((fits.ns, fits.term), (10.0, DISPATCH));
        let exceeds = ceilings().bound(&of(LARGEST_DEVICE_CACHE), true).unwrap();
        assert_eq!((exceeds.ns, exceeds.term), (LARGEST_DEVICE_CACHE + 10.0, DEVICE_COPY));
        assert_eq!(ceilings().bound(&of(1000.0), false).unwrap().ns, 500.0, "the ceiling of one core");
    }

    #[test]
    fn only_a_time_beyond_the_error_of_the_ceilings_is_impossible() {
        let floor = Floor { device_bytes: 1000.0, syncs: 5.0, ..Floor::default() };
        let (all, found) = (ceilings(), |cores| ceilings().impossible_below(&floor, true, cores).unwrap().ns);
        assert_eq!((found(1), found(0)), (600.0, 600.0));
        assert_eq!(found(4), 525.0, "many cores move more, and wait as long");
        assert_eq!(all.impossible_below(&Floor::default(), true, 4), None);
    }

    #[test]
    fn without_a_ceiling_or_a_need_there_is_no_bound() {
        let floor = Floor { operations: 1.0, ..Floor::default() };
        assert_eq!(ceilings().bound(&floor, true), None);
        assert_eq!(ceilings().bound(&Floor::default(), true), None);
    }
}
