//! `gate --base` and `gate --base-worker`: two builds in the same rounds.

use std::path::{Path, PathBuf};

use perfharness_contract::{BenchmarkId, Effort};

use super::super::asked::{Asked, request};
use super::super::session::{Place, Session, Subject, machine};
use super::super::{Terminal, workers};
use super::{Judged, check_places, measure_and_judge, patterns, place};
use crate::args::GateOpts;
use crate::baseline::accept::identity;
use crate::baseline::nearest::of_machine;
use crate::baseline::{Baseline, file};
use crate::compare::GatePolicy;
use crate::config::{CONFIG_FILE, Config};
use crate::exit::{CommandError, CommandResult};
use crate::measure::WorkerCommand;
use crate::plan::{CasePlan, Catalog, Design, Selection, pairs};
use crate::record::{BaseFacts, Machine, SelectedRecord, SourceState};
use crate::request::RunRequest;
use crate::versions::{BuildRecipe, Repository, Versions};

/// Both sides, ready to be measured.
struct Sides {
    base: Vec<WorkerCommand>,
    head: Vec<WorkerCommand>,
    source: SourceState,
    /// Whether equal digests mean equal programs.
    is_built: bool,
    /// Keeps what was built until it was measured.
    _versions: Option<Versions>,
}

/// What a change is judged by: what was there before it.
struct Rules {
    policy: GatePolicy,
    baseline: Option<Baseline>,
    remarks: Vec<String>,
}

pub(super) fn gate(
    opts: &GateOpts,
    config: &Config,
    config_path: Option<&Path>,
    terminal: &Terminal,
) -> CommandResult {
    let source = SourceState::read();
    let path = opts.output.clone().unwrap_or_else(|| place(&source, "gate"));
    check_places(&opts.show, Some(&path), &[])?;
    let place = Place::at(&path, opts.resume)?;
    let mut request = request(&patterns(&opts.what), &opts.measure, config, Effort::Standard)?;
    let machine = machine(&request.device, config, terminal);
    let (sides, rules) = match &opts.base {
        Some(reference) => from_commit(reference, opts, config, config_path, &machine, terminal)?,
        None => from_worker(opts, config, &request, &machine)?,
    };
    if opts.measure.conditions.effort.is_none() {
        // Like all of the policy, from the base.
        request.effort = rules.policy.effort.unwrap_or(Effort::Standard);
    }
    let identical = sides.is_built && are_same(&sides.base, &sides.head);
    request.workers.clone_from(&sides.head);
    place.insist_on(&request)?;
    let asked = Asked::of(request, &opts.measure.conditions, config, terminal)?;
    let head = asked.selection()?;
    let (base_catalog, base) = asked.of_others(&sides.base, terminal)?;
    let delta = rules.policy.time_default().delta();
    let cases =
        if identical { Vec::new() } else { pairs(&asked.catalog, &head, &base, sides.head.len(), delta) };
    let mut plan = asked.plan(Selection { cases });
    if let RunRequest { effort, time_budget, launches: None, .. } = asked.request {
        let paired = plan.cases.iter().filter(|case| case.sides.len() > 1).count();
        plan.budget = time_budget.unwrap_or_else(|| Design::budget(effort, paired as u32));
    }
    let base = BaseFacts {
        source: sides.source.clone(),
        selected: selected(&base_catalog, &base),
        catalog: base_catalog,
        identical,
    };
    let command = if let Some(reference) = &opts.base {
        format!("perfharness gate --base {reference}")
    } else {
        let flag = |name: &str, command: &str| {
            let quoted = shlex::try_quote(command).unwrap_or(command.into());
            format!(" --{name} {quoted}")
        };
        let base = flag("base-worker", opts.base_worker.as_deref().unwrap_or_default());
        let head: String =
            opts.measure.conditions.worker.workers.iter().map(|worker| flag("worker", worker)).collect();
        format!("perfharness gate{base}{head}")
    };
    let Rules { policy, baseline, remarks } = rules;
    let judged = Judged { baseline, policy, remarks, command };
    let subject = Subject {
        asked,
        plan,
        source,
        machine,
        base: Some(base),
        base_workers: sides.base.clone(),
        telemetry: !opts.measure.no_telemetry,
    };
    let session = Session::begin(place, subject, terminal)?;
    measure_and_judge(session, &judged, &path, opts, terminal)
}

/// Whether two sides are the same files, started in the same way.
fn are_same(base: &[WorkerCommand], head: &[WorkerCommand]) -> bool {
    let same = |(one, other): (&WorkerCommand, &WorkerCommand)| {
        let digest = workers::digest(one);
        digest.is_some()
            && digest == workers::digest(other)
            && one.env == other.env
            && other_words(one) == other_words(other)
    };
    base.len() == head.len() && base.iter().zip(head).all(same)
}

/// The words of a command that name no file.
fn other_words(command: &WorkerCommand) -> Vec<&String> {
    command.command.iter().filter(|word| !Path::new(word).is_file()).collect()
}

/// What the base has of what was asked for.
pub(in crate::commands) fn selected(catalog: &Catalog, selection: &Selection) -> Vec<SelectedRecord> {
    let record = |case: &CasePlan, id: &BenchmarkId| {
        let workload = catalog.definition(id.workload.as_str())?;
        let case_def = workload.cases.iter().find(|c| c.id == id.case)?;
        let variant = workload.variants.iter().find(|v| v.id == id.variant)?;
        let identity = identity(workload, case_def, variant);
        Some(SelectedRecord { id: id.clone(), definition: case.version, identity })
    };
    let sides = selection.cases.iter().flat_map(|case| case.sides.iter().map(move |side| (case, side)));
    sides
        .filter(|(_, side)| side.skip.is_none())
        .filter_map(|(case, side)| record(case, &side.benchmark))
        .collect()
}

