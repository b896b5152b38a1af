//! `perfharness calibrate`

use std::collections::BTreeMap;

use perfharness_contract::{BenchmarkId, Effort, standard};
use perfharness_engine::plan::planted;
use perfharness_engine::run::{ComparedWith, PlannedRun, RecordPlace, RunSpec};
use perfharness_record::baseline::calibration::{self, Calibrated};
use perfharness_record::compare::{GateReport, Plant, Terms, judge};
use perfharness_record::{ComparisonRecord, RunEnd, RunRecord};
use perfharness_report::render::{Calibration, CalibrationRow, LOOKS, render_calibration};
use perfharness_verdict::Looks;
use perfharness_verdict::judge::{CONFIDENCE, RowTerms};

use super::Terminal;
use super::places::place_of;
use super::request::{or_all, timed};
use crate::args::CalibrateOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::listener::Shown;
use crate::versions::{BuildRecipe, BuiltHere, Repository, VersionsError};

/// Launches of each benchmark: an sd from fewer is off by more than a seventh in one of twenty cases.
const LAUNCHES: u32 = 96;
/// Launches of the look that planted slowdowns are to be seen at.
const PLANTED_LAUNCHES: usize = 32;

/// Measures every benchmark against itself, as `gate --base` would measure it against another build: what differs is
/// noise. Then the same with a slowdown planted in one side, which should be found. How much launches differ is kept for
/// the machine class, with or without accepted figures.
pub(super) fn calibrate(opts: &CalibrateOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let effort = config.gate.effort.unwrap_or(Effort::Standard);
    let mut request = RunSpec {
        against: ComparedWith::Itself { policy: Box::new(config.gate.clone()) },
        // Counts are the same in both, and no calibration helps them.
        instructions: false,
        ..timed(&or_all(&opts.patterns), &opts.measure, config, effort)?
    };
    request.run.launches.get_or_insert(LAUNCHES);
    let relinked = relinked(opts, config, terminal)?;
    if let Some(built) = &relinked {
        request.run.workers.clone_from(&built.version.workers);
    }
    let path = opts.output.clone().unwrap_or_else(|| place_of(&request.source, "calibration"));
    let place = RecordPlace::at(&path, opts.resume)?;
    let mut listener = Shown::new(&request.interrupted, terminal);
    let terms = Terms {
        baseline: None,
        calibration: None,
        policy: &config.gate,
        command: "perfharness calibrate",
        one_run: false,
    };
    let run = PlannedRun::new(request, &mut listener)?.begin(place, &mut listener)?;
    let record = run.measure_all_and(&mut listener, |plan, record| {
        let found = evaluate(record, &judge(record, &terms), config);
        Ok::<_, CommandError>(planted(plan, &plants(&found)))
    })?;
    terminal.hint(&format!("record: {}", path.display()));
    relinked.as_ref().map_or(Ok(()), BuiltHere::check)?;
    if record.run.ended == RunEnd::Interrupted {
        terminal.hint("interrupted; the same command and --resume go on with it");
        return Ok(Exit::INTERRUPTED);
    }
    let found = evaluate(&record, &judge(&record, &terms), config);
    let folder = &opts.folder.baselines;
    let class = &record.machine.class;
    let mut kept =
        calibration::read_class(folder, class)?.unwrap_or_else(|| calibration::Calibration::empty(class));
    comparisons(&record)
        .filter_map(|comparison| calibrated(&record, comparison))
        .for_each(|row| kept.set(row));
    let path = calibration::write(folder, &kept)?;
    terminal.hint(&format!("kept in {}", path.display()));
    if opts.json {
        terminal.print_json(&found)
    } else {
        terminal.print(&render_calibration(&found, Terminal::layout()))
    }
}

/// The code here as a gate builds it, with its programs in several layouts. `None` where a gate could not build it, or would
/// link it once.
fn relinked(
    opts: &CalibrateOpts,
    config: &Config,
    terminal: &Terminal,
) -> Result<Option<BuiltHere>, CommandError> {
    let named = !opts.measure.conditions.worker.workers.is_empty();
    let Some(repository) = Repository::find().ok().filter(|_| !named) else { return Ok(None) };
    let recipe = match BuildRecipe::of(config, &repository) {
        Err(VersionsError::NoWorker) => return Ok(None),
        recipe => recipe?,
    };
    if !recipe.varies_layout() {
        return Ok(None);
    }
    Ok(Some(BuiltHere::build(repository, &recipe, &|text| terminal.hint(text))?))
}

/// The wall times of identical sides.
fn comparisons(record: &RunRecord) -> impl Iterator<Item = &ComparisonRecord> {
    let all = record.base.as_ref().map(|base| base.comparisons.as_slice()).unwrap_or_default();
    all.iter().filter(|comparison| comparison.metric.as_str() == standard::WALL_TIME)
}

/// The calibration of a benchmark; `None` where its launches do not tell how much they differ.
fn calibrated(record: &RunRecord, comparison: &ComparisonRecord) -> Option<Calibrated> {
    let id = &comparison.candidate;
    let case = record.base_section()?.case_of(id)?;
    Some(Calibrated {
        id: id.clone(),
        definition: record.section().benchmark(id)?.definition,
        launches: comparison.launches.len(),
        sd: comparison.estimate.sd.filter(|sd| sd.is_finite() && *sd > 0.0)?,
        launch_s: case.seconds / case.launches.len().max(1) as f64,
        layout_spread: record.layout_spread(id),
        when: record.run.finished.clone(),
        harness: record.run.harness.clone(),
    })
}

/// The slowdowns to plant.
fn plants(found: &Calibration) -> BTreeMap<BenchmarkId, Plant> {
    let plant = |row: &CalibrationRow| {
        let limits = (row.terms.threshold, row.terms.layout_spread);
        Some((row.benchmark.parse().ok()?, Plant::of(row.could_see?, limits)?))
    };
    found.rows.iter().filter_map(plant).collect()
}

/// Evaluates how much identical programs differ, and whether a gate would have flagged them.
fn evaluate(record: &RunRecord, report: &GateReport, config: &Config) -> Calibration {
    let looks = Looks::default();
    let row = |comparison: &ComparisonRecord| {
        let id = comparison.candidate.to_string();
        let judgement = report
            .rows
            .iter()
            .find(|row| row.benchmark == id && row.metric.as_deref() == Some(standard::WALL_TIME))
            .map(|row| &row.judgement);
        let limits = judgement.and_then(|judgement| judgement.evidence.limits());
        let default = config.gate.time_default().terms();
        let terms = limits.map_or(default, |(threshold, layout_spread)| RowTerms {
            threshold,
            layout_spread,
            ..default
        });
        let sees = |launches| {
            let confidence = looks.confidence_at(launches, 1.0 - CONFIDENCE).unwrap_or(CONFIDENCE);
            let could_see = terms.could_see_with(comparison.estimate.sd?, launches, confidence);
            Some(could_see).filter(|could_see| could_see.is_finite())
        };
        CalibrationRow {
            launches: comparison.launches.len(),
            sd: comparison.estimate.sd,
            terms,
            sees: LOOKS.map(sees),
            could_see: sees(PLANTED_LAUNCHES),
            layout_spread: record.layout_spread(&comparison.candidate),
            verdict: judgement.map(|judgement| judgement.verdict),
            planted: report.planted.iter().find(|planted| planted.benchmark == id).cloned(),
            benchmark: id,
        }
    };
    Calibration {
        threshold: config.gate.time_default().threshold.get(),
        rows: comparisons(record).map(row).collect(),
    }
}
