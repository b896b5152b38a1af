//! `gate --base` and `gate --base-worker`: two builds in the same rounds.

use perfharness_engine::source_state;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use perfharness_contract::{BenchmarkId, Effort};

use super::super::asked::{Asked, request};
use super::super::session::{Place, Session, Subject, machine};
use super::super::{Terminal, workers};
use super::{Judged, check_places, measure_and_judge, patterns, place};
use crate::args::GateOpts;
use crate::config::{CONFIG_FILE, Config};
use crate::exit::{CommandError, CommandResult};
use crate::versions::{BuildRecipe, Repository, Version, Versions, VersionsError};
use perfharness_engine::build::BaseFacts;
use perfharness_engine::plan::{CasePlan, Catalog, Selection, pairs};
use perfharness_engine::request::RunRequest;
use perfharness_record::WorkerCommand;
use perfharness_record::baseline::accept::identity;
use perfharness_record::baseline::nearest::of_machine;
use perfharness_record::baseline::{Baseline, file};
use perfharness_record::compare::{Acknowledgement, GatePolicy};
use perfharness_record::units::counted;
use perfharness_record::{Design, Redefinition};
use perfharness_record::{Machine, SelectedRecord, SourceState, VersionRecord, VersionsRecord};

/// Both sides, ready to be measured.
struct Sides {
    base: Vec<WorkerCommand>,
    head: Vec<WorkerCommand>,
    source: SourceState,
    /// The builds, which last until they were measured.
    versions: Option<Versions>,
    /// True if all that both load is known to be the same.
    identical: bool,
}

/// What a change is judged by: what was there before it.
struct Rules {
    policy: GatePolicy,
    baseline: Option<Baseline>,
    /// The differences of the change that have a row.
    redefined: Vec<Redefinition>,
    remarks: Vec<String>,
}

pub(super) fn gate(
    opts: &GateOpts,
    config: &Config,
    config_path: Option<&Path>,
    terminal: &Terminal,
) -> CommandResult {
    let source = source_state();
    let path = opts.output.clone().unwrap_or_else(|| place(&source, "gate"));
    check_places(&opts.show, Some(&path), &[])?;
    let place = Place::at(&path, opts.resume)?;
    let commits = opts.base.as_deref().map(Commits::of).transpose()?;
    let here = Config::find(config_path);
    let base = match &commits {
        Some(commits) => config_at(&commits.repository, &commits.base, config_path)?,
        None => None,
    };
    let file = here.unwrap_or_else(|| PathBuf::from(CONFIG_FILE));
    let configurations = Configurations { here: config, path: file, base, trust_head: opts.trust_head };
    let used = configurations.used();
    let mut request = request(&patterns(&opts.what), &opts.measure, used, Effort::Standard)?;
    let machine = machine(&request.device, used, terminal);
    let folder = &opts.folder.baselines;
    let mut rules = match &commits {
        Some(commits) => rules_of(commits, &configurations, folder, &machine, terminal)?,
        None => Rules {
            policy: config.gate.clone(),
            baseline: of_machine(&file::read_all(folder)?, &machine).cloned(),
            redefined: Vec::new(),
            remarks: Vec::new(),
        },
    };
    let sides = match commits {
        Some(commits) => from_commits(commits, used, terminal)?,
        None => from_worker(opts, &request)?,
    };
    if let Some(Versions { base, head, .. }) = &sides.versions
        && base.tree == head.tree
        && base.digest != head.digest
    {
        rules.remarks.push(
            "the base and the change have the same files, and their builds differ: something else than the files goes into the programs".into(),
        );
    }
    if opts.measure.conditions.effort.is_none() {
        // Like all of the policy, from the base.
        request.effort = rules.policy.effort.unwrap_or(Effort::Standard);
    }
    request.workers.clone_from(&sides.head);
    place.insist_on(&request)?;
    let mut asked = Asked::of(request, &opts.measure.conditions, used, terminal)?;
    let (base_catalog, base) = asked.of_others(&sides.base, terminal)?;
    rules.redefined.extend(asked.define_by(&base_catalog, &opts.measure.conditions, used));
    let head = asked.selection()?;
    let delta = rules.policy.time_default().delta();
    let cases = if sides.identical {
        Vec::new()
    } else {
        pairs(&asked.catalog, &head, &base, sides.head.len(), delta)
    };
    let mut plan = asked.plan(Selection { cases });
    if let RunRequest { effort, time_budget, launches: None, .. } = asked.request {
        let paired = plan.cases.iter().filter(|case| case.sides.len() > 1).count();
        plan.budget = time_budget.unwrap_or_else(|| Design::budget(effort, paired as u32));
    }
    let record = |version: &Version| VersionRecord {
        commit: version.commit.clone(),
        tree: version.tree.clone(),
        digest: version.digest.clone(),
    };
    let versions = sides.versions.as_ref();
    let base = BaseFacts {
        source: sides.source.clone(),
        selected: selected(&base_catalog, &base),
        catalog: base_catalog,
        identical: sides.identical,
        versions: versions.map(|v| VersionsRecord { base: record(&v.base), head: record(&v.head) }),
        redefined: rules.redefined,
    };
    if opts.trust_head {
        rules.policy.acknowledged.extend(Acknowledgement::of_redefinitions("--trust-head"));
    }
    let command = command_again(opts);
    let judged = Judged { baseline: rules.baseline, policy: rules.policy, remarks: rules.remarks, command };
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
    measure_and_judge(session, &judged, sides.versions.as_ref(), &path, opts, terminal)
}

