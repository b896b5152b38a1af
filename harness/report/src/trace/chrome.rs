//! The Chrome trace event format, which Perfetto, `chrome://tracing` and others draw.

use std::collections::{BTreeMap, BTreeSet};

use perfharness_contract::BenchmarkId;
use perfharness_contract::protocol::{Holder, TraceSpan, TrackClock};
use perfharness_record::Timeline;
use perfharness_record::plain_text::plain;
use serde::Serialize;

/// The file. Times are in µs since the start of the launch, with three decimal places.
#[derive(Debug, Serialize)]
pub struct ChromeTrace {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
    #[serde(rename = "displayTimeUnit")]
    display_time_unit: &'static str,
    #[serde(rename = "otherData")]
    other: OtherData,
}

#[derive(Debug, Serialize)]
#[serde(tag = "ph")]
enum Event {
    /// The name or the position of a process or a thread.
    #[serde(rename = "M")]
    Metadata { name: &'static str, pid: u32, tid: u32, args: Label },
    /// A span.
    #[serde(rename = "X")]
    Complete { name: String, cat: &'static str, pid: u32, tid: u32, ts: f64, dur: f64 },
    /// The value of a counter from a point in time on.
    #[serde(rename = "C")]
    Counter { name: String, pid: u32, ts: f64, args: BTreeMap<String, i64> },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Label {
    Name(String),
    SortIndex(u32),
}

/// Facts that the drawing does not show.
#[derive(Debug, Serialize)]
struct OtherData {
    perfharness: &'static str,
    benchmark: String,
    worker: String,
    iterations: u64,
    wall_ns: u64,
    /// Largest offset of the worker's tracks from the harness's, in ns.
    worker_clock_uncertainty_ns: u64,
    /// Precision of single tracks relative to the worker's other tracks.
    tracks: BTreeMap<String, TrackClock>,
    counters: BTreeMap<String, CounterFacts>,
    facts: BTreeMap<String, String>,
    absent: BTreeMap<String, String>,
    holders: Vec<Holder>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_rss_bytes: Option<u64>,
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct CounterFacts {
    unit: String,
    relative: bool,
    changes_per_point: u64,
    points: usize,
}

/// The harness's phases form one process, the worker another.
const HARNESS: u32 = 1;
const WORKER: u32 = 2;

/// Converts a timeline into the file.
pub fn chrome_trace(benchmark: &BenchmarkId, timeline: &Timeline) -> ChromeTrace {
    let origin_ns = timeline.phases.first().map_or(timeline.start_ns, |phase| phase.start_ns);
    let mut events = Vec::new();
    name_process(&mut events, HARNESS, "perfharness".into());
    name_thread(&mut events, HARNESS, 1, "phases of the launch".into());
    let mut timed: Vec<(u64, u64, Event)> = Vec::new();
    let complete = |name, cat, (pid, tid), start_ns, duration_ns: u64| {
        let (ts, dur) = (microseconds(start_ns, origin_ns), duration_ns as f64 / 1e3);
        (start_ns, duration_ns, Event::Complete { name, cat, pid, tid, ts, dur })
    };
    for phase in &timeline.phases {
        let duration = phase.end_ns - phase.start_ns;
        timed.push(complete(phase.name.into(), "phase", (HARNESS, 1), phase.start_ns, duration));
    }
    name_process(&mut events, WORKER, benchmark.to_string());
    let mut tid = 0;
    for track in tracks(timeline) {
        let clock = timeline.trace.tracks.get(track).copied().unwrap_or_default();
        let shift = shift_ns(timeline, track, clock);
        let mut spans: Vec<&TraceSpan> = timeline.trace.spans.iter().filter(|s| s.track == track).collect();
        spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.duration_ns)));
        for (number, lane) in lanes(spans).into_iter().enumerate() {
            tid += 1;
            name_thread(&mut events, WORKER, tid, lane_name(track, number, clock));
            for span in lane {
                let start = i128::from(span.start_ns) + shift;
                let start = u64::try_from(start.max(0)).unwrap_or(u64::MAX);
                let (name, kind) = (plain(&span.name), span.kind.as_str());
                timed.push(complete(name, kind, (WORKER, tid), start, span.duration_ns));
            }
        }
    }
    for counter in &timeline.trace.counters {
        let since = if counter.relative { " since the start" } else { "" };
        let name = format!("{}{since}", plain(&counter.name));
        for (moment, value) in &counter.points {
            let args = [(plain(&counter.unit), *value)].into();
            let ts = microseconds(*moment, origin_ns);
            timed.push((*moment, 0, Event::Counter { name: name.clone(), pid: WORKER, ts, args }));
        }
    }
    // A span precedes the spans that it contains.
    timed.sort_by_key(|(start, duration, _)| (*start, std::cmp::Reverse(*duration)));
    events.extend(timed.into_iter().map(|(_, _, event)| event));
    ChromeTrace { events, display_time_unit: "ns", other: other_data(benchmark, timeline) }
}

fn other_data(benchmark: &BenchmarkId, timeline: &Timeline) -> OtherData {
    let trace = &timeline.trace;
    let texts = |texts: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        texts.iter().map(|(key, value)| (plain(key), plain(value))).collect()
    };
    let counters = trace.counters.iter().map(|counter| {
        let facts = CounterFacts {
            unit: plain(&counter.unit),
            relative: counter.relative,
            changes_per_point: counter.changes_per_point,
            points: counter.points.len(),
        };
        (plain(&counter.name), facts)
    });
    OtherData {
        perfharness: env!("CARGO_PKG_VERSION"),
        benchmark: benchmark.to_string(),
        worker: plain(&timeline.worker),
        iterations: timeline.iterations,
        wall_ns: timeline.wall_ns,
        worker_clock_uncertainty_ns: timeline.uncertainty_ns,
        tracks: trace.tracks.iter().map(|(track, clock)| (plain(track), *clock)).collect(),
        counters: counters.collect(),
        facts: texts(&trace.facts),
        absent: texts(&trace.absent),
        holders: trace.holders.iter().map(|h| Holder { label: plain(&h.label), ..h.clone() }).collect(),
        peak_rss_bytes: timeline.peak_rss_bytes,
        dropped: trace.dropped,
    }
}

