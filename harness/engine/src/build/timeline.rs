//! The readings of a run as columns, told apart by what was measured meanwhile.

use std::collections::BTreeMap;

use perfharness_contract::Number;
use perfharness_record::Origin;
use perfharness_record::telemetry::{Column, Tag, Telemetry, WorkerColumns};

use crate::measure::{RunState, SampleEvent, WatchState};
use crate::plan::Plan;
use crate::telemetry::Tick;

/// A gap of so many intervals is one in which nobody measured: a run that was continued, perhaps after a restart, with which
/// the clock begins anew.
const GAP: u64 = 100;

/// Puts the readings of a run in columns; `None` where nobody watched.
pub(super) fn timeline(plan: &Plan, state: &RunState) -> Option<Telemetry> {
    let WatchState { watched, ticks, lost, .. } = &state.watch;
    let watched = watched.as_ref()?;
    let mut tags = Tags { plan, known: Vec::new() };
    let sampled = sampled(state);
    let readings: Vec<&Tick> = ticks.iter().map(|tick| &tick.tick).collect();
    let (tag, share) = during(&readings, &sampled, watched.interval_ms, &mut tags);
    let mut workers: BTreeMap<usize, WorkerColumns> = BTreeMap::new();
    for (at, tick) in ticks.iter().enumerate() {
        for (worker, reading) in &tick.workers {
            let Some(tag) = tags.of(worker.case, worker.side) else { continue };
            let columns = workers.entry(tag).or_insert_with(|| WorkerColumns { tag, ..Default::default() });
            columns.reading.push(at);
            columns.launch.push(worker.launch);
            columns.rss_bytes.push(reading.rss_bytes);
            columns.cpu_ms.push(reading.cpu_ms);
            columns.read_bytes.push(reading.read_bytes);
            columns.written_bytes.push(reading.written_bytes);
        }
    }
    let columns = watched.series.iter().map(|series| Column {
        series: series.clone(),
        values: readings.iter().map(|tick| tick.values.get(&series.name).map(|n| rounded(n.0))).collect(),
    });
    let mut absent = watched.absent.clone();
    if let Some(reason) = lost {
        absent.insert("everything later".into(), reason.clone());
    }
    let mut limits = BTreeMap::new();
    for limit in readings.iter().flat_map(|tick| &tick.limits) {
        *limits.entry(limit.clone()).or_default() += 1;
    }
    Some(Telemetry {
        interval_ms: watched.interval_ms,
        cost: cost(&readings),
        absent,
        limits,
        at_ms: times(&readings, watched.interval_ms),
        tag,
        share,
        columns: columns.collect(),
        workers: workers.into_values().collect(),
        tags: tags.known,
    })
}

/// The tags that occur, in the order in which they are met.
struct Tags<'p> {
    plan: &'p Plan,
    known: Vec<Tag>,
}

impl Tags<'_> {
    fn of(&mut self, case: usize, side: usize) -> Option<usize> {
        let side = self.plan.cases.get(case)?.sides.get(side)?;
        let tag = Tag { benchmark: side.benchmark.clone(), base: side.origin == Origin::Base };
        let known = self.known.iter().position(|other| *other == tag);
        Some(known.unwrap_or_else(|| {
            self.known.push(tag);
            self.known.len() - 1
        }))
    }
}

/// A stretch of time that was spent in a sample.
struct Stretch {
    begin: u64,
    end: u64,
    case: usize,
    side: usize,
}

/// All samples, in the order of time. They follow each other: one thread asks for them.
fn sampled(state: &RunState) -> Vec<Stretch> {
    let timed = state.cases.iter().flat_map(|case| case.samples.iter().map(|row| &row.sample));
    let sides = state.cases.iter().flat_map(|case| &case.sides);
    let stretch = |sample: &SampleEvent| {
        let begin = sample.start_ns?;
        Some(Stretch { begin, end: begin + sample.wall_ns, case: sample.case, side: sample.side })
    };
    let mut all: Vec<Stretch> =
        timed.chain(sides.flat_map(|side| &side.metered)).filter_map(stretch).collect();
    all.sort_by_key(|stretch| stretch.begin);
    all
}

type During = (Vec<Option<usize>>, Vec<Option<Number>>);

/// Returns the tag that most of the time before each reading went to, and its share.
fn during(readings: &[&Tick], sampled: &[Stretch], interval_ms: u64, tags: &mut Tags<'_>) -> During {
    let interval_ns = interval_ms * 1_000_000;
    let mut from: Option<u64> = None;
    let of = |tick: &&Tick| {
        let to = tick.at_ns;
        let begin = from.filter(|from| *from < to && to - from < GAP * interval_ns);
        let begin = begin.unwrap_or_else(|| to.saturating_sub(interval_ns));
        from = Some(to);
        let first = sampled.partition_point(|stretch| stretch.end <= begin);
        let mut spent: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        for stretch in sampled[first..].iter().take_while(|stretch| stretch.begin < to) {
            let overlap = stretch.end.min(to).saturating_sub(stretch.begin.max(begin));
            *spent.entry((stretch.case, stretch.side)).or_default() += overlap;
        }
        let most = spent.into_iter().max_by_key(|(_, ns)| *ns).filter(|(_, ns)| *ns > 0);
        let told = most.and_then(|((case, side), ns)| {
            Some((tags.of(case, side)?, rounded(ns as f64 / (to - begin).max(1) as f64)))
        });
        told.unzip()
    };
    readings.iter().map(of).unzip()
}

