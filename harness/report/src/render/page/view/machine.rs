//! Telemetry of the machine during the run, and its ceilings.

use std::collections::BTreeMap;

use perfharness_contract::{Number, Reading, standard};
use perfharness_record::ceilings::{Ceiling, Ceilings, DEVICE_COPY, HOST_COPY, OPERATIONS};
use perfharness_record::telemetry::{Column, Telemetry, WorkerColumns, quantity};
use perfharness_record::{BenchmarkRecord, RunRecord, units};
use serde::Serialize;

use super::Figure;
use super::workload::{hue, runs_on_gpu};

/// Largest number of points of a strip: more would fall on the same pixel.
const POINTS: usize = 300;

/// The contents of the section on the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct MachineView {
    pub telemetry: Option<TelemetryView>,
    pub ceilings: Option<CeilingsView>,
    pub roofline: Option<Roofline>,
}

impl MachineView {
    /// Whether the section is empty.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Telemetry of the machine during the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TelemetryView {
    /// The number, interval and cost of the readings.
    pub caption: String,
    /// One strip for each series.
    pub strips: Vec<Strip>,
    /// Measured workloads: name, start and end in s.
    pub bands: Vec<(String, f64, f64)>,
    pub workers: Vec<WorkerUse>,
    /// Limits on the clocks, and quantities without readings.
    pub notes: Vec<String>,
}

/// A series over the time of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Strip {
    /// The name of the series and its GPU.
    pub label: String,
    /// The values in words.
    pub text: String,
    /// The top of the axis, which begins at 0.
    pub top: f64,
    pub top_text: String,
    /// Time in s and value, if there is one; empty if the value never changed.
    pub points: Vec<(f64, Option<f64>)>,
}

/// Resources that the processes of a benchmark used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WorkerUse {
    /// The benchmark, and its side if it has two.
    pub benchmark: String,
    /// Number of processors that it kept busy.
    pub cores: Figure,
    /// The largest resident memory at a reading.
    pub rss: Figure,
    /// Bytes read from storage by the process that read most.
    pub read: Figure,
    /// Bytes written to storage by the process that wrote most.
    pub written: Figure,
    pub readings: usize,
}

/// The ceilings of the machine, for a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CeilingsView {
    /// The time of measuring.
    pub measured: String,
    /// Name, and value or reason for its absence.
    pub rows: Vec<(String, String)>,
}

/// Rates of arithmetic over intensity, below the ceilings of the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Roofline {
    /// Ceiling of operations per second, if known.
    pub operations: Option<f64>,
    /// Memories: name, and ceiling in bytes per second.
    pub memories: Vec<(String, f64)>,
    pub points: Vec<RooflinePoint>,
}

/// A benchmark below the roof.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RooflinePoint {
    /// Its case and variant.
    pub label: String,
    pub hue: usize,
    /// Operations per byte.
    pub intensity: Figure,
    /// Operations per second.
    pub rate: Figure,
}

pub(super) fn machine(record: &RunRecord) -> MachineView {
    MachineView {
        telemetry: record.telemetry.as_ref().filter(|t| !t.at_ms.is_empty()).map(telemetry),
        ceilings: record.ceilings.as_ref().map(ceilings),
        roofline: record.ceilings.as_ref().and_then(|ceilings| roofline(record, ceilings)),
    }
}

fn ceilings(ceilings: &Ceilings) -> CeilingsView {
    let row = |(name, ceiling): (&String, &Ceiling)| {
        let text = match &ceiling.value {
            Reading::Value(value) => units::value(&ceiling.unit, value.0),
            Reading::Absent { absent } => format!("not measured: {absent}"),
        };
        (name.clone(), text)
    };
    CeilingsView {
        measured: units::minute(&ceilings.measured),
        rows: ceilings.figures.iter().map(row).collect(),
    }
}

