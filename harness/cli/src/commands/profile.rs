//! `perfharness profile`, and what `run --flamegraph` does after measuring.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use perfharness_contract::{Effort, OutcomeKind};
use perfharness_engine::measure::{Interrupted, ProcessExecutor, StackCounter, profile_side};
use perfharness_engine::plan::{CasePlan, Plan};
use perfharness_engine::run::{BaseBuild, ComparedWith, RunSpec};
use perfharness_engine::source_state;
use perfharness_record::{Origin, Profiled, RunEnd, RunRecord, Side, SourceState, WorkerCommand};
use perfharness_report::profile::{FlameIndex, Former, Occasion, ProfileFormat, Shot, write};
use perfharness_report::render::render_profiles;

use super::alone::{exit_code, has_failed, prepare_for, workers_failed};
use super::gate::warn_of_unknown;
use super::places::default_path;
use super::request::untimed;
use super::{Terminal, workers};
use crate::args::ProfileOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult};
use crate::versions::{BuildRecipe, Repository, Versions};

/// Name of the folder beside a record.
pub(super) const FOLDER: &str = "flamegraphs";
/// Time for which `run --flamegraph` profiles each benchmark.
const DEFAULT_WORK: Duration = Duration::from_secs(2);

/// Profiles benchmarks and writes flame graphs.
pub(super) fn profile(opts: &ProfileOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    let effort = config.run.effort.unwrap_or(Effort::Quick);
    let mut request = untimed(&opts.patterns, &opts.conditions, config, effort)?;
    let versions = against(&mut request, opts, config, terminal)?;
    let planned = prepare_for(request, terminal)?;
    let of_base = planned.base().map(|base| &base.catalog);
    let failed = [Some(planned.catalog()), of_base].into_iter().flatten().any(workers_failed);
    let folder = opts.out.clone().unwrap_or_else(|| default_path(&source_state()).with_file_name(FOLDER));
    let profiler = if opts.instructions {
        let counter = planned.stack_counter();
        let why =
            |why| anyhow::anyhow!("--instructions cannot count here: {why}; `perfharness doctor` says more");
        Profiler::Instructions(Box::new(counter.map_err(why)?))
    } else {
        Profiler::Samples { executor: planned.executor(), work: opts.seconds }
    };
    let uncountable = |side: &Side| planned.uncountable(side).filter(|_| opts.instructions);
    let taken = Profiling { plan: planned.plan(), profiler, run: None, terminal }
        .take(|side| uncountable(side).map(Profiled::absent));
    // What was built lasts until it was profiled.
    drop(versions);
    let written = write(&folder, &taken.shots, &formats(&opts.format), Former::Kept, &taken.occasion)?;
    if opts.json {
        terminal.print_json(&written)?;
    } else {
        taken.show(&written, &folder, terminal)?;
    }
    Ok(taken.exit_code(failed))
}

/// Profiles what a run has measured, and writes flame graphs into a folder beside its record.
pub(super) fn beside(
    record: &RunRecord,
    path: &Path,
    plan: &Plan,
    executor: ProcessExecutor,
    show: bool,
    terminal: &Terminal,
) -> Result<RunEnd, CommandError> {
    let known = |side: &Side| {
        let benchmark = record.section().benchmark(&side.benchmark)?;
        // What has failed would fail again, and what was not run was not to be.
        let outcome = benchmark.outcome.clone();
        (outcome.kind != OutcomeKind::Ok).then(|| Profiled::ended(outcome))
    };
    let run = Some(record.run.id.clone());
    let profiler = Profiler::Samples { executor, work: DEFAULT_WORK };
    let taken = Profiling { plan, profiler, run, terminal }.take(known);
    let folder = path.with_file_name(FOLDER);
    let written = write(&folder, &taken.shots, &[ProfileFormat::Svg], Former::Replaced, &taken.occasion)?;
    if show {
        taken.show(&written, &folder, terminal)?;
    }
    Ok(if taken.interrupted { RunEnd::Interrupted } else { RunEnd::Complete })
}