/// The command that measures again against the same base.
fn command_again(opts: &GateOpts) -> String {
    if let Some(reference) = &opts.base {
        return format!("perfharness gate --base {reference}");
    }
    let flag = |name: &str, command: &str| {
        let quoted = shlex::try_quote(command).unwrap_or(command.into());
        format!(" --{name} {quoted}")
    };
    let base = flag("base-worker", opts.base_worker.as_deref().unwrap_or_default());
    let workers = &opts.measure.conditions.worker.workers;
    let head: String = workers.iter().map(|worker| flag("worker", worker)).collect();
    format!("perfharness gate{base}{head}")
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

/// Two workers that are there already. Nobody knows what they load beside the files of their commands.
fn from_worker(opts: &GateOpts, request: &RunRequest) -> Result<Sides, CommandError> {
    let base = workers::from_flag(opts.base_worker.as_deref().unwrap_or_default())?;
    let absent = "given by --base-worker".to_owned();
    Ok(Sides {
        base: vec![base],
        head: request.workers.clone(),
        source: SourceState::Absent { absent },
        versions: None,
        identical: false,
    })
}

/// The commits that are built, and their repository.
struct Commits {
    repository: Repository,
    base: String,
    head: String,
}

impl Commits {
    fn of(reference: &str) -> Result<Self, CommandError> {
        let repository = Repository::find()?;
        let base = repository.merge_base(reference)?;
        let head = repository.tracked_state()?;
        Ok(Self { repository, base, head })
    }
}

/// The configuration of the change, and that of its base.
struct Configurations<'a> {
    here: &'a Config,
    path: PathBuf,
    base: Option<Config>,
    trust_head: bool,
}

impl Configurations<'_> {
    /// The one that holds. Conditions, commands and policy are those of the base: a change would choose what is measured of
    /// it.
    fn used(&self) -> &Config {
        self.base.as_ref().filter(|_| !self.trust_head).unwrap_or(self.here)
    }

    fn policy(&self) -> GatePolicy {
        if self.trust_head { self.here.gate.clone() } else { policy_of(self.base.as_ref(), self.here) }
    }

    /// Remarks on the change's, and its differences.
    fn told(&self, repository: &Repository) -> (Vec<String>, Option<Redefinition>) {
        let path = self.path.display();
        if self.trust_head {
            let remark = "policy and accepted figures are those of the change, by --trust-head";
            return (vec![remark.into()], None);
        }
        let Some(base) = &self.base else {
            let remark =
                format!("the base has no {path}; commands are those here, and policy is the default");
            return (vec![remark], None);
        };
        let edits = base.gate.without_commands() != self.here.gate.without_commands();
        let remark = format!("this change edits [gate] in {path}; it is judged by what was there before");
        let changes = base.differences(self.here, &|folder| repository.relative(folder));
        let subject = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        let redefined = Redefinition { subject: subject.unwrap_or_default(), changes };
        let redefined = Some(redefined).filter(|redefined| !redefined.changes.is_empty());
        (edits.then_some(remark).into_iter().collect(), redefined)
    }
}

/// The policy of a base; the default one where it has none, as that of the change must not count.
pub(super) fn policy_of(base: Option<&Config>, here: &Config) -> GatePolicy {
    let default = || GatePolicy { effort: here.gate.effort, ..GatePolicy::default() };
    base.map_or_else(default, |base| base.gate.clone())
}

/// Policy and accepted figures of the base, so that a change cannot excuse itself, and what the change says otherwise.
fn rules_of(
    commits: &Commits,
    configurations: &Configurations<'_>,
    folder: &Path,
    machine: &Machine,
    terminal: &Terminal,
) -> Result<Rules, CommandError> {
    let repository = &commits.repository;
    let (mut remarks, redefined) = configurations.told(repository);
    if let Some(Redefinition { subject, changes }) = &redefined {
        terminal.warn(&format!(
            "{subject}: {}; what the base says holds, until the change is merged or acknowledged",
            changes.join("; ")
        ));
    }
    let here = file::read_all(folder)?;
    let figures = if configurations.trust_head {
        here
    } else {
        let before = baselines_at(repository, &commits.base, folder)?;
        remarks.extend(baseline_changes(&before, &here, folder));
        before
    };
    Ok(Rules {
        policy: configurations.policy(),
        baseline: of_machine(&figures, machine).cloned(),
        redefined: redefined.into_iter().collect(),
        remarks,
    })
}