fn telemetry(telemetry: &Telemetry) -> TelemetryView {
    let cost = telemetry.cost.map_or_else(String::new, |Number(share)| {
        format!(", which used {} of one core", units::percent(share))
    });
    let caption = format!(
        "{} by a process beside the measurement, one every {}{cost}. Time without a measurement is left out.",
        units::counted(telemetry.at_ms.len(), "reading"),
        units::duration(telemetry.interval_ms as f64 * 1e6)
    );
    let mut strips: Vec<Strip> =
        telemetry.columns.iter().filter_map(|column| strip(telemetry, column)).collect();
    strips.extend(resident(telemetry));
    TelemetryView {
        caption,
        strips,
        bands: bands(telemetry),
        workers: workers(telemetry),
        notes: notes(telemetry),
    }
}

fn seconds(telemetry: &Telemetry, at: usize) -> f64 {
    telemetry.at_ms.get(at).copied().unwrap_or(0) as f64 / 1e3
}

fn strip(telemetry: &Telemetry, column: &Column) -> Option<Strip> {
    let series = &column.series;
    let values: Vec<f64> = column.values.iter().flatten().map(|n| n.0).filter(|v| v.is_finite()).collect();
    let most = values.iter().copied().reduce(f64::max)?;
    let least = values.iter().copied().reduce(f64::min)?;
    let top = if series.unit == "share" { 1.0 } else { most };
    let in_words = |value| units::value(&series.unit, value);
    let gpu = series.gpu.as_ref().map_or_else(String::new, |gpu| format!(" of {gpu}"));
    let window = series
        .window_ms
        .map_or_else(String::new, |Number(ms)| format!(", over windows of {}", units::duration(ms * 1e6)));
    let text = if series.unit == "J" {
        // A mean of a counter has no meaning.
        format!("{} in total", in_words(most))
    } else if least == most {
        format!("{} throughout", in_words(most))
    } else {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        format!("mean {}, from {} to {}", in_words(mean), in_words(least), in_words(most))
    };
    let points: Vec<_> = column
        .values
        .iter()
        .enumerate()
        .map(|(at, v)| (seconds(telemetry, at), v.map(|n| n.0).filter(|v| v.is_finite())))
        .collect();
    Some(Strip {
        label: format!("{}{gpu}, by {}{window}", series.name, series.source),
        text,
        top,
        top_text: in_words(top),
        points: if least == most { Vec::new() } else { thinned(&points) },
    })
}

/// Returns the strip of the memory of all workers together.
fn resident(telemetry: &Telemetry) -> Option<Strip> {
    let mut sums = vec![0; telemetry.at_ms.len()];
    for worker in &telemetry.workers {
        for (at, bytes) in worker.reading.iter().zip(&worker.rss_bytes) {
            *sums.get_mut(*at)? += bytes;
        }
    }
    let top = *sums.iter().max()? as f64;
    let points: Vec<_> =
        sums.iter().enumerate().map(|(at, sum)| (seconds(telemetry, at), Some(*sum as f64))).collect();
    (top > 0.0).then(|| Strip {
        label: "resident memory of all workers together, by sysinfo".into(),
        text: format!("at most {}", units::bytes(top)),
        top,
        top_text: units::bytes(top),
        points: thinned(&points),
    })
}

/// Keeps the largest of neighbouring points that would share a pixel, so that no peak gets lost.
fn thinned(points: &[(f64, Option<f64>)]) -> Vec<(f64, Option<f64>)> {
    let each = points.len().div_ceil(POINTS).max(1);
    let largest = |group: &[(f64, Option<f64>)]| {
        let most = group.iter().filter_map(|(_, value)| *value).reduce(f64::max);
        (group[0].0, most)
    };
    points.chunks(each).map(largest).collect()
}

/// Returns the periods in which each workload was measured. A reading without a sample belongs to the workload before
/// it.
fn bands(telemetry: &Telemetry) -> Vec<(String, f64, f64)> {
    let mut bands: Vec<(String, f64, f64)> = Vec::new();
    let interval = telemetry.interval_ms as f64 / 1e3;
    for (at, tag) in telemetry.tag.iter().enumerate() {
        let to = seconds(telemetry, at);
        let name = tag.and_then(|tag| telemetry.tags.get(tag)).map(|tag| tag.benchmark.workload.to_string());
        match (bands.last_mut(), name) {
            (Some(band), Some(name)) if band.0 == name => band.2 = to,
            (Some(band), None) => band.2 = to,
            (_, Some(name)) => {
                let from = bands.last().map_or(to - interval, |band| band.2);
                bands.push((name, from.max(0.0), to));
            }
            (None, None) => {}
        }
    }
    bands
}

