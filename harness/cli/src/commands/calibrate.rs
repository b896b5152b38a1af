//! `perfharness calibrate`

use perfharness_contract::{BenchmarkId, Effort, standard};
use perfharness_engine::source_state;

use super::Terminal;
use super::asked::{Asked, request};
use super::gate::{place, selected};
use super::session::{Place, Session, Subject, machine};
use crate::args::CalibrateOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use perfharness_engine::build::BaseFacts;
use perfharness_engine::measure::{Ended, SampleLength};
use perfharness_engine::plan::{CaseDesign, CasePlan, Plan, Selection, pairs};
use perfharness_record::baseline::file;
use perfharness_record::compare::{Terms, judge};
use perfharness_record::{ComparisonRecord, RunRecord};
use perfharness_record::{LookPlan, Origin, Stage};
use perfharness_report::render::{Calibration, CalibrationRow, PlantedRow, render_calibration};

/// Measures every benchmark against itself, as `gate --base` would measure it against another build: what differs is
/// noise. Then the same with a slowdown planted in one side, which should be found. What the noise leaves to be seen is
/// kept with the accepted figures, and rows that cannot show a change as large as their threshold become advisory.
pub(super) fn calibrate(opts: &CalibrateOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let source = source_state();
    let path = opts.output.clone().unwrap_or_else(|| place(&source, "calibration"));
    let place = Place::at(&path, opts.resume)?;
    let patterns = if opts.patterns.is_empty() { vec!["all".to_owned()] } else { opts.patterns.clone() };
    let effort = config.gate.effort.unwrap_or(Effort::Standard);
    let request = request(&patterns, &opts.measure, config, effort)?;
    place.insist_on(&request)?;
    let asked = Asked::of(request, &opts.measure.conditions, config, terminal)?;
    let selection = asked.selection()?;
    let delta = config.gate.time_default().delta();
    let mut cases = pairs(&asked.catalog, &selection, &selection, 0, delta);
    // What would be measured for its counts alone has no time to calibrate.
    cases.retain(|case| case.design.looks.is_none());
    if cases.is_empty() {
        let message = "there is nothing to calibrate: what was asked for is kept slow on purpose or skipped, so that no gate judges its time";
        return Err(CommandError::Usage(message.into()));
    }
    let plan = asked.plan(Selection { cases });
    let machine = machine(&asked.request.device, config, terminal);
    let base = BaseFacts {
        source: source.clone(),
        selected: selected(&asked.catalog, &selection),
        catalog: asked.catalog.clone(),
        identical: false,
        versions: None,
        redefined: Vec::new(),
    };
    let subject = Subject {
        asked,
        plan,
        source,
        machine,
        base: Some(base),
        base_workers: Vec::new(),
        telemetry: !opts.measure.no_telemetry,
    };
    let mut session = Session::begin(place, subject, terminal)?;
    let mut ended = session.measure();
    if ended == Ended::Complete {
        let planted = planted(session.plan(), &session.record(ended));
        if !planted.is_empty() {
            let time = session.plan().budget;
            session.add(planted, time);
            ended = session.measure();
        }
    }
    let record = session.finish(ended)?;
    terminal.hint(&format!("record: {}", path.display()));
    if ended == Ended::Interrupted {
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

/// The pairs again, each with a slowdown that nine of ten such runs should find. What needs more than twice the time to be
/// seen is left out: it would only show that a large change is seen.
fn planted(plan: &Plan, record: &RunRecord) -> Vec<CasePlan> {
    let comparisons = record.base.as_ref().map(|base| base.comparisons.as_slice()).unwrap_or_default();
    let again = |case: &CasePlan| {
        let head = case.sides.iter().find(|side| side.origin == Origin::Head)?;
        let is_wall =
            |c: &&ComparisonRecord| c.candidate == head.benchmark && c.metric.as_str() == standard::WALL_TIME;
        let comparison = comparisons.iter().find(is_wall)?;
        let share = comparison.smallest_detectable?.exp_m1();
        let launches = comparison.launches.len() as u32;
        (share < 1.0).then(|| CasePlan {
            design: CaseDesign {
                looks: Some(LookPlan::Fixed { launches }),
                threshold: None,
                planted: Some(share),
                stage: Stage::Planted,
            },
            ..case.clone()
        })
    };
    plan.cases.iter().filter_map(again).collect()
}

/// What became of a slowdown that was planted in a benchmark.
fn found(record: &RunRecord, id: &BenchmarkId, share: f64, delta: f64) -> Option<PlantedRow> {
    let planted = record.planted.as_ref()?;
    let is_wall = |c: &&ComparisonRecord| c.candidate == *id && c.metric.as_str() == standard::WALL_TIME;
    let estimate = &planted.comparisons.iter().find(is_wall)?.estimate;
    let nominal = planted.benchmarks.iter().find(|b| b.id == *id)?.sample?;
    let length = SampleLength { iterations: nominal.iterations, lead_in: nominal.lead_in };
    Some(PlantedRow {
        share: length.planted(share).iterations as f64 / length.iterations as f64 - 1.0,
        effect: estimate.theta,
        found: estimate.interval.is_some_and(|interval| interval.lower > delta),
    })
}

/// What identical programs differ by, and whether a gate would have flagged them.
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
                found(record, &comparison.candidate, effect.exp_m1(), delta)
            }),
        }
    };
    let is_wall = |c: &&ComparisonRecord| c.metric.as_str() == standard::WALL_TIME;
    Calibration {
        threshold: config.gate.time_default().threshold.get(),
        rows: comparisons.iter().filter(is_wall).map(row).collect(),
    }
}
