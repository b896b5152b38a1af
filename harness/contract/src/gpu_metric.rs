//! Ids and definitions of the metrics that a GPU's meter reads. They are here so that a judge of records needs no
//! device.

use crate::{Direction, MetricDef, MetricKind, Scope};

/// Device time with at least one pass, copy or clear running.
pub const GPU_BUSY: &str = "gpu-busy";
/// Share of the sample's wall-clock time that is [`GPU_BUSY`].
pub const GPU_BUSY_SHARE: &str = "gpu-busy-share";
/// Device time with at least one copy running, except those of `write_buffer`.
pub const COPY_TIME: &str = "copy-time";
/// Share of [`GPU_BUSY`] that is [`COPY_TIME`].
pub const COPY_SHARE: &str = "copy-share";
/// Time that the host waited for the device, the closing fence included.
pub const HOST_WAIT: &str = "host-wait";
/// Bytes copied from staging buffers to the device.
pub const UPLOAD_BYTES: &str = "upload-bytes";
/// Copies from staging buffers to the device.
pub const UPLOAD_COPIES: &str = "upload-copies";
/// Bytes copied to readback buffers.
pub const DOWNLOAD_BYTES: &str = "download-bytes";
/// Copies to readback buffers.
pub const DOWNLOAD_COPIES: &str = "download-copies";
/// Bytes copied on the device.
pub const DEVICE_COPY_BYTES: &str = "device-copy-bytes";
/// Copies on the device.
pub const DEVICE_COPIES: &str = "device-copies";
/// Bytes given to `write_buffer`.
pub const WRITE_BUFFER_BYTES: &str = "write-buffer-bytes";
/// Calls of `write_buffer`.
pub const WRITE_BUFFER_CALLS: &str = "write-buffer-calls";
/// Waits of the host that the hot path requests, without the closing fence.
pub const SYNCS: &str = "syncs";
/// Submits to the queue.
pub const SUBMITS: &str = "submits";
/// Dispatches.
pub const DISPATCHES: &str = "dispatches";
/// Buffers created.
pub const BUFFER_CREATES: &str = "buffer-creates";
/// Peak of the bytes of live buffers, from their creation to their drop.
pub const DEVICE_PEAK: &str = "device-peak";
/// Bytes of buffers that are live at the end of the sample.
pub const DEVICE_LIVE: &str = "device-live";
/// Growth of the bytes of live buffers in an iteration, after the data that iterations keep is in place.
pub const DEVICE_GROWTH: &str = "device-growth";
/// Bytes that wgpu's allocator holds of the driver's memory at the end of the sample.
pub const DEVICE_RESERVED: &str = "device-reserved";
/// Share of the reserved bytes without an allocation.
pub const FRAGMENTATION: &str = "fragmentation";

/// Start of the ids of figures of compiled kernels; a statistic and a family follow.
const CODE: &str = "code-";
/// Instructions of compiled kernels, over the dispatches of an iteration.
pub const CODE_INSTRUCTIONS: &str = "code-instructions";
/// Registers that compiled kernels keep in memory, over the dispatches of an iteration.
pub const CODE_SPILLS: &str = "code-spills";
/// Waves of the compiled kernel of which the fewest fit on a SIMD unit.
pub const CODE_WAVES: &str = "code-waves";
/// Cycles of the waves of compiled kernels by the compiler's model, over the dispatches of an iteration.
pub const CODE_LATENCY: &str = "code-latency";

/// Returns the id of a figure of compiled kernels for a family of GPUs, such as `code-spills-navi21`.
pub fn code_metric(statistic: &str, family: &str) -> String {
    format!("{statistic}-{family}")
}

/// Returns the statistic and the family of a figure of compiled kernels, or `None` for any other metric.
pub fn code_statistic(metric: &str) -> Option<(&str, &str)> {
    metric.strip_prefix(CODE)?;
    metric.rsplit_once('-')
}