fn workers(telemetry: &Telemetry) -> Vec<WorkerUse> {
    let one = |columns: &WorkerColumns| {
        let tag = telemetry.tags.get(columns.tag)?;
        let side = if tag.base { " (base)" } else { "" };
        let most = |values: &[u64]| {
            let most = values.iter().copied().max().unwrap_or(0) as f64;
            Figure::new(units::bytes(most), most)
        };
        Some(WorkerUse {
            benchmark: format!("{}{side}", tag.benchmark),
            cores: cores(telemetry, columns)
                .map_or_else(Figure::none, |cores| Figure::new(units::digits(cores), cores)),
            rss: most(&columns.rss_bytes),
            read: most(&columns.read_bytes),
            written: most(&columns.written_bytes),
            readings: columns.reading.len(),
        })
    };
    let mut workers: Vec<WorkerUse> = telemetry.workers.iter().filter_map(one).collect();
    workers.sort_by(|a, b| a.benchmark.cmp(&b.benchmark));
    workers
}

/// Returns CPU time over wall time, between readings of the same process.
fn cores(telemetry: &Telemetry, columns: &WorkerColumns) -> Option<f64> {
    let (mut cpu_ms, mut wall_ms) = (0, 0);
    let mut last: BTreeMap<u32, (usize, u64)> = BTreeMap::new();
    for ((at, launch), cpu) in columns.reading.iter().zip(&columns.launch).zip(&columns.cpu_ms) {
        if let Some((before, cpu_before)) = last.insert(*launch, (*at, *cpu)) {
            let wall = telemetry.at_ms.get(*at)?.checked_sub(*telemetry.at_ms.get(before)?)?;
            // Parts of a launch have processes of their own, whose CPU time starts at 0.
            if let Some(used) = cpu.checked_sub(cpu_before) {
                cpu_ms += used;
                wall_ms += wall;
            }
        }
    }
    (wall_ms > 0).then(|| cpu_ms as f64 / wall_ms as f64)
}

fn notes(telemetry: &Telemetry) -> Vec<String> {
    let mut notes: Vec<String> = telemetry
        .limits
        .iter()
        .map(|(limit, readings)| {
            format!("{limit} reduced the clock of a GPU at {}", units::counted(*readings as usize, "reading"))
        })
        .collect();
    if telemetry.columns.iter().any(|column| column.series.name.starts_with(quantity::GPU_UTILIZATION)) {
        notes.push(
            "GPU busy in the tables is the share of time by the device's own timestamps; the utilization here is the \
             driver's, a share of windows that can be longer than an iteration"
                .into(),
        );
    }
    // Several quantities share a reason.
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (what, reason) in &telemetry.absent {
        reasons.entry(reason).or_default().push(what);
    }
    notes.extend(reasons.iter().map(|(reason, what)| format!("not read: {} ({reason})", what.join(", "))));
    notes
}

fn roofline(record: &RunRecord, ceilings: &Ceilings) -> Option<Roofline> {
    let known = |name: &str| {
        ceilings.figures.get(name)?.value.value().filter(|value| value.is_finite() && *value > 0.0)
    };
    let figure = |value: f64, unit: &str| {
        let text = if unit.is_empty() { units::digits(value) } else { units::value(unit, value) };
        Figure::new(text, value)
    };
    let point = |benchmark: &BenchmarkRecord| {
        let id = &benchmark.id;
        let workload = record.workload(&id.workload)?;
        let floor = workload.case(&id.case)?.floor?;
        let bytes = floor.device_bytes + floor.host_bytes;
        let wall = benchmark.metrics.get(standard::WALL_TIME)?.value.value()?;
        let (intensity, rate) = (floor.operations / bytes, floor.operations / wall * 1e9);
        // The axes are logarithmic.
        let all = [floor.operations, bytes, wall, intensity, rate];
        let on = if runs_on_gpu(workload, benchmark) { " (GPU)" } else { "" };
        all.iter().all(|value| value.is_finite() && *value > 0.0).then(|| RooflinePoint {
            label: format!("{}/{}{on}", id.case, id.variant),
            hue: hue(workload, id.variant.as_str()),
            intensity: figure(intensity, ""),
            rate: figure(rate, "/s"),
        })
    };
    let points: Vec<RooflinePoint> = record.benchmarks.iter().filter_map(point).collect();
    let memories = [DEVICE_COPY, HOST_COPY];
    let memories = memories.into_iter().filter_map(|name| Some((name.to_owned(), known(name)?))).collect();
    (!points.is_empty()).then(|| Roofline { operations: known(OPERATIONS), memories, points })
}

