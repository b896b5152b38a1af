//! `perfharness gate`

mod against_base;
mod shown;

use std::path::{Path, PathBuf};

use perfharness_contract::Effort;
use perfharness_engine::plan::{confirmation, planted};
use perfharness_engine::run::{PlannedRun, RecordPlace, RunSpec};
use perfharness_engine::source_state;
use perfharness_record::baseline::Baseline;
use perfharness_record::baseline::accept::{conditions_of, difference};
use perfharness_record::baseline::calibration::{self, Calibration};
use perfharness_record::baseline::file::read_all;
use perfharness_record::baseline::nearest::of_machine;
use perfharness_record::compare::{GatePolicy, Terms, flagged, judge, plants};
use perfharness_record::{Machine, RunEnd, RunRecord, SourceState, file as record_file};

use super::Terminal;
use super::pages::Pages;
use super::places::place_of;
use super::request::{or_all, timed};
use crate::args::GateOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::listener::Shown;
use crate::versions::{Repository, Versions};

use against_base::calibrations_at;
pub(super) use against_base::{baselines_at, warn_of_unknown};
pub(super) use shown::{check_places, finish};

/// Judges the code here, or a record.
pub(super) fn gate(
    opts: &GateOpts,
    config: &Config,
    config_path: Option<&Path>,
    terminal: &Terminal,
) -> CommandResult {
    if let Some(path) = named_record(opts)? {
        return judge_record(&path, opts, config, config_path, terminal);
    }
    let path = opts.output.clone().unwrap_or_else(|| place_of(&source_state(), "gate"));
    check_places(&opts.show, Some(&path), &[])?;
    let place = RecordPlace::at(&path, opts.resume)?;
    let Asked { request, rules, versions } = if opts.base.is_some() || opts.base_worker.is_some() {
        against_base::asked(opts, config, config_path, terminal)?
    } else {
        alone(opts, config)?
    };
    let mut listener = Shown::new(&request.interrupted, terminal);
    let mut planned = PlannedRun::new(request, &mut listener)?;
    let defined = planned.catalog().entries.iter().map(|entry| &entry.definition);
    rules.policy.check_rules(defined).map_err(|error| CommandError::Usage(error.to_string()))?;
    let machine = planned.machine(&mut listener).clone();
    let baseline = rules.baseline(&machine)?;
    let terms = rules.terms(baseline.as_ref(), &machine);
    if let Some(calibration) = terms.calibration {
        planned.set_calibration(calibration);
    }
    let run = planned.begin(place, &mut listener)?;
    let record = run.measure_all_and(&mut listener, |plan, record| {
        comparable(record, baseline.as_ref())?;
        let report = judge(record, &terms);
        let mut cases = confirmation(plan, &flagged(&report));
        if opts.plant {
            cases.extend(planted(plan, &plants(&report)));
        }
        Ok::<_, CommandError>(cases)
    })?;
    terminal.hint(&format!("record: {}", path.display()));
    // What was measured ran code of the change, which could have reached the programs of the base.
    versions.as_ref().map_or(Ok(()), Versions::check)?;
    if record.run.ended == RunEnd::Interrupted {
        terminal.hint("interrupted; the same command and --resume go on with it");
        return Ok(Exit::INTERRUPTED);
    }
    let mut report = judge(&record, &terms);
    report.remarks.splice(0..0, rules.remarks.iter().cloned().map(Into::into));
    let code = finish(&report, &opts.show, Some(&path), terminal)?;
    // A user who named a place for the record wants nothing else there.
    if opts.output.is_none() {
        Pages::new(&opts.folder.baselines, &rules.policy).leave(&path, terminal);
    }
    Ok(code)
}

/// A gate that was asked for.
struct Asked {
    request: RunSpec,
    rules: Rules,
    /// Both builds, which last until they were measured.
    versions: Option<Versions>,
}

/// Rules of a gate.
struct Rules {
    policy: GatePolicy,
    /// Calibrations of every machine class.
    calibrations: Vec<Calibration>,
    /// Accepted figures of every machine class, and the folder to name where those of this one are needed and absent.
    figures: Vec<Baseline>,
    needed_in: Option<PathBuf>,
    remarks: Vec<String>,
    /// The command that measures again.
    command: String,
}

impl Rules {
    /// The accepted figures of a machine, or the nearest ones.
    fn baseline(&self, machine: &Machine) -> Result<Option<Baseline>, CommandError> {
        match (of_machine(&self.figures, machine), &self.needed_in) {
            (None, Some(folder)) => Err(CommandError::Usage(format!(
                "there are no accepted figures in {}; make some with `perfharness baseline accept --runs 5 --reason \"the first\"`, or compare with a commit by --base",
                folder.display()
            ))),
            (found, _) => Ok(found.cloned()),
        }
    }