/// Returns the figures of kernels that are compiled for a family of GPUs. The harness adds them.
pub fn code_metrics(family: &str) -> Vec<MetricDef> {
    let count =
        |statistic, title| MetricDef::count(&code_metric(statistic, family), &format!("{title} ({family})"));
    vec![
        MetricDef { kind: MetricKind::Size, ..count(CODE_INSTRUCTIONS, "kernel instructions") },
        count(CODE_SPILLS, "spilled registers"),
        MetricDef { direction: Direction::Higher, ..count(CODE_WAVES, "occupancy, fewest waves") },
        // A model of the compiler: shown, because it weighs instructions, and not judged, because it knows no memory.
        MetricDef {
            kind: MetricKind::Size,
            direction: Direction::Neutral,
            ..count(CODE_LATENCY, "kernel cycles of the model")
        },
    ]
}

/// Returns every metric that a device's meter reads. A workload that opens a device declares them.
pub fn gpu_metrics() -> Vec<MetricDef> {
    let share = |id, title, direction| MetricDef {
        unit: "share".into(),
        kind: MetricKind::Derived,
        direction,
        scope: Scope::Sample,
        ..MetricDef::time(id, title)
    };
    vec![
        MetricDef::time(GPU_BUSY, "GPU busy"),
        // A faster kernel lowers it and so does a slower host, so neither direction is better by itself.
        share(GPU_BUSY_SHARE, "GPU busy share", Direction::Neutral),
        MetricDef::time(COPY_TIME, "copy time"),
        // Faster kernels raise it, and so do slower copies.
        share(COPY_SHARE, "copy share of GPU time", Direction::Neutral),
        MetricDef::time(HOST_WAIT, "host wait"),
        MetricDef::bytes(UPLOAD_BYTES, "bytes host to device"),
        MetricDef::count(UPLOAD_COPIES, "copies host to device"),
        MetricDef::bytes(DOWNLOAD_BYTES, "bytes device to host"),
        MetricDef::count(DOWNLOAD_COPIES, "copies device to host"),
        MetricDef::bytes(DEVICE_COPY_BYTES, "bytes device to device"),
        MetricDef::count(DEVICE_COPIES, "copies device to device"),
        MetricDef::bytes(WRITE_BUFFER_BYTES, "bytes of write_buffer"),
        MetricDef::count(WRITE_BUFFER_CALLS, "calls of write_buffer"),
        MetricDef::count(SYNCS, "syncs"),
        MetricDef::count(SUBMITS, "submits"),
        MetricDef::count(DISPATCHES, "dispatches"),
        MetricDef::count(BUFFER_CREATES, "buffer creates"),
        MetricDef::peak_bytes(DEVICE_PEAK, "device memory peak"),
        // The peak has to fit; the amount that remains after a sample is not better for being smaller.
        MetricDef {
            direction: Direction::Neutral,
            ..MetricDef::peak_bytes(DEVICE_LIVE, "device memory in use")
        },
        MetricDef::bytes(DEVICE_GROWTH, "device memory growth"),
        MetricDef::peak_bytes(DEVICE_RESERVED, "device memory reserved"),
        share(FRAGMENTATION, "device memory fragmentation", Direction::Lower),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Portability;

    #[test]
    fn a_figure_of_compiled_kernels_tells_its_statistic_and_family() {
        for metric in code_metrics("navi21") {
            let (statistic, family) = code_statistic(metric.id.as_str()).unwrap();
            assert_eq!((code_metric(statistic, family).as_str(), family), (metric.id.as_str(), "navi21"));
            assert_eq!(metric.portability, Portability::Portable);
        }
        assert_eq!(code_statistic(DISPATCHES), None);
    }

    #[test]
    fn counts_and_bytes_are_exact_and_portable_and_the_rest_belongs_to_a_machine() {
        for metric in gpu_metrics() {
            let exact = metric.kind == MetricKind::Exact;
            assert_eq!(exact, metric.portability == Portability::Portable, "{}", metric.id);
            assert!(!exact || metric.scope == Scope::Iteration, "{}", metric.id);
        }
    }
}
