//! The summary of a timeline.

use std::collections::BTreeMap;

use perfharness_contract::protocol::{Holder, TraceCounter, TraceKind, TraceSpan};
use perfharness_record::Timeline;
use serde::{Deserialize, Serialize};

/// The figures of one timeline. Times are in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceSummary {
    /// Iterations of the traced sample.
    pub iterations: u64,
    /// Wall time of the sample.
    pub wall_ns: u64,
    /// Time with at least one iteration or the fence in progress; equals the wall time if the worker's spans are
    /// complete.
    pub iterations_ns: u64,
    /// Time with at least one wait of the host in progress.
    pub host_wait_ns: u64,
    /// Device time with at least one pass, copy or clear in progress; absent if the worker traced none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_busy_ns: Option<u64>,
    /// Largest value of each counter, in its unit.
    pub peaks: BTreeMap<String, Peak>,
    /// The buffers that were alive at the peak of device memory.
    pub holders: Vec<Holder>,
    /// Peak of the resident set of the process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// Time from the start of the process to its end.
    pub launch_ns: u64,
    /// The phases of the launch.
    pub phases: Vec<PhaseTime>,
    /// Number of spans and counter changes that the worker had no room for.
    pub dropped: u64,
    /// Metrics that the worker could not measure and the reasons.
    pub absent: BTreeMap<String, String>,
}

/// The largest value of a counter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peak {
    /// The value.
    pub value: i64,
    /// Its unit.
    pub unit: String,
    /// Whether the value is relative to the start of the sample.
    pub relative: bool,
}

/// The duration of a phase of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTime {
    /// Name of the phase.
    pub name: String,
    /// Duration in ns.
    pub ns: u64,
}

impl TraceSummary {
    /// Summarizes a timeline.
    pub fn of(timeline: &Timeline) -> Self {
        let trace = &timeline.trace;
        let time = |wanted: fn(TraceKind) -> bool| {
            covered_ns(trace.spans.iter().filter(move |span| wanted(span.kind)))
        };
        let has_device = trace.spans.iter().any(|span| span.kind.is_device());
        let phases = timeline.phases.iter();
        let peak = |counter: &TraceCounter| {
            let value = counter.points.iter().map(|(_, value)| *value).max()?;
            let peak = Peak { value, unit: counter.unit.clone(), relative: counter.relative };
            Some((counter.name.clone(), peak))
        };
        Self {
            iterations: timeline.iterations,
            wall_ns: timeline.wall_ns,
            iterations_ns: time(|kind| matches!(kind, TraceKind::Iteration | TraceKind::Fence)),
            host_wait_ns: time(|kind| kind == TraceKind::Wait),
            gpu_busy_ns: has_device.then(|| time(TraceKind::is_device)),
            peaks: trace.counters.iter().filter_map(peak).collect(),
            holders: trace.holders.clone(),
            peak_rss_bytes: timeline.peak_rss_bytes,
            launch_ns: timeline.launch_ns(),
            phases: phases.map(|p| PhaseTime { name: p.name.into(), ns: p.end_ns - p.start_ns }).collect(),
            dropped: trace.dropped,
            absent: trace.absent.clone(),
        }
    }
}

/// Returns the time covered by at least one of the spans.
fn covered_ns<'a>(spans: impl Iterator<Item = &'a TraceSpan>) -> u64 {
    let mut stretches: Vec<(u64, u64)> =
        spans.map(|span| (span.start_ns, span.start_ns.saturating_add(span.duration_ns))).collect();
    stretches.sort_unstable();
    let (mut total, mut covered_to) = (0_u64, 0);
    for (start, end) in stretches {
        total = total.saturating_add(end.saturating_sub(start.max(covered_to)));
        covered_to = covered_to.max(end);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::super::chrome::tests::{span, timeline};
    use super::*;

    #[test]
    fn waits_within_iterations_and_overlaps_on_the_device_count_once() {
        let mut timeline = timeline();
        timeline.trace.spans = vec![
            span("host", "iteration 0", TraceKind::Iteration, 100, 40),
            span("host", "wait", TraceKind::Wait, 110, 10),
            span("host", "wait", TraceKind::Wait, 125, 10),
            span("host", "fence", TraceKind::Fence, 140, 10),
            span("gpu", "pass", TraceKind::Compute, 105, 20),
            span("gpu", "copy", TraceKind::Copy, 115, 20),
        ];
        let summary = TraceSummary::of(&timeline);
        assert_eq!((summary.iterations_ns, summary.host_wait_ns, summary.gpu_busy_ns), (50, 20, Some(30)));
        timeline.trace.spans.truncate(4);
        assert_eq!(TraceSummary::of(&timeline).gpu_busy_ns, None, "an absence, not 0");
    }

    #[test]
    fn phases_add_up_to_the_launch() {
        let summary = TraceSummary::of(&timeline());
        assert_eq!(summary.phases.iter().map(|phase| phase.ns).sum::<u64>(), summary.launch_ns);
        assert_eq!(summary.launch_ns, 1_000);
    }
}
