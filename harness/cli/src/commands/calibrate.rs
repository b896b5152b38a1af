//! `perfharness calibrate`

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use perfharness_contract::{Effort, standard};

use super::asked::{check_settings, place_paths, request};
use super::gate::{pairs, place, selected};
use super::session::{Place, Session, Subject, machine};
use super::{Terminal, workers};
use crate::args::CalibrateOpts;
use crate::baseline::file;
use crate::compare::{Terms, judge};
use crate::config::Config;
use crate::exit::{CommandResult, Exit};
use crate::measure::{Ended, ProcessExecutor};
use crate::plan::{Selection, select};
use crate::record::{BaseFacts, ComparisonRecord, RunRecord, SourceState};
use crate::render::{Calibration, CalibrationRow, render_calibration};

/// Measures every benchmark against itself, as `gate --base` would measure it against another build: what differs is
/// noise. What that leaves to be seen is kept with the accepted figures, and rows that cannot show a change as large as
/// their threshold become advisory.
pub(super) fn calibrate(opts: &CalibrateOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let patterns = if opts.patterns.is_empty() { vec!["all".to_owned()] } else { opts.patterns.clone() };
    let effort = config.gate.effort.unwrap_or(Effort::Standard);
    let request = request(&patterns, &opts.measure, config, effort)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut executor = ProcessExecutor::new(request.workers.clone(), Arc::clone(&interrupted));
    let (seed, device) = (request.seed, &request.device);
    let catalog = workers::catalog(&mut executor, &request.workers, seed, device, request.timeout, terminal)?;
    check_settings(&opts.measure, &catalog)?;
    let selection = select(&catalog, &request.parsed_patterns()?, request.effort)?;
    let delta = config.gate.time_default().delta();
    let mut cases = pairs(&catalog, &selection, &selection, 0, delta);
    // What would be measured for its counts alone has no time to calibrate.
    cases.retain(|case| case.design.looks.is_none());
    let mut plan = request.plan(Selection { cases });
    place_paths(&mut plan.settings, &opts.measure, config, &catalog);
    let source = SourceState::read();
    let machine = machine(&request.device, config, terminal);
    let path = opts.output.clone().unwrap_or_else(|| place(&source, "calibration"));
    let base = BaseFacts {
        source: source.clone(),
        selected: selected(&catalog, &selection),
        catalog: catalog.clone(),
        identical: false,
    };
    let subject = Subject { request, plan, catalog, source, machine, base: Some(base) };
    let mut session = Session::begin(Place::new(&path), subject, executor, interrupted, terminal)?;
    let ended = session.measure();
    let record = session.finish(ended)?;
    terminal.hint(&format!("record: {}", path.display()));
    if ended == Ended::Interrupted {
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
        }
    };
    let is_wall = |c: &&ComparisonRecord| c.metric.as_str() == standard::WALL_TIME;
    Calibration {
        threshold: config.gate.time_default().threshold.get(),
        rows: comparisons.iter().filter(is_wall).map(row).collect(),
    }
}