    /// The calibration of a machine's own class: how noisy another one is tells nothing.
    fn calibration(&self, machine: &Machine) -> Option<&Calibration> {
        self.calibrations.iter().find(|calibration| calibration.class == machine.class)
    }

    fn terms<'t>(&'t self, baseline: Option<&'t Baseline>, machine: &Machine) -> Terms<'t> {
        let calibration = self.calibration(machine);
        Terms { baseline, calibration, policy: &self.policy, command: &self.command, one_run: false }
    }
}

/// The code here, against accepted figures.
fn alone(opts: &GateOpts, config: &Config) -> Result<Asked, CommandError> {
    let effort = config.gate.effort.unwrap_or(Effort::Standard);
    let folder = &opts.folder.baselines;
    Ok(Asked {
        request: timed(&or_all(&opts.what), &opts.measure, config, effort)?,
        rules: Rules {
            policy: config.gate.clone(),
            figures: read_all(folder)?,
            calibrations: calibration::read_all(folder)?,
            needed_in: Some(folder.clone()),
            remarks: Vec::new(),
            command: "perfharness gate".into(),
        },
        versions: None,
    })
}

/// `gate RUN.json`: a name that ends so is no pattern.
fn named_record(opts: &GateOpts) -> Result<Option<PathBuf>, CommandError> {
    let is_file = |text: &&String| Path::new(text).extension().is_some_and(|ext| ext == "json");
    match opts.what.iter().find(is_file) {
        None => Ok(None),
        Some(text) if opts.resume => Err(CommandError::Usage(format!(
            "{text} is a record, which is judged as it is; --resume goes on with measuring"
        ))),
        Some(text) if opts.what.len() == 1 && opts.base.is_none() && opts.base_worker.is_none() => {
            Ok(Some(text.into()))
        }
        Some(text) => Err(CommandError::Usage(format!(
            "{text} is a record, which is judged by itself; give it alone, or patterns to measure"
        ))),
    }
}

fn judge_record(
    path: &Path,
    opts: &GateOpts,
    config: &Config,
    config_path: Option<&Path>,
    terminal: &Terminal,
) -> CommandResult {
    check_places(&opts.show, None, &[path])?;
    let record = record_file::read(path)?;
    let base = record.base.as_ref();
    let commit = base.and_then(|base| base.source.commit());
    // Judged again, it is judged as it was: by what its base says, where that is in this repository.
    let repository = Repository::find().ok().filter(|_| !opts.trust_head);
    let known = repository.as_ref().zip(commit).filter(|(repo, commit)| repo.tree_of(commit).is_ok());
    let folder = &opts.folder.baselines;
    let (policy, figures, calibrations) = match known {
        Some((repository, commit)) => {
            let before = against_base::config_at(repository, commit, config_path)?;
            let figures = baselines_at(repository, commit, folder)?;
            let calibrations = calibrations_at(repository, commit, folder)?;
            (against_base::policy_of(before.as_ref(), config), figures, calibrations)
        }
        None => (config.gate.clone(), read_all(folder)?, calibration::read_all(folder)?),
    };
    let command = match base.map(|base| &base.source) {
        Some(SourceState::Git { commit, .. }) => format!("perfharness gate --base {commit}"),
        Some(SourceState::Absent { .. }) => "perfharness gate --base-worker COMMAND".into(),
        None => "perfharness gate".into(),
    };
    // A record that was measured against a base needs no accepted figures.
    let needed_in = base.is_none().then(|| folder.clone());
    let rules = Rules { policy, figures, calibrations, needed_in, remarks: Vec::new(), command };
    let baseline = rules.baseline(&record.machine)?;
    comparable(&record, baseline.as_ref())?;
    let terms = rules.terms(baseline.as_ref(), &record.machine);
    finish(&judge(&record, &terms), &opts.show, None, terminal)
}

/// Refuses figures that mean different things.
fn comparable(record: &RunRecord, baseline: Option<&Baseline>) -> Result<(), CommandError> {
    let Some(baseline) = baseline else { return Ok(()) };
    let Some(what) = difference(&baseline.conditions, &conditions_of(record)) else { return Ok(()) };
    Err(CommandError::Usage(format!(
        "this run has another {what} than the accepted figures of {}: use the same, or accept new ones",
        baseline.class
    )))
}
