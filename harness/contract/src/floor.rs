//! Minimum work of an iteration: the work that remains when all avoidable work is avoided.

use serde::{Deserialize, Serialize};

/// Minimum work of one iteration of a case, whatever the implementation: the bytes to move, the operations to compute
/// and the waits. Together with the ceilings of a machine it gives a lower bound of the time, and so the distance of a
/// variant from it. Fields that are 0 are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Floor {
    /// Bytes that are read and written in device memory.
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
    /// Number of times that the host must wait for a result of the device.
    #[serde(skip_serializing_if = "is_none")]
    pub syncs: f64,
    /// Number of dispatches that depend on each other.
    #[serde(skip_serializing_if = "is_none")]
    pub dispatches: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_none(value: &f64) -> bool {
    *value == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_needed_is_not_written() {
        let floor = Floor { device_bytes: 1024.0, dispatches: 1.0, ..Floor::default() };
        let text = serde_json::to_string(&floor).unwrap();
        assert_eq!(text, r#"{"device_bytes":1024.0,"dispatches":1.0}"#);
        assert_eq!(serde_json::from_str::<Floor>(&text).unwrap(), floor);
        assert_eq!(serde_json::from_str::<Floor>("{}").unwrap(), Floor::default());
    }
}
