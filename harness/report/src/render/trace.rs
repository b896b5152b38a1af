//! Traces as text: the time of each sample, the events that cover it, and the holders of memory.

use std::fmt::Write as _;

use perfharness_contract::protocol::Holder;
use perfharness_record::plain_text::plain;
use perfharness_record::units;

use super::table::case_heading;
use crate::trace::{Peak, TraceFile, TraceState, TraceSummary, Traces};

/// Renders the traces of all requested benchmarks.
pub fn render_traces(traces: &Traces) -> String {
    let mut text = String::new();
    let mut case = String::new();
    for traced in &traces.benchmarks {
        let id = &traced.id;
        case_heading(&mut text, &mut case, id);
        match &traced.trace {
            TraceState::Taken(TraceFile { file, summary }) => {
                let _ = writeln!(text, " {}  {}", id.variant, figures(summary));
                for line in details(summary) {
                    let _ = writeln!(text, "   {line}");
                }
                let _ = writeln!(text, "   {}", file.display());
            }
            TraceState::Absent { absent } => {
                let _ = writeln!(text, " {}  no trace: {}", id.variant, plain(absent));
            }
        }
    }
    text
}

fn figures(summary: &TraceSummary) -> String {
    let iterations = units::counted(summary.iterations as usize, "iteration");
    let share = |ns: u64| units::percent(ns as f64 / summary.wall_ns.max(1) as f64);
    let mut text = format!("{} for {iterations}", units::duration(summary.wall_ns as f64));
    if let Some(busy) = summary.gpu_busy_ns {
        let _ = write!(text, "; GPU busy {}", share(busy));
    }
    if summary.host_wait_ns > 0 || summary.gpu_busy_ns.is_some() {
        let _ = write!(text, "; host waits {}", share(summary.host_wait_ns));
    }
    for (name, peak) in &summary.peaks {
        let _ = write!(text, "; {} at most {}", plain(name), amount(peak));
    }
    text
}

fn amount(peak: &Peak) -> String {
    let value = units::value(&peak.unit, peak.value as f64);
    if peak.relative && peak.value >= 0 { format!("+{value}") } else { value }
}

fn details(summary: &TraceSummary) -> Vec<String> {
    let mut lines = Vec::new();
    if !summary.holders.is_empty() {
        let held: Vec<String> = summary.holders.iter().map(holder).collect();
        lines.push(format!("device memory at its peak: {}", held.join(", ")));
    }
    let phases: Vec<String> =
        summary.phases.iter().map(|p| format!("{} {}", p.name, units::duration(p.ns as f64))).collect();
    lines.push(format!("launch {}: {}", units::duration(summary.launch_ns as f64), phases.join(", ")));
    lines.extend(summary.absent.iter().map(|(what, why)| format!("no {}: {}", plain(what), plain(why))));
    if summary.dropped > 0 {
        let dropped = units::counted(summary.dropped as usize, "span or change");
        lines.push(format!("{dropped} left out: the worker's buffer was full"));
    }
    lines
}

fn holder(holder: &Holder) -> String {
    let pieces = if holder.count > 1 { format!(" in {}", holder.count) } else { String::new() };
    format!("{} {}{pieces}", plain(&holder.label), units::bytes(holder.bytes as f64))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perfharness_record::Outcome;

    use super::*;
    use crate::trace::{PhaseTime, TracedBenchmark};

    fn shown(summary: TraceSummary) -> String {
        let trace = TraceState::Taken(TraceFile { file: "traces/w.c.v.trace.json".into(), summary });
        let absent = TraceState::Absent { absent: "no clock\u{1b}".into() };
        let benchmark =
            |id: &str, trace| TracedBenchmark { id: id.parse().unwrap(), outcome: Outcome::ok(), trace };
        render_traces(&Traces {
            benchmarks: vec![benchmark("w/c/v", trace), benchmark("w/c/x", absent)],
            ..Traces::default()
        })
    }

    fn summary() -> TraceSummary {
        TraceSummary {
            iterations: 3,
            wall_ns: 2_000_000,
            iterations_ns: 2_000_000,
            host_wait_ns: 0,
            gpu_busy_ns: None,
            peaks: BTreeMap::new(),
            holders: Vec::new(),
            peak_rss_bytes: None,
            launch_ns: 50_000_000,
            phases: vec![
                PhaseTime { name: "start".into(), ns: 40_000_000 },
                PhaseTime { name: "finish".into(), ns: 10_000_000 },
            ],
            dropped: 0,
            absent: BTreeMap::new(),
        }
    }

    #[test]
    fn a_benchmark_without_a_device_says_nothing_of_one() {
        let text = anstream::adapter::strip_str(&shown(summary())).to_string();
        let due = "w/c\n v  2.00 ms for 3 iterations\n   launch 50.0 ms: start 40.0 ms, finish 10.0 ms\n   \
                   traces/w.c.v.trace.json\n x  no trace: no clock�\n";
        assert_eq!(text, due);
    }

    #[test]
    fn what_covered_the_sample_and_what_held_memory_is_told() {
        let peak = |value, relative| Peak { value, unit: "bytes".into(), relative };
        let text = shown(TraceSummary {
            host_wait_ns: 1_500_000,
            gpu_busy_ns: Some(1_000_000),
            peaks: [
                ("device-live".to_owned(), peak(3_000_000, false)),
                ("heap-live".to_owned(), peak(1_200, true)),
            ]
            .into(),
            holders: vec![
                Holder { label: "labels".into(), count: 2, bytes: 2_000_000 },
                Holder { label: "ranks".into(), count: 1, bytes: 1_000_000 },
            ],
            dropped: 1,
            absent: [("copy-time".to_owned(), "no queries".to_owned())].into(),
            ..summary()
        });
        for due in [
            "2.00 ms for 3 iterations; GPU busy 50.0 %; host waits 75.0 %; \
             device-live at most 3.00 MB; heap-live at most +1.20 kB",
            "device memory at its peak: labels 2.00 MB in 2, ranks 1.00 MB",
            "no copy-time: no queries",
            "1 span or change left out: the worker's buffer was full",
        ] {
            assert!(text.contains(due), "{due} is not in {text}");
        }
    }
}