#[cfg(test)]
mod tests {
    use perfharness_contract::BenchmarkId;
    use perfharness_record::telemetry::{SeriesDef, Tag};

    use super::*;

    fn tag(id: &str) -> Tag {
        Tag { benchmark: id.parse::<BenchmarkId>().unwrap(), base: false }
    }

    fn of(at_ms: &[u64], tags: &[Option<usize>]) -> Telemetry {
        Telemetry {
            interval_ms: 250,
            cost: Some(Number(0.002)),
            absent: BTreeMap::from([
                ("gpu-power".into(), "no driver".into()),
                ("gpu-clock".into(), "no driver".into()),
            ]),
            limits: BTreeMap::from([("its power limit".into(), 2)]),
            tags: vec![tag("a/c/slow"), tag("a/c/fast"), tag("b/c/slow")],
            at_ms: at_ms.to_vec(),
            tag: tags.to_vec(),
            share: vec![None; at_ms.len()],
            columns: vec![Column {
                series: SeriesDef {
                    name: "cpu-busy".into(),
                    unit: "share".into(),
                    source: "sysinfo".into(),
                    gpu: None,
                    window_ms: None,
                },
                values: at_ms.iter().map(|ms| (*ms > 0).then_some(Number(*ms as f64 / 1e4))).collect(),
            }],
            workers: vec![WorkerColumns {
                tag: 0,
                reading: vec![0, 1, 2, 3],
                launch: vec![0, 0, 1, 1],
                rss_bytes: vec![5, 9, 1, 2],
                cpu_ms: vec![0, 500, 10, 260],
                read_bytes: vec![0; 4],
                written_bytes: vec![0, 100, 0, 50],
            }],
        }
    }

    #[test]
    fn bands_of_workloads_follow_each_other_without_gaps() {
        let tags = [None, Some(0), Some(1), None, Some(2), Some(2)];
        let view = telemetry(&of(&[0, 250, 500, 750, 1000, 1250], &tags));
        let names: Vec<&str> = view.bands.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((view.bands[0].1, view.bands[0].2), (0.0, 0.75));
        assert_eq!((view.bands[1].1, view.bands[1].2), (0.75, 1.25));
    }

    #[test]
    fn processors_are_counted_within_a_process() {
        let view = telemetry(&of(&[0, 250, 500, 750], &[Some(0); 4]));
        let row = &view.workers[0];
        // 500 ms in 250 ms, then 250 ms in 250 ms; the step between two launches does not count.
        assert_eq!(row.cores.value, Some(1.5));
        assert_eq!((row.rss.value, row.written.value), (Some(9.0), Some(100.0)));
        assert_eq!(view.strips[1].top, 9.0);
    }

    #[test]
    fn limits_of_clocks_come_first_and_each_reason_once() {
        let view = telemetry(&of(&[0, 250, 500, 750], &[None; 4]));
        assert_eq!(
            view.notes,
            [
                "its power limit reduced the clock of a GPU at 2 readings",
                "not read: gpu-clock, gpu-power (no driver)"
            ]
        );
        assert!(view.bands.is_empty());
        assert_eq!(view.strips[0].points[0].1, None, "a reading without a value stays a gap");
    }

    #[test]
    fn thinning_keeps_peaks() {
        let points: Vec<_> = (0..3000).map(|at| (f64::from(at), Some(f64::from(at == 1234)))).collect();
        let kept = thinned(&points);
        assert!(kept.len() <= POINTS);
        assert_eq!(kept.iter().filter(|(_, value)| *value == Some(1.0)).count(), 1);
    }
}
