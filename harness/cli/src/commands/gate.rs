//! `perfharness gate`

mod against_base;
mod shown;

use perfharness_engine::source_state;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::{BenchmarkId, Effort};

pub(super) use against_base::{baselines_at, selected, warn_of_unknown};
pub(super) use shown::{check_places, finish};

use super::Terminal;
use super::asked::{Asked, request};
use super::pages::Pages;
use super::session::{Place, Session, Subject, default_path, machine};
use crate::args::GateOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};
use crate::versions::{Repository, Versions};
use perfharness_engine::measure::Ended;
use perfharness_engine::plan::{CaseDesign, CasePlan, Plan};
use perfharness_record::Side;
use perfharness_record::baseline::Baseline;
use perfharness_record::baseline::accept::{conditions_of, difference};
use perfharness_record::baseline::file::read_all;
use perfharness_record::baseline::nearest::of_machine;
use perfharness_record::compare::{GatePolicy, Terms, flagged, judge};
use perfharness_record::{LookPlan, Origin, Stage};
use perfharness_record::{Machine, RunRecord, SourceState, file as record_file};

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
    if opts.base.is_some() || opts.base_worker.is_some() {
        return against_base::gate(opts, config, config_path, terminal);
    }
    let source = source_state();
    let path = opts.output.clone().unwrap_or_else(|| place(&source, "gate"));
    check_places(&opts.show, Some(&path), &[])?;
    let place = Place::at(&path, opts.resume)?;
    let effort = config.gate.effort.unwrap_or(Effort::Standard);
    let request = request(&patterns(&opts.what), &opts.measure, config, effort)?;
    place.insist_on(&request)?;
    let asked = Asked::of(request, &opts.measure.conditions, config, terminal)?;
    let plan = asked.plan(asked.selection()?);
    let machine = machine(&asked.request.device, config, terminal);
    let baseline = Some(stored(&opts.folder.baselines, &machine)?);
    let subject = Subject {
        asked,
        plan,
        source,
        machine,
        base: None,
        base_workers: Vec::new(),
        telemetry: !opts.measure.no_telemetry,
    };
    let session = Session::begin(place, subject, terminal)?;
    let judged = Judged {
        baseline,
        policy: config.gate.clone(),
        remarks: Vec::new(),
        command: "perfharness gate".into(),
    };
    measure_and_judge(session, &judged, None, &path, opts, terminal)
}

/// What a gate judges by.
struct Judged {
    baseline: Option<Baseline>,
    policy: GatePolicy,
    remarks: Vec<String>,
    command: String,
}

impl Judged {
    fn terms(&self) -> Terms<'_> {
        Terms {
            baseline: self.baseline.as_ref(),
            policy: &self.policy,
            command: &self.command,
            one_run: false,
        }
    }
}

/// Measures, measures again what was flagged, and shows what follows.
fn measure_and_judge(
    mut session: Session<'_>,
    judged: &Judged,
    versions: Option<&Versions>,
    path: &Path,
    opts: &GateOpts,
    terminal: &Terminal,
) -> CommandResult {
    let mut ended = session.measure();
    if ended == Ended::Complete {
        let record = session.record(ended);
        comparable(&record, judged.baseline.as_ref())?;
        let flags = flagged(&judge(&record, &judged.terms()));
        let again = confirmation(session.plan(), &flags);
        if !again.is_empty() {
            let time = session.plan().budget;
            session.add(again, time);
            ended = session.measure();
        }
    }
    let record = session.finish(ended)?;
    terminal.hint(&format!("record: {}", path.display()));
    // What was measured ran code of the change, which could have reached the programs of the base.
    versions.map_or(Ok(()), Versions::check)?;
    if ended == Ended::Interrupted {
        terminal.hint("interrupted; the same command and --resume go on with it");
        return Ok(Exit::INTERRUPTED);
    }
    let mut report = judge(&record, &judged.terms());
    report.remarks.splice(0..0, judged.remarks.iter().cloned());
    let code = finish(&report, &opts.show, Some(path), terminal)?;
    // Who named a place for the record wants it there, and nothing else.
    if opts.output.is_none() {
        Pages::new(&opts.folder.baselines, &judged.policy).leave(path, terminal);
    }
    Ok(code)
}

/// The cases that are to be measured again: each flagged benchmark with its reference.
fn confirmation(plan: &Plan, flags: &BTreeMap<BenchmarkId, u32>) -> Vec<CasePlan> {
    let mut cases = Vec::new();
    for case in &plan.cases {
        for side in case.sides.iter().filter(|side| side.origin == Origin::Head) {
            let Some(launches) = flags.get(&side.benchmark) else { continue };
            let reference = side.reference.map(|at| Side { reference: None, ..case.sides[at].clone() });
            let ours = Side { reference: reference.is_some().then_some(0), ..side.clone() };
            let design = CaseDesign {
                looks: Some(LookPlan::Fixed { launches: *launches }),
                stage: Stage::Confirmation,
                ..CaseDesign::default()
            };
            cases.push(CasePlan {
                sides: reference.into_iter().chain([ours]).collect(),
                design,
                ..case.clone()
            });
        }
    }
    cases
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
    let (policy, figures) = match known {
        Some((repository, commit)) => {
            let before = against_base::config_at(repository, commit, config_path)?;
            let figures = baselines_at(repository, commit, &opts.folder.baselines)?;
            (against_base::policy_of(before.as_ref(), config), Some(figures))
        }
        None => (config.gate.clone(), None),
    };
    // What was measured against a base needs no accepted figures.
    let baseline = match base {
        Some(_) => {
            let figures = figures.map_or_else(|| read_all(&opts.folder.baselines), Ok)?;
            of_machine(&figures, &record.machine).cloned()
        }
        None => Some(stored(&opts.folder.baselines, &record.machine)?),
    };
    comparable(&record, baseline.as_ref())?;
    let command = match base.map(|base| &base.source) {
        Some(SourceState::Git { commit, .. }) => format!("perfharness gate --base {commit}"),
        Some(SourceState::Absent { .. }) => "perfharness gate --base-worker COMMAND".into(),
        None => "perfharness gate".into(),
    };
    let terms = Terms { baseline: baseline.as_ref(), policy: &policy, command: &command, one_run: false };
    finish(&judge(&record, &terms), &opts.show, None, terminal)
}

/// The accepted figures of a machine class, or the nearest ones.
fn stored(folder: &Path, machine: &Machine) -> Result<Baseline, CommandError> {
    of_machine(&read_all(folder)?, machine).cloned().ok_or_else(|| {
        CommandError::Usage(format!(
            "there are no accepted figures in {}; make some with `perfharness baseline accept --runs 5 --reason \"the first\"`, or compare with a commit by --base",
            folder.display()
        ))
    })
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

fn patterns(what: &[String]) -> Vec<String> {
    if what.is_empty() { vec!["all".into()] } else { what.to_vec() }
}

/// Where the record of such a run goes by default: apart from that of `run`, which it must not replace.
pub(super) fn place(source: &SourceState, kind: &str) -> PathBuf {
    default_path(source).with_file_name(kind).join("run.json")
}