/// Returns the worker's tracks: `host` first, `gpu` second, then the others.
fn tracks(timeline: &Timeline) -> Vec<&str> {
    let names: BTreeSet<&str> = timeline.trace.spans.iter().map(|span| span.track.as_str()).collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    let rank = |track: &str| ["host", "gpu"].iter().position(|first| *first == track).unwrap_or(2);
    names.sort_by_key(|track| rank(track));
    names
}

/// Returns the offset to add to the times of a track. A track with a clock of its own starts with the sample.
fn shift_ns(timeline: &Timeline, track: &str, clock: TrackClock) -> i128 {
    if !clock.own_clock {
        return 0;
    }
    let own = timeline.trace.spans.iter().filter(|span| span.track == track);
    let first = own.map(|span| span.start_ns).min().unwrap_or(0);
    i128::from(timeline.start_ns) - i128::from(first)
}

/// Distributes sorted spans over as few rows as possible, such that two spans in a row are nested or disjoint: one
/// row cannot show other overlaps.
fn lanes(spans: Vec<&TraceSpan>) -> Vec<Vec<&TraceSpan>> {
    let mut lanes: Vec<(Vec<&TraceSpan>, Vec<u64>)> = Vec::new();
    for span in spans {
        let end = span.start_ns.saturating_add(span.duration_ns);
        let fits = lanes.iter_mut().find_map(|(lane, open)| {
            while open.last().is_some_and(|open| *open <= span.start_ns) {
                open.pop();
            }
            open.last().is_none_or(|open| end <= *open).then_some((lane, open))
        });
        match fits {
            Some((lane, open)) => {
                lane.push(span);
                open.push(end);
            }
            None => lanes.push((vec![span], vec![end])),
        }
    }
    lanes.into_iter().map(|(lane, _)| lane).collect()
}

fn lane_name(track: &str, number: usize, clock: TrackClock) -> String {
    let row = if number > 0 { format!(" {}", number + 1) } else { String::new() };
    let place = if clock.own_clock { " (not placed in time)" } else { "" };
    format!("{}{row}{place}", plain(track))
}

fn name_process(events: &mut Vec<Event>, pid: u32, name: String) {
    events.push(Event::Metadata { name: "process_name", pid, tid: 0, args: Label::Name(name) });
    events.push(Event::Metadata { name: "process_sort_index", pid, tid: 0, args: Label::SortIndex(pid) });
}

