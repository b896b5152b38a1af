//! `gate --base` and `gate --base-worker`: two builds in the same rounds.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use perfharness_contract::Effort;
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::{BaseBuild, ComparedWith};
use perfharness_record::baseline::calibration::{self, Calibration};
use perfharness_record::baseline::{Baseline, file};
use perfharness_record::compare::{Acknowledgement, GatePolicy};
use perfharness_record::units::counted;
use perfharness_record::{Redefinition, SourceState, VersionRecord, VersionsRecord, WorkerCommand};

use super::super::request::{or_all, timed};
use super::super::{Terminal, workers};
use super::{Asked, Rules};
use crate::args::GateOpts;
use crate::config::{CONFIG_FILE, Config};
use crate::exit::CommandError;
use crate::versions::{BuildRecipe, Repository, Version, Versions, VersionsError};

/// Both sides, ready to be measured.
struct Sides {
    base: Vec<WorkerCommand>,
    head: Vec<WorkerCommand>,
    source: SourceState,
    versions: Option<Versions>,
    /// True if all that both load is known to be the same.
    identical: bool,
}

/// The request of such a gate, and the rules of the base.
pub(super) fn asked(
    opts: &GateOpts,
    config: &Config,
    config_path: Option<&Path>,
    terminal: &Terminal,
) -> Result<Asked, CommandError> {
    let commits = opts.base.as_deref().map(Commits::of).transpose()?;
    let here = Config::find(config_path);
    let base = match &commits {
        Some(commits) => config_at(&commits.repository, &commits.base, config_path)?,
        None => None,
    };
    let file = here.unwrap_or_else(|| PathBuf::from(CONFIG_FILE));
    let configurations = Configurations { here: config, path: file, base, trust_head: opts.trust_head };
    let used = configurations.used();
    let mut request = timed(&or_all(&opts.what), &opts.measure, used, Effort::Standard)?;
    let folder = &opts.folder.baselines;
    let (mut rules, redefined) = if let Some(commits) = &commits {
        rules_of(commits, &configurations, folder, opts, terminal)?
    } else {
        let rules = Rules {
            policy: config.gate.clone(),
            figures: file::read_all(folder)?,
            calibrations: calibration::read_all(folder)?,
            needed_in: None,
            remarks: Vec::new(),
            command: command_again(opts),
        };
        (rules, Vec::new())
    };
    let sides = match commits {
        Some(commits) => from_commits(commits, used, terminal)?,
        None => from_worker(opts, &request.run)?,
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
        request.run.effort = rules.policy.effort.unwrap_or(Effort::Standard);
    }
    request.run.workers = sides.head;
    let record = |version: &Version| VersionRecord {
        commit: version.commit.clone(),
        tree: version.tree.clone(),
        digest: version.digest.clone(),
    };
    request.against = ComparedWith::Base(Box::new(BaseBuild {
        workers: sides.base,
        source: sides.source,
        identical: sides.identical,
        versions: sides
            .versions
            .as_ref()
            .map(|versions| VersionsRecord { base: record(&versions.base), head: record(&versions.head) }),
        redefined,
        policy: rules.policy.clone(),
    }));
    if opts.trust_head {
        rules.policy.acknowledged.extend(Acknowledgement::of_redefinitions("--trust-head"));
    }
    Ok(Asked { request, rules, versions: sides.versions })
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

/// Policy and accepted figures of the base, so that a change cannot excuse itself, and the differences of the change.
fn rules_of(
    commits: &Commits,
    configurations: &Configurations<'_>,
    folder: &Path,
    opts: &GateOpts,
    terminal: &Terminal,
) -> Result<(Rules, Vec<Redefinition>), CommandError> {
    let repository = &commits.repository;
    let (mut remarks, redefined) = configurations.told(repository);
    if let Some(Redefinition { subject, changes }) = &redefined {
        terminal.warn(&format!(
            "{subject}: {}; what the base says holds, until the change is merged or acknowledged",
            changes.join("; ")
        ));
    }
    let here = file::read_all(folder)?;
    let calibrations_here = calibration::read_all(folder)?;
    let (figures, calibrations) = if configurations.trust_head {
        (here, calibrations_here)
    } else {
        let before = baselines_at(repository, &commits.base, folder)?;
        remarks.extend(baseline_changes(&before, &here, folder));
        let calibrated = calibrations_at(repository, &commits.base, folder)?;
        if calibrated != calibrations_here {
            let folder = folder.display();
            remarks.push(format!(
                "this change edits calibrations in {folder}; they count once they are in the base"
            ));
        }
        (before, calibrated)
    };
    let (policy, command) = (configurations.policy(), command_again(opts));
    let rules = Rules { policy, figures, calibrations, needed_in: None, remarks, command };
    Ok((rules, redefined.into_iter().collect()))
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
    files_at(repository, commit, folder, file::is_baseline, file::parse)
}

/// The calibrations as a commit has them.
pub(super) fn calibrations_at(
    repository: &Repository,
    commit: &str,
    folder: &Path,
) -> Result<Vec<Calibration>, CommandError> {
    files_at(repository, commit, folder, calibration::is_calibration, calibration::parse)
}

fn files_at<T>(
    repository: &Repository,
    commit: &str,
    folder: &Path,
    is_one: fn(&Path) -> bool,
    parse: fn(&Path, &[u8]) -> Result<T, file::BaselineError>,
) -> Result<Vec<T>, CommandError> {
    let Some(inside) = repository.relative(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for name in repository.files_at(commit, &inside)?.iter().filter(|name| is_one(Path::new(name))) {
        let path = format!("{inside}/{name}");
        if let Some(text) = repository.file_at(commit, &path)? {
            found.push(parse(Path::new(&path), text.as_bytes())?);
        }
    }
    Ok(found)
}

/// Remarks on what a change does to accepted figures, for its reviewer.
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