/// Makes a request compare with another build, where that is asked for; returns what was built for it.
fn against(
    request: &mut RunSpec,
    opts: &ProfileOpts,
    config: &Config,
    terminal: &Terminal,
) -> Result<Option<Versions>, CommandError> {
    let base = |workers: Vec<WorkerCommand>| {
        // No record of a profile names the base.
        let source = SourceState::Absent { absent: "not recorded".into() };
        let redefined = Vec::new();
        ComparedWith::Base(Box::new(BaseBuild {
            workers,
            source,
            versions: None,
            identical: false,
            redefined,
            policy: config.gate.clone(),
        }))
    };
    if let Some(command) = &opts.base_worker {
        request.against = base(vec![workers::from_flag(command)?]);
        return Ok(None);
    }
    let Some(reference) = &opts.base else { return Ok(None) };
    let repository = Repository::find()?;
    let base_commit = repository.merge_base(reference)?;
    let head_commit = repository.tracked_state()?;
    warn_of_unknown(&repository, terminal)?;
    let recipe = BuildRecipe::of(config, &repository)?;
    let versions =
        Versions::build(repository, &base_commit, &head_commit, &recipe, &|text| terminal.hint(text))?;
    request.against = base(versions.base.workers.clone());
    request.run.workers.clone_from(&versions.head.workers);
    Ok(Some(versions))
}

/// Each once, however often it was asked for.
fn formats(asked: &[ProfileFormat]) -> Vec<ProfileFormat> {
    let mut formats = asked.to_vec();
    formats.sort_unstable();
    formats.dedup();
    formats
}

/// The source of profiles.
enum Profiler {
    /// The workers' own, which look at the stack now and then.
    Samples { executor: ProcessExecutor, work: Duration },
    /// A simulated processor, which counts.
    Instructions(Box<StackCounter>),
}

/// Benchmarks to profile.
struct Profiling<'a> {
    plan: &'a Plan,
    profiler: Profiler,
    run: Option<String>,
    terminal: &'a Terminal,
}

impl Profiling<'_> {
    /// Profiles every side that nothing is known of, one after the other.
    fn take(mut self, known: impl Fn(&Side) -> Option<Profiled>) -> Taken {
        let occasion = Occasion { taken: Timestamp::now().to_string(), run: self.run.take() };
        let mut taken = Taken { shots: Vec::new(), interrupted: false, occasion };
        for case in self.plan.first() {
            let first = taken.shots.len();
            for side in &case.sides {
                let profiled = known(side).map_or_else(|| self.one(case, side), Ok);
                let Ok(profiled) = profiled else {
                    taken.interrupted = true;
                    return taken;
                };
                let reference = side.reference.map(|at| first + at);
                taken.shots.push(Shot { side: side.clone(), reference, profiled });
            }
        }
        taken
    }

    fn one(&mut self, case: &CasePlan, side: &Side) -> Result<Profiled, Interrupted> {
        if side.skip.is_none() {
            let base = if side.origin == Origin::Base { " of the base" } else { "" };
            let label = case.label();
            self.terminal.hint(&format!("profiling {label}/{}{base}", side.benchmark.variant));
        }
        match &mut self.profiler {
            Profiler::Samples { executor, work } => profile_side(self.plan, side, executor, *work),
            Profiler::Instructions(counter) => counter.count(self.plan, side),
        }
    }
}

/// Benchmarks that were profiled.
struct Taken {
    shots: Vec<Shot>,
    interrupted: bool,
    occasion: Occasion,
}

impl Taken {
    fn show(&self, index: &FlameIndex, folder: &Path, terminal: &Terminal) -> Result<(), CommandError> {
        terminal.print_styled(&render_profiles(index, &self.shots))?;
        let place: PathBuf = folder.join(perfharness_report::profile::INDEX_FILE);
        terminal.hint(&format!("flame graphs: {}", place.display()));
        Ok(())
    }

    fn exit_code(&self, workers_failed: bool) -> u8 {
        let failed = |shot: &Shot| has_failed(shot.profiled.outcome.kind, shot.side.expect);
        let anything = self.shots.iter().any(|shot| shot.profiled.profile.is_ok());
        exit_code(self.interrupted, workers_failed || self.shots.iter().any(failed), anything)
    }
}
