//! Minimum work of an iteration: the work that remains when all avoidable work is avoided.

use serde::{Deserialize, Serialize};

/// Bytes that the largest last-level cache of a device may hold: the 256 MiB of AMD's MI300X (CDNA 3 white paper, 2023).
/// No iteration has to move fewer bytes through device memory, because they may still be in a cache from the one before.
pub const LARGEST_DEVICE_CACHE: f64 = (256_u64 << 20) as f64;

/// Minimum work of one iteration of a case, whatever the implementation: the bytes to move, the operations to compute
/// and the waits. Together with the ceilings of a machine it gives a lower bound of the time, and so the distance of a
/// variant from it. Fields that are 0 are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Floor {
    /// Bytes that are read and written in device memory. Bytes that are used again count once, unless more than
    /// [`LARGEST_DEVICE_CACHE`] lie in between; and if all of them are fewer, they bound no time.
    #[serde(skip_serializing_if = "is_none")]
    pub device_bytes: f64,
    /// Bytes that are copied from the host to the device.
    #[serde(skip_serializing_if = "is_none")]
    pub upload_bytes: f64,
    /// Bytes that are copied from the device to the host.
    #[serde(skip_serializing_if = "is_none")]
    pub download_bytes: f64,
    /// Bytes that are read and written in host memory, by work that must run on the host.
    #[serde(skip_serializing_if = "is_none")]
    pub host_bytes: f64,
    /// Bytes that are written to files.
    #[serde(skip_serializing_if = "is_none")]
    pub file_bytes: f64,
    /// Arithmetic operations in single precision, with a multiplication and an addition counting as two; on the device
    /// if the case uses one.
    #[serde(skip_serializing_if = "is_none")]
    pub operations: f64,
    /// Number of times that the host must wait for a result of the device, with nothing left to do meanwhile.
    #[serde(skip_serializing_if = "is_none")]
    pub syncs: f64,
    /// Number of dispatches that depend on each other.
    #[serde(skip_serializing_if = "is_none")]
    pub dispatches: f64,
}

impl Floor {
    /// Returns the bytes of device memory that an iteration moves if it uses the same `bytes` so many times: all of them
    /// each time, or once if a cache may hold them until the next.
    pub fn used_again(bytes: f64, times: f64) -> f64 {
        if bytes < LARGEST_DEVICE_CACHE { bytes } else { bytes * times }
    }

    /// Returns the floor without the bytes that a cache of the device may hold from one iteration to the next.
    #[must_use]
    pub fn beyond_device_caches(self) -> Self {
        let fits = self.device_bytes < LARGEST_DEVICE_CACHE;
        Self { device_bytes: if fits { 0.0 } else { self.device_bytes }, ..self }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_none(value: &f64) -> bool {
    *value == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_that_no_cache_holds_are_moved_each_time() {
        assert_eq!(Floor::used_again(LARGEST_DEVICE_CACHE / 2.0, 100.0), LARGEST_DEVICE_CACHE / 2.0);
        assert_eq!(Floor::used_again(LARGEST_DEVICE_CACHE, 3.0), 3.0 * LARGEST_DEVICE_CACHE);
        let of = |device_bytes| Floor { device_bytes, syncs: 1.0, ..Floor::default() };
        assert_eq!(of(LARGEST_DEVICE_CACHE / 2.0).beyond_device_caches(), of(0.0));
        assert_eq!(of(LARGEST_DEVICE_CACHE).beyond_device_caches(), of(LARGEST_DEVICE_CACHE));
    }

    #[test]
    fn what_is_not_needed_is_not_written() {
        let floor = Floor { device_bytes: 1024.0, dispatches: 1.0, ..Floor::default() };
        let text = serde_json::to_string(&floor).unwrap();
        assert_eq!(text, r#"{"device_bytes":1024.0,"dispatches":1.0}"#);
        assert_eq!(serde_json::from_str::<Floor>(&text).unwrap(), floor);
        assert_eq!(serde_json::from_str::<Floor>("{}").unwrap(), Floor::default());
    }
}