/// Both versions, built from commits by the same commands.
fn from_commits(commits: Commits, used: &Config, terminal: &Terminal) -> Result<Sides, CommandError> {
    let Commits { repository, base, head } = commits;
    let unknown = warn_of_unknown(&repository, terminal)?;
    if !unknown.is_empty() && repository.tree_of(&base)? == repository.tree_of(&head)? {
        let files = unknown.into_iter().take(3).collect();
        return Err(VersionsError::Unseen { files }.into());
    }
    let mut naming: Vec<String> =
        [&base, &head].into_iter().flat_map(|commit| repository.naming_root(commit)).collect();
    naming.dedup();
    if let Some(file) = naming.first() {
        terminal.warn(&format!(
            "{file} names the working copy by its absolute path: what it leads to is the same for both versions"
        ));
    }
    let recipe = BuildRecipe::of(used, &repository)?;
    let versions = Versions::build(repository, &base, &head, &recipe, &|text| terminal.hint(text))?;
    Ok(Sides {
        base: versions.base.workers.clone(),
        head: versions.head.workers.clone(),
        source: SourceState::Git { commit: base, branch: None, dirty: false },
        identical: versions.are_identical(&recipe),
        versions: Some(versions),
    })
}

/// A file that git does not know is in no build of a commit. What this program writes by default is none of the change.
pub(in crate::commands) fn warn_of_unknown(
    repository: &Repository,
    terminal: &Terminal,
) -> Result<Vec<String>, CommandError> {
    let mut unknown = repository.unknown()?;
    unknown.retain(|path| !path.starts_with("reports/"));
    if !unknown.is_empty() {
        let some: Vec<&str> = unknown.iter().take(3).map(String::as_str).collect();
        let files = counted(unknown.len(), "file");
        terminal.warn(&format!(
            "{files} untracked or hidden from git {} not built (e.g. {}); `git add` what belongs to the change",
            if unknown.len() == 1 { "is" } else { "are" },
            some.join(", ")
        ));
    }
    Ok(unknown)
}

/// The configuration that holds in a commit: that of the name which the user gave, or the nearest to the current folder. Not
/// the one that is found here: a change may have moved it, or put another one nearer.
pub(super) fn config_at(
    repository: &Repository,
    commit: &str,
    named: Option<&Path>,
) -> Result<Option<Config>, CommandError> {
    let candidates: Vec<PathBuf> = if let Some(path) = named {
        vec![path.to_path_buf()]
    } else {
        let folder = std::env::current_dir().context("there is no current folder")?;
        folder.ancestors().map(|above| above.join(CONFIG_FILE)).collect()
    };
    for path in candidates {
        let Some(inside) = repository.relative(&path) else {
            // Above the repository it is nobody's to change, and held before.
            if path.is_file() {
                return Ok(Some(Config::load(Some(&path))?));
            }
            continue;
        };
        if let Some(text) = repository.file_at(commit, &inside)? {
            return Ok(Some(Config::parse(&path, &text)?));
        }
    }
    Ok(None)
}

/// The accepted figures as a commit has them.
pub(in crate::commands) fn baselines_at(
    repository: &Repository,
    commit: &str,
    folder: &Path,
) -> Result<Vec<Baseline>, CommandError> {
    let Some(inside) = repository.relative(folder) else { return Ok(Vec::new()) };
    let names = repository.files_at(commit, &inside)?;
    let mut found = Vec::new();
    for name in names.iter().filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "json")) {
        let path = format!("{inside}/{name}");
        if let Some(text) = repository.file_at(commit, &path)? {
            found.push(file::parse(Path::new(&path), text.as_bytes())?);
        }
    }
    Ok(found)
}

/// What a change does to accepted figures, for whoever reviews it.
fn baseline_changes(before: &[Baseline], after: &[Baseline], folder: &Path) -> Vec<String> {
    let mut remarks = Vec::new();
    let file = |class: &str| folder.join(file::name_for(class)).display().to_string();
    for baseline in after {
        let file = file(&baseline.class);
        match before.iter().find(|other| other.class == baseline.class) {
            None => remarks.push(format!(
                "this change adds accepted figures, {file}; they count once they are in the base"
            )),
            Some(old) if old != baseline => {
                let changes = perfharness_record::baseline::difference::changes(old, baseline).len();
                remarks.push(format!("this change edits {changes} accepted figures in {file}; they count once they are in the base"));
            }
            Some(_) => {}
        }
    }
    for gone in before.iter().filter(|b| !after.iter().any(|other| other.class == b.class)) {
        remarks.push(format!("this change removes accepted figures, {}", file(&gone.class)));
    }
    remarks
}
