//! Instructions of a benchmark by call stack, counted in a launch of its own on a simulated processor.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use perfharness_contract::protocol::{Mode, ProfileClock};
use perfharness_record::{INSTRUCTIONS, Misses, Outcome, Profiled, Side, StackProfile, WorkerCommand};
use tempfile::TempDir;

use super::ProcessExecutor;
use super::callgrind::{Callgrind, CountedStacks, Detail};
use super::executor::{CallError, LaunchOptions, unless_interrupted};
use super::launch::Interrupted;
use super::solo::SoloLaunch;
use crate::plan::Plan;

/// Intended time of the shorter of two samples, on the simulated processor, before it counts.
const SAMPLE_NS: f64 = 20_000_000.0;
/// Most iterations of it.
const MOST_ITERATIONS: f64 = 1e6;
/// Its length in the longer one.
const LONGER: u64 = 3;
/// Share of the instructions from which on a function calls all others.
const NEARLY_ALL: f64 = 0.99;
/// Share of them up to which a function that calls has none of its own.
const HARDLY_ANY: f64 = 1e-3;

/// Counts the instructions of benchmarks by call stack, one after the other.
pub struct StackCounter {
    tool: Callgrind,
    folder: TempDir,
    executor: ProcessExecutor,
}

impl StackCounter {
    /// A counter for benchmarks of these workers.
    ///
    /// # Errors
    /// When nothing can count here, with the reason and the next step.
    pub fn new(workers: &[WorkerCommand], interrupted: &Arc<AtomicBool>) -> Result<Self, String> {
        let tool = Callgrind::find()?;
        let folder = tempfile::Builder::new().prefix("perfharness-stacks-").tempdir();
        let folder = folder.map_err(|error| format!("its files cannot be kept: {error}"))?;
        let around = |worker| tool.around(worker, folder.path(), Detail::Stacks);
        let executor = ProcessExecutor::new(workers.iter().map(around).collect(), Arc::clone(interrupted));
        Ok(Self { tool, folder, executor })
    }

    /// Counts the instructions of a side.
    ///
    /// # Errors
    /// When the user stops it.
    pub fn count(&mut self, plan: &Plan, side: &Side) -> Result<Profiled, Interrupted> {
        let Self { tool, folder, executor } = self;
        let options = LaunchOptions::simulated(plan);
        let counted = SoloLaunch::open_with(plan, side, executor, &options).and_then(|mut launch| {
            launch.prepare()?;
            let mut launch = launch.check()?;
            let iteration_ns = launch.warm_up()?;
            let iterations = (SAMPLE_NS / iteration_ns).clamp(1.0, MOST_ITERATIONS) as u64;
            let sampled = sample(&mut launch, tool, folder, iterations)?;
            launch.finish();
            Ok(match sampled.map(|[few, many]| profile(&few, many, iterations * (LONGER - 1))) {
                Ok(Some(profile)) => Profiled { outcome: Outcome::ok(), profile: Ok(profile) },
                Ok(None) => Profiled::absent("its work is not done in the process of its worker".into()),
                Err(absent) => Profiled::absent(absent),
            })
        });
        unless_interrupted(counted, Profiled::ended)
    }
}

type Stacks = BTreeMap<Vec<String>, u64>;

/// Returns the stacks of a sample, and of a longer one of the same round; or why they cannot be counted.
fn sample(
    launch: &mut SoloLaunch<'_>,
    tool: &Callgrind,
    folder: &TempDir,
    iterations: u64,
) -> Result<Result<[CountedStacks; 2], String>, CallError> {
    let Some(pid) = launch.pid() else { return Ok(Err("its worker is no process".into())) };
    let mut control = tool.control(pid, folder.path(), 0);
    if let Err(absent) = control.begin() {
        return Ok(Err(absent));
    }
    let mut taken = Vec::new();
    for factor in [1, LONGER] {
        launch.sample(Mode::Timed, SoloLaunch::round(0), factor * iterations)?;
        match control.take_stacks() {
            Ok(stacks) => taken.push(stacks),
            Err(absent) => return Ok(Err(absent)),
        }
    }
    Ok(<[CountedStacks; 2]>::try_from(taken).map_err(|_| "nothing was counted".into()))
}