/// Two workers that are there already.
fn from_worker(
    opts: &GateOpts,
    config: &Config,
    request: &RunRequest,
    machine: &Machine,
) -> Result<(Sides, Rules), CommandError> {
    let base = workers::from_flag(opts.base_worker.as_deref().unwrap_or_default())?;
    let absent = "given by --base-worker".to_owned();
    let sides = Sides {
        base: vec![base],
        head: request.workers.clone(),
        source: SourceState::Absent { absent },
        is_built: true,
        _versions: None,
    };
    let all = file::read_all(&opts.folder.baselines)?;
    let baseline = of_machine(&all, machine).cloned();
    Ok((sides, Rules { policy: config.gate.clone(), baseline, remarks: Vec::new() }))
}

/// Both versions, built from commits. Policy and accepted figures come from the base, so that a change cannot excuse
/// itself.
fn from_commit(
    reference: &str,
    opts: &GateOpts,
    config: &Config,
    config_path: Option<&Path>,
    machine: &Machine,
    terminal: &Terminal,
) -> Result<(Sides, Rules), CommandError> {
    let repository = Repository::find()?;
    let base_commit = repository.merge_base(reference)?;
    let head_commit = repository.tracked_state()?;
    let mut remarks = Vec::new();
    warn_of_untracked(&repository, terminal);
    let here = Config::find(config_path).unwrap_or_else(|| PathBuf::from(CONFIG_FILE));
    let base_config = config_at(&repository, &base_commit, &here)?;
    let used = match (&base_config, opts.trust_head) {
        (Some(base), false) => {
            if base.gate != config.gate {
                remarks.push(format!(
                    "this change edits [gate] in {}; it is judged by what was there before",
                    here.display()
                ));
            }
            base
        }
        (None, false) => {
            remarks.push(format!("the base has no {}; the one here is used", here.display()));
            config
        }
        (_, true) => {
            remarks.push("policy and accepted figures are those of the change, by --trust-head".into());
            config
        }
    };
    let baseline = if opts.trust_head {
        of_machine(&file::read_all(&opts.folder.baselines)?, machine).cloned()
    } else {
        let before = baselines_at(&repository, &base_commit, &opts.folder.baselines)?;
        remarks.extend(baseline_changes(&before, &file::read_all(&opts.folder.baselines)?));
        of_machine(&before, machine).cloned()
    };
    let recipe = BuildRecipe::of(used, &repository);
    let versions =
        Versions::build(repository, &base_commit, &head_commit, &recipe, &|text| terminal.hint(text))?;
    let sides = Sides {
        base: versions.base.clone(),
        head: versions.head.clone(),
        source: SourceState::Git { commit: base_commit, branch: None, dirty: false },
        is_built: versions.is_built,
        _versions: Some(versions),
    };
    Ok((sides, Rules { policy: used.gate.clone(), baseline, remarks }))
}

/// A file that git does not know is in no build of a commit.
pub(in crate::commands) fn warn_of_untracked(repository: &Repository, terminal: &Terminal) {
    let untracked = repository.untracked();
    if !untracked.is_empty() {
        let some: Vec<&str> = untracked.iter().take(3).map(String::as_str).collect();
        terminal.warn(&format!(
            "{} untracked files are not built (e.g. {}); `git add` what belongs to the change",
            untracked.len(),
            some.join(", ")
        ));
    }
}

fn config_at(repository: &Repository, commit: &str, here: &Path) -> Result<Option<Config>, CommandError> {
    let Some(inside) = repository.relative(here) else { return Ok(None) };
    let Some(text) = repository.file_at(commit, &inside) else { return Ok(None) };
    Ok(Some(Config::parse(here, &text)?))
}

/// The accepted figures as a commit has them.
pub(in crate::commands) fn baselines_at(
    repository: &Repository,
    commit: &str,
    folder: &Path,
) -> Result<Vec<Baseline>, CommandError> {
    let Some(inside) = repository.relative(folder) else { return Ok(Vec::new()) };
    let names = repository.files_at(commit, &inside);
    let mut found = Vec::new();
    for name in names.iter().filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "json")) {
        let path = format!("{inside}/{name}");
        if let Some(text) = repository.file_at(commit, &path) {
            found.push(file::parse(Path::new(&path), text.as_bytes())?);
        }
    }
    Ok(found)
}

/// What a change does to accepted figures, for whoever reviews it.
fn baseline_changes(before: &[Baseline], after: &[Baseline]) -> Vec<String> {
    let mut remarks = Vec::new();
    for baseline in after {
        let file = file::name_for(&baseline.class);
        match before.iter().find(|other| other.class == baseline.class) {
            None => remarks.push(format!(
                "this change adds accepted figures, {file}; they count once they are in the base"
            )),
            Some(old) if old != baseline => {
                let changes = crate::baseline::difference::changes(old, baseline).len();
                remarks.push(format!("this change edits {changes} accepted figures in {file}; they count once they are in the base"));
            }
            Some(_) => {}
        }
    }
    for gone in before.iter().filter(|b| !after.iter().any(|other| other.class == b.class)) {
        remarks.push(format!("this change removes accepted figures, {}", file::name_for(&gone.class)));
    }
    remarks
}