fn name_thread(events: &mut Vec<Event>, pid: u32, tid: u32, name: String) {
    events.push(Event::Metadata { name: "thread_name", pid, tid, args: Label::Name(name) });
    events.push(Event::Metadata { name: "thread_sort_index", pid, tid, args: Label::SortIndex(tid) });
}

/// Converts a time to µs since the origin; dividing by 1000 yields at most three decimal places.
fn microseconds(moment_ns: u64, origin_ns: u64) -> f64 {
    (i128::from(moment_ns) - i128::from(origin_ns)) as f64 / 1e3
}

#[cfg(test)]
pub(in crate::trace) mod tests {
    use perfharness_contract::protocol::{Trace, TraceCounter, TraceKind};
    use perfharness_record::Phase;
    use serde_json::{Value, json};

    use super::*;

    pub(in crate::trace) fn span(
        track: &str,
        name: &str,
        kind: TraceKind,
        start_ns: u64,
        duration_ns: u64,
    ) -> TraceSpan {
        TraceSpan { track: track.into(), name: name.into(), kind, start_ns, duration_ns }
    }

    /// A launch of 1 µs with a sample from 5,100 to 5,150 ns.
    pub(in crate::trace) fn timeline() -> Timeline {
        let phase = |name, start_ns, end_ns| Phase { name, start_ns, end_ns };
        Timeline {
            phases: vec![phase("start", 5_000, 5_090), phase("traced sample", 5_090, 6_000)],
            worker: "w 1.0".into(),
            iterations: 1,
            start_ns: 5_100,
            wall_ns: 50,
            trace: Trace {
                spans: vec![span("host", "iteration 0", TraceKind::Iteration, 5_100, 50)],
                ..Trace::default()
            },
            uncertainty_ns: 7,
            peak_rss_bytes: None,
        }
    }

    fn written(timeline: &Timeline) -> (String, Value) {
        let text = serde_json::to_string(&chrome_trace(&"w/c/v".parse().unwrap(), timeline)).unwrap();
        let value = serde_json::from_str(&text).unwrap();
        (text, value)
    }