/// Ms since the first reading, without the gaps.
fn times(readings: &[&Tick], interval_ms: u64) -> Vec<u64> {
    let mut last: Option<(u64, u64)> = None;
    let at = |tick: &&Tick| {
        let ms = last.map_or(0, |(at_ns, ms)| {
            let step = tick.at_ns.checked_sub(at_ns).map(|ns| ns / 1_000_000);
            ms + step.filter(|step| *step < GAP * interval_ms).unwrap_or(interval_ms)
        });
        last = Some((tick.at_ns, ms));
        ms
    };
    readings.iter().map(at).collect()
}

/// CPU time of the process that reads, over the time that it has read for. Its counter begins anew in a run that was
/// continued.
fn cost(readings: &[&Tick]) -> Option<Number> {
    let (mut cpu, mut wall) = (0, 0);
    for pair in readings.windows(2) {
        let (Some(before), Some(after)) = (pair[0].cost_ns, pair[1].cost_ns) else { continue };
        if let (Some(cpu_ns), Some(wall_ns)) =
            (after.checked_sub(before), pair[1].at_ns.checked_sub(pair[0].at_ns))
        {
            cpu += cpu_ns;
            wall += wall_ns;
        }
    }
    (wall > 0).then(|| rounded(cpu as f64 / wall as f64))
}