/// Returns the surplus of the longer sample, which is the work of `iterations`. `None` if there is none.
fn profile(few: &CountedStacks, many: CountedStacks, iterations: u64) -> Option<StackProfile> {
    let each =
        |miss: fn(&Misses) -> f64| (miss(&many.misses) - miss(&few.misses)).max(0.0) / iterations as f64;
    let simulated = Some(Misses {
        first_cache: each(|misses| misses.first_cache),
        last_cache: each(|misses| misses.last_cache),
        branches: each(|misses| misses.branches),
    });
    let more = |(stack, count): (Vec<String>, u64)| {
        let more = count.saturating_sub(few.stacks.get(&stack).copied().unwrap_or(0));
        (more > 0).then_some((stack, more))
    };
    let stacks = without_callers(many.stacks.into_iter().filter_map(more).collect());
    let total: u64 = stacks.values().sum();
    (total > 0).then(|| StackProfile {
        stacks,
        total: total as f64,
        unit: INSTRUCTIONS.into(),
        clock: ProfileClock::Cpu,
        iterations,
        wall_ns: 0,
        cpu_ns: None,
        simulated,
    })
}

/// Cuts away the functions that call all others, but for the last of them: they are the worker's. What is met outside of them
/// stays as it is.
fn without_callers(stacks: Stacks) -> Stacks {
    let total: u64 = stacks.values().sum();
    let mut callers: Vec<String> = Vec::new();
    // A function with instructions of its own is the work's.
    while stacks.get(&callers).copied().unwrap_or(0) as f64 <= HARDLY_ANY * total as f64 {
        let mut next: BTreeMap<&String, u64> = BTreeMap::new();
        for (stack, count) in stacks.iter().filter(|(stack, _)| stack.starts_with(&callers)) {
            if let Some(function) = stack.get(callers.len()) {
                *next.entry(function).or_default() += count;
            }
        }
        match next.into_iter().max_by_key(|(_, count)| *count) {
            Some((function, count)) if count as f64 >= NEARLY_ALL * total as f64 => {
                callers.push(function.clone());
            }
            _ => break,
        }
    }
    callers.pop();
    let cut = |(mut stack, count): (Vec<String>, u64)| {
        if stack.len() > callers.len() && stack.starts_with(&callers) {
            stack.drain(..callers.len());
        }
        (stack, count)
    };
    stacks.into_iter().map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(all: &[(&str, u64)]) -> Stacks {
        let stack = |(text, count): &(&str, u64)| (text.split(' ').map(str::to_owned).collect(), *count);
        all.iter().map(stack).collect()
    }

    #[test]
    fn a_profile_is_what_the_longer_sample_has_more() {
        let counted = |all: &[(&str, u64)], branches| CountedStacks {
            stacks: stacks(all),
            misses: Misses { branches, ..Misses::default() },
        };
        let few = [("main serve reply", 900), ("main serve run", 10), ("main serve run walk", 1_000)];
        let many = [
            ("main serve reply", 903),
            ("main serve run", 30),
            ("main serve run walk", 3_000),
            ("main serve run walk memcpy", 500),
        ];
        let profile = profile(&counted(&few, 7.0), counted(&many, 17.0), 20).unwrap();
        assert_eq!(profile.simulated.map(|misses| misses.branches), Some(0.5));
        let due = [("reply", 3), ("run", 20), ("run walk", 2_000), ("run walk memcpy", 500)];
        assert_eq!(profile.stacks, stacks(&due));
        assert_eq!((profile.total, profile.period(), profile.per_iteration()), (2_523.0, 1.0, 126.15));
    }

    #[test]
    fn the_function_that_does_all_by_itself_stays() {
        assert_eq!(without_callers(stacks(&[("main run spin", 5)])), stacks(&[("spin", 5)]));
        let divided = [("a", 5), ("b", 5)];
        assert_eq!(without_callers(stacks(&divided)), stacks(&divided));
    }

    #[test]
    fn work_in_another_process_has_no_profile() {
        let same = CountedStacks { stacks: stacks(&[("main serve", 5)]), misses: Misses::default() };
        assert!(profile(&same.clone(), same, 20).is_none());
    }
}
