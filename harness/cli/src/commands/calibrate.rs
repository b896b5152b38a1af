//! `perfharness calibrate`

use perfharness_contract::{BenchmarkId, Effort, standard};
use perfharness_engine::measure::SampleLength;
use perfharness_engine::plan::planted;
use perfharness_engine::run::{ComparedWith, PlannedRun, RecordPlace, RunSpec};
use perfharness_record::baseline::file;
use perfharness_record::compare::{Terms, judge};
use perfharness_record::{ComparisonRecord, RunEnd, RunRecord};
use perfharness_report::render::{Calibration, CalibrationRow, PlantedRow, render_calibration};
use perfharness_verdict::judge::share_to_plant;

use super::Terminal;
use super::places::place_of;
use super::request::{or_all, timed};
use crate::args::CalibrateOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::listener::Shown;

/// Measures every benchmark against itself, as `gate --base` would measure it against another build: what differs is
/// noise. Then the same with a slowdown planted in one side, which should be found. What the noise leaves to be seen is
/// kept with the accepted figures, and rows that cannot show a change as large as their threshold become advisory.
pub(super) fn calibrate(opts: &CalibrateOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let effort = config.gate.effort.unwrap_or(Effort::Standard);
    let request = RunSpec {
        against: ComparedWith::Itself { policy: Box::new(config.gate.clone()) },
        ..timed(&or_all(&opts.patterns), &opts.measure, config, effort)?
    };
    let path = opts.output.clone().unwrap_or_else(|| place_of(&request.source, "calibration"));
    let place = RecordPlace::at(&path, opts.resume)?;
    let mut listener = Shown::new(&request.interrupted, terminal);
    let run = PlannedRun::new(request, &mut listener)?.begin(place, &mut listener)?;
    let record =
        run.measure_all_and(&mut listener, |plan, record| Ok::<_, CommandError>(planted(plan, record)))?;
    terminal.hint(&format!("record: {}", path.display()));
    if record.run.ended == RunEnd::Interrupted {
        terminal.hint("interrupted; the same command and --resume go on with it");
        return Ok(Exit::INTERRUPTED);
    }
    let calibration = evaluate(&record, config);
    if let Some(mut baseline) = file::read_class(&opts.folder.baselines, &record.machine.class)? {
        for entry in &mut baseline.benchmarks {
            if let Some(row) = calibration.rows.iter().find(|row| row.benchmark == entry.id.to_string()) {
                entry.calibrated = row.smallest_detectable.or(entry.calibrated);
            }
        }
        let path = file::write(&opts.folder.baselines, &baseline)?;
        terminal.hint(&format!("kept in {}", path.display()));
    } else {
        terminal.hint("there are no accepted figures of this machine class to keep this with; `perfharness baseline accept` makes some");
    }
    if opts.json {
        terminal.print_json(&calibration)
    } else {
        terminal.print(&render_calibration(&calibration, Terminal::layout()))
    }
}

/// Result for a slowdown that was planted in a benchmark.
fn found(record: &RunRecord, id: &BenchmarkId, share: f64, delta: f64) -> Option<PlantedRow> {
    let planted = record.planted.as_ref()?.section();
    let estimate = &planted.comparison(id, standard::WALL_TIME)?.estimate;
    let nominal = planted.benchmark(id)?.sample?;
    let length = SampleLength { iterations: nominal.iterations, lead_in: nominal.lead_in };
    Some(PlantedRow {
        share: length.planted(share).iterations as f64 / length.iterations as f64 - 1.0,
        effect: estimate.theta,
        found: estimate.interval.is_some_and(|interval| interval.is_beyond(delta) == Some(true)),
    })
}

/// Evaluates how much identical programs differ, and whether a gate would have flagged them.
fn evaluate(record: &RunRecord, config: &Config) -> Calibration {
    let terms =
        Terms { baseline: None, policy: &config.gate, command: "perfharness calibrate", one_run: false };
    // Judged as a gate would: identical sides that it flags are false alarms.
    let report = judge(record, &terms);
    let comparisons = record.base.as_ref().map(|base| base.comparisons.as_slice()).unwrap_or_default();
    let row = |comparison: &ComparisonRecord| {
        let id = comparison.candidate.to_string();
        let row = report
            .rows
            .iter()
            .find(|row| row.benchmark == id && row.metric.as_deref() == Some(standard::WALL_TIME));
        CalibrationRow {
            benchmark: id,
            launches: comparison.launches.len(),
            sd: comparison.estimate.sd,
            smallest_detectable: comparison.smallest_detectable,
            verdict: row.map(|row| row.judgement.verdict),
            planted: comparison.smallest_detectable.and_then(|effect| {
                let delta = config.gate.time_default().delta();
                found(record, &comparison.candidate, share_to_plant(effect)?, delta)
            }),
        }
    };
    let is_wall = |c: &&ComparisonRecord| c.metric.as_str() == standard::WALL_TIME;
    Calibration {
        threshold: config.gate.time_default().threshold.get(),
        rows: comparisons.iter().filter(is_wall).map(row).collect(),
    }
}