/// Four digits are more than any of these sources has.
fn rounded(value: f64) -> Number {
    if value == 0.0 || !value.is_finite() {
        return Number(value);
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    // Divided again where that is exact, so that the text has four digits as well.
    Number(if scale >= 1.0 {
        (value * scale).round() / scale
    } else {
        (value * scale).round() * scale.recip().round()
    })
}

#[cfg(test)]
mod tests {
    use perfharness_contract::protocol::Mode;
    use perfharness_record::telemetry::SeriesDef;

    use super::*;
    use crate::measure::{Event, SampleRow};
    use crate::telemetry::{News, ProcessReading, Watched};

    const MS: u64 = 1_000_000;

    fn plan() -> Plan {
        let side = |id: &str| {
            serde_json::json!({"benchmark": id, "worker": 0, "reference": null, "skip": null, "expect": "ok",
                "memory_bytes": null})
        };
        let design = perfharness_record::Design::of(perfharness_contract::Effort::Quick);
        serde_json::from_value(serde_json::json!({
            "seed": 1, "device": "none", "settings": {}, "effort": "quick",
            "budget": {"secs": 1, "nanos": 0}, "timeout": {"secs": 1, "nanos": 0},
            "memory_limit_bytes": null, "design": design,
            "cases": [{"workload": "w", "version": 1, "case": "c", "sides": [side("w/c/slow"), side("w/c/fast")],
                "design": crate::plan::CaseDesign::default()}],
        }))
        .unwrap()
    }

    fn tick(at_ms: u64, busy: Option<f64>) -> Tick {
        let values = busy.map(|busy| ("cpu-busy".to_owned(), Number(busy)));
        Tick { at_ns: at_ms * MS, values: values.into_iter().collect(), ..Tick::default() }
    }

    fn sample(side: usize, begin_ms: u64, ms: u64) -> SampleRow {
        let sample = serde_json::json!({"case": 0, "side": side, "launch": 0, "placement": 0, "block": 0, "round": 0,
            "position": 0, "mode": Mode::Timed, "iterations": 1, "start_ns": begin_ms * MS, "wall_ns": ms * MS,
            "cpu_ns": null});
        SampleRow { sample: serde_json::from_value(sample).unwrap(), dropped: None }
    }

    fn state(ticks: Vec<Tick>) -> RunState {
        let mut state = RunState::new([2]);
        let series = SeriesDef {
            name: "cpu-busy".into(),
            unit: "share".into(),
            source: "sysinfo".into(),
            gpu: None,
            window_ms: None,
        };
        let absent = BTreeMap::from([("gpu-power".to_owned(), "no GPU".to_owned())]);
        let watched = Watched { interval_ms: 250, series: vec![series], absent };
        state.apply(&Event::Watched(News::Began(watched)));
        for tick in ticks {
            state.apply(&Event::Watched(News::Tick(tick)));
        }
        state
    }

    #[test]
    fn a_reading_belongs_to_what_took_most_of_the_time_before_it() {
        let mut state = state(vec![tick(1000, Some(0.5)), tick(1250, None), tick(1500, Some(0.123_456))]);
        state.cases[0].samples =
            vec![sample(0, 760, 100), sample(1, 870, 60), sample(1, 1200, 200), sample(0, 1400, 20)];
        let telemetry = timeline(&plan(), &state).unwrap();
        let names: Vec<String> = telemetry.tags.iter().map(|tag| tag.benchmark.to_string()).collect();
        assert_eq!(names, ["w/c/slow", "w/c/fast"]);
        assert_eq!(telemetry.tag, [Some(0), Some(1), Some(1)]);
        // The last sample of 200 ms spans a reading: 50 ms of it lie before it.
        let shares: Vec<f64> = telemetry.share.iter().flatten().map(|n| n.0).collect();
        assert_eq!(shares, [0.4, 0.2, 0.6]);
        assert_eq!(telemetry.at_ms, [0, 250, 500]);
        assert_eq!(telemetry.columns[0].values, [Some(Number(0.5)), None, Some(Number(0.1235))]);
        assert_eq!(telemetry.absent["gpu-power"], "no GPU");
    }

    #[test]
    fn where_nothing_was_sampled_there_is_no_tag() {
        let telemetry = timeline(&plan(), &state(vec![tick(1000, None)])).unwrap();
        assert_eq!((telemetry.tag, telemetry.share), (vec![None], vec![None]));
        assert!(timeline(&plan(), &RunState::new([2])).is_none(), "nobody watched");
    }

    #[test]
    fn processes_are_told_apart_by_the_worker_that_had_their_id_last() {
        let mut state = state(Vec::new());
        let hello: perfharness_contract::protocol::HelloReply =
            serde_json::from_str(r#"{"protocol":1}"#).unwrap();
        let open = |state: &mut RunState, side, launch| {
            let hello = hello.clone();
            state.apply(&Event::WorkerOpened {
                case: 0,
                side,
                launch,
                part: 0,
                layout: 0,
                hello,
                pid: Some(7),
            });
        };
        let read = |state: &mut RunState, at_ms, pid| {
            let processes =
                vec![ProcessReading { pid, rss_bytes: at_ms, cpu_ms: 1, read_bytes: 2, written_bytes: 3 }];
            state.apply(&Event::Watched(News::Tick(Tick { processes, ..tick(at_ms, None) })));
        };
        open(&mut state, 0, 0);
        read(&mut state, 1000, 7);
        read(&mut state, 1250, 99);
        open(&mut state, 1, 1);
        read(&mut state, 1500, 7);
        let telemetry = timeline(&plan(), &state).unwrap();
        let told: Vec<_> = telemetry
            .workers
            .iter()
            .map(|w| (telemetry.tags[w.tag].benchmark.to_string(), w.reading.clone(), w.launch.clone()))
            .collect();
        assert_eq!(told, [("w/c/slow".into(), vec![0], vec![0]), ("w/c/fast".into(), vec![2], vec![1])]);
        assert_eq!(telemetry.workers[1].rss_bytes, [1500]);
    }

    #[test]
    fn time_in_which_nobody_measured_is_left_out() {
        // Continued an hour later, and again after a restart of the machine.
        let at = [10_000, 10_250, 3_610_250, 3_610_500, 40];
        let telemetry = timeline(&plan(), &state(at.map(|ms| tick(ms, None)).into())).unwrap();
        assert_eq!(telemetry.at_ms, [0, 250, 500, 750, 1000]);
    }

    #[test]
    fn the_cost_is_that_of_the_reading_process_alone() {
        let at = |ms, cost_ms: u64| Tick { cost_ns: Some(cost_ms * MS), ..tick(ms, None) };
        // The second process of a run that was continued counts from the beginning.
        let ticks = vec![at(0, 10), at(1000, 14), at(2000, 1), at(3000, 3)];
        let telemetry = timeline(&plan(), &state(ticks)).unwrap();
        assert_eq!(telemetry.cost, Some(Number(0.003)));
    }

    #[test]
    fn what_was_read_until_the_watch_was_lost_stays() {
        let mut state = state(vec![tick(1000, Some(1.0))]);
        state.apply(&Event::Watched(News::Lost { reason: "it has ended".into() }));
        let telemetry = timeline(&plan(), &state).unwrap();
        assert_eq!(telemetry.at_ms.len(), 1);
        assert_eq!(telemetry.absent["everything later"], "it has ended");
    }

    #[test]
    fn four_digits_are_kept() {
        for (value, kept) in
            [(0.0, 0.0), (0.123_456, 0.1235), (17_179_869_184.0, 17_180_000_000.0), (250.04, 250.0)]
        {
            assert_eq!(rounded(value).0, kept);
        }
        assert_eq!(rounded(1.41e9).0.to_string(), "1410000000");
    }
}