    fn events<'a>(value: &'a Value, ph: &str) -> Vec<&'a Value> {
        value["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == ph).collect()
    }

    #[test]
    fn spans_are_in_microseconds_since_the_start_of_the_launch() {
        let (text, value) = written(&timeline());
        assert_eq!(value["displayTimeUnit"], "ns");
        let phase =
            |name, ts, dur| json!({"ph":"X","name":name,"cat":"phase","pid":1,"tid":1,"ts":ts,"dur":dur});
        let iteration =
            json!({"ph":"X","name":"iteration 0","cat":"iteration","pid":2,"tid":1,"ts":0.1,"dur":0.05});
        let due = [phase("start", 0.0, 0.09), phase("traced sample", 0.09, 0.91), iteration];
        assert_eq!(events(&value, "X"), due.iter().collect::<Vec<_>>());
        let names: Vec<&str> =
            events(&value, "M").iter().filter_map(|event| event["args"]["name"].as_str()).collect();
        assert_eq!(names, ["perfharness", "phases of the launch", "w/c/v", "host"]);
        assert!(text.contains(r#""ts":0.1,"dur":0.05"#), "{text}");
        let other = &value["otherData"];
        assert_eq!(
            (&other["benchmark"], &other["worker_clock_uncertainty_ns"]),
            (&json!("w/c/v"), &json!(7))
        );
        assert_eq!(other["perfharness"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn hostile_names_of_a_worker_stay_text_in_valid_json() {
        let mut timeline = timeline();
        let hostile = "\"}],\"x\":\"\\ \n\t\u{1b}[31m\u{0}\u{202e}</script>";
        timeline.trace.spans = vec![span(hostile, hostile, TraceKind::Other, 5_100, 1)];
        timeline.trace.counters = vec![TraceCounter {
            name: hostile.into(),
            unit: hostile.into(),
            relative: false,
            changes_per_point: 1,
            points: vec![(5_100, 1)],
        }];
        timeline.trace.holders = vec![Holder { label: hostile.into(), count: 1, bytes: 1 }];
        timeline.trace.facts = [(hostile.to_owned(), hostile.to_owned())].into();
        timeline.worker = hostile.into();
        let (text, value) = written(&timeline);
        assert!(text.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{text}");
        let due = "\"}],\"x\":\"\\ \n\t�[31m��</script>";
        let drawn = events(&value, "X");
        assert_eq!(drawn[drawn.len() - 1]["name"], due);
        assert_eq!(events(&value, "C")[0]["args"][due], 1);
        let other = &value["otherData"];
        assert_eq!((&other["holders"][0]["label"], &other["facts"][due]), (&json!(due), &json!(due)));
        assert_eq!(value["traceEvents"].as_array().unwrap().len(), 8 + 3 + 1);
    }

    #[test]
    fn events_are_in_the_order_of_time_and_what_holds_others_comes_first() {
        let mut timeline = timeline();
        timeline.trace.spans = vec![
            span("host", "inner", TraceKind::Wait, 5_100, 10),
            span("host", "later", TraceKind::Wait, 5_120, 10),
            span("host", "outer", TraceKind::Iteration, 5_100, 50),
        ];
        let (_, value) = written(&timeline);
        let names: Vec<&str> = events(&value, "X").iter().map(|e| e["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["start", "traced sample", "outer", "inner", "later"]);
        let tids: BTreeSet<u64> = events(&value, "X").iter().map(|e| e["tid"].as_u64().unwrap()).collect();
        assert_eq!(tids.len(), 1, "all of them fit in one row");
    }

    #[test]
    fn what_overlaps_is_drawn_in_rows_of_its_own() {
        let mut timeline = timeline();
        let pass = |name, start, duration| span("gpu", name, TraceKind::Compute, start, duration);
        timeline.trace.spans =
            vec![pass("a", 5_100, 20), pass("b", 5_110, 20), pass("c", 5_120, 5), pass("d", 5_130, 5)];
        let (_, value) = written(&timeline);
        let row = |name: &str| {
            let found = events(&value, "X").into_iter().find(|event| event["name"] == name).unwrap();
            found["tid"].as_u64().unwrap()
        };
        assert_eq!((row("a"), row("b"), row("c"), row("d")), (1, 2, 1, 1));
        let names: Vec<&str> =
            events(&value, "M").iter().filter_map(|event| event["args"]["name"].as_str()).collect();
        assert_eq!(names[3..], ["gpu", "gpu 2"]);
    }

    #[test]
    fn a_track_that_cannot_be_placed_begins_with_the_sample_and_says_so() {
        let mut timeline = timeline();
        timeline.trace.spans =
            vec![span("gpu", "a", TraceKind::Copy, 3, 2), span("gpu", "b", TraceKind::Copy, 13, 2)];
        timeline.trace.tracks =
            [("gpu".to_owned(), TrackClock { uncertainty_ns: None, own_clock: true })].into();
        let (_, value) = written(&timeline);
        let starts: Vec<f64> =
            events(&value, "X").iter().filter(|e| e["pid"] == 2).map(|e| e["ts"].as_f64().unwrap()).collect();
        assert_eq!(starts, [0.1, 0.11]);
        let names = events(&value, "M");
        assert!(names.iter().any(|event| event["args"]["name"] == "gpu (not placed in time)"), "{names:?}");
        assert_eq!(value["otherData"]["tracks"]["gpu"]["own_clock"], true);
    }

    #[test]
    fn counters_say_whether_they_are_changes() {
        let mut timeline = timeline();
        let counter = |name: &str, relative| TraceCounter {
            name: name.into(),
            unit: "bytes".into(),
            relative,
            changes_per_point: 4,
            points: vec![(5_100, 0), (5_110, -8)],
        };
        timeline.trace.counters = vec![counter("heap-live", true), counter("device-live", false)];
        let (_, value) = written(&timeline);
        let drawn: Vec<(&str, i64)> = events(&value, "C")
            .iter()
            .map(|event| (event["name"].as_str().unwrap(), event["args"]["bytes"].as_i64().unwrap()))
            .collect();
        let (heap, device) = ("heap-live since the start", "device-live");
        assert_eq!(drawn, [(heap, 0), (device, 0), (heap, -8), (device, -8)]);
        let facts = json!({"unit":"bytes","relative":true,"changes_per_point":4,"points":2});
        assert_eq!(value["otherData"]["counters"]["heap-live"], facts);
    }
}
