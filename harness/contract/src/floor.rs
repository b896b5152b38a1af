//! What an iteration cannot do without: the work that is left when everything that could be saved is saved.

use serde::{Deserialize, Serialize};

/// The least that one iteration of a case needs, whatever the implementation: what must be moved, computed and waited
/// for. Beside what a machine can do at most it gives the time below which nobody gets, and so how far a variant is from
/// it. What is 0 is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Floor {
    /// Bytes that are read and written in device memory.
    #[serde(skip_serializing_if = "is_none")]
    pub device_bytes: f64,
    /// Bytes from the host to the device.
    #[serde(skip_serializing_if = "is_none")]
    pub upload_bytes: f64,
    /// Bytes from the device to the host.
    #[serde(skip_serializing_if = "is_none")]
    pub download_bytes: f64,
    /// Bytes that are read and written in host memory, by work that has to be on the host.
    #[serde(skip_serializing_if = "is_none")]
    pub host_bytes: f64,
    /// Bytes written to files.
    #[serde(skip_serializing_if = "is_none")]
    pub file_bytes: f64,
    /// Arithmetic operations in single precision, a multiplication and an addition being two, on the device where the
    /// case has one.
    #[serde(skip_serializing_if = "is_none")]
    pub operations: f64,
    /// Times that the host has to wait for a result of the device.
    #[serde(skip_serializing_if = "is_none")]
    pub syncs: f64,
    /// Dispatches that depend on each other.
    #[serde(skip_serializing_if = "is_none")]
    pub dispatches: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
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
