//! Profiled samples: the stacks of a stretch of iterations, without those of the worker itself.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;

use perfharness_platform::{clock, profile, self_usage};

use crate::protocol::{Profile, ProfileClock, SampleReply, Stack};
use crate::{Failure, Measured, Number};

/// Samples per second of CPU time: about the most that systems can take, and not a divisor of the usual frequencies of
/// programs.
const PER_SECOND: u32 = 997;

/// Below this function only the variant runs. Some debug information has names without their path.
const INNER: &str = "perfharness_profiled_iterations";
/// Below this function the profiler is on.
const OUTER: &str = "perfharness_profiled_sample";
/// Marker of the standard library between its own frames and those of a program or a thread.
const STD_MARK: &str = "__rust_begin_short_backtrace";

/// Replaces a root that is not known.
const INCOMPLETE: &str = "[incomplete stacks]";
/// Replaces the variant's own function on threads that it does not run on.
const OTHER_THREADS: &str = "[other threads]";
/// Replaces a stack in which no frame has a name.
const NO_NAMES: &str = "[no symbols]";

/// Takes a sample under the profiler. Stacks are cut at the names of this function and the next one, so neither may be
/// inlined.
#[inline(never)]
pub(crate) fn perfharness_profiled_sample(
    measured: &mut dyn Measured,
    indices: Range<u64>,
) -> Result<SampleReply, Failure> {
    let unavailable = |reason: String| Failure::Unavailable(format!("the profiler failed: {reason}"));
    let profiler = profile::Profiler::start(PER_SECOND).map_err(unavailable)?;
    let before = self_usage();
    let start_ns = clock::monotonic_ns();
    let start = clock::now();
    let ran = perfharness_profiled_iterations(measured, indices);
    let wall = start.elapsed();
    let after = self_usage();
    let stacks = profiler.stop();
    ran?;
    let stacks = stacks.map_err(unavailable)?;
    let cpu_ns = after.cpu_ns.zip(before.cpu_ns).map(|(after, before)| after.saturating_sub(before));
    Ok(SampleReply {
        start_ns: Some(start_ns),
        wall_ns: wall.as_nanos() as u64,
        cpu_ns,
        profile: Some(profile_of(stacks, cpu_ns)),
        ..SampleReply::default()
    })
}

#[inline(never)]
fn perfharness_profiled_iterations(measured: &mut dyn Measured, indices: Range<u64>) -> Result<(), Failure> {
    // A plain loop, because inlined closures would be frames below this one.
    let mut ran = Ok(());
    for index in indices {
        ran = measured.run(index);
        if ran.is_err() {
            break;
        }
    }
    if ran.is_ok() {
        ran = measured.fence();
    }
    // Work after the call, so that no call above can replace this frame.
    black_box(ran)
}

/// Returns the profile of the stacks that a profiler recorded within `cpu_ns` of CPU time.
fn profile_of(met: Vec<profile::Stack>, cpu_ns: Option<u64>) -> Profile {
    let mut counts: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    for stack in met {
        let count = stack.count;
        if let Some(frames) = without_worker(stack) {
            *counts.entry(frames).or_default() += count;
        }
    }
    let total: u64 = counts.values().sum();
    // Systems round the interval up to that of their own clock (4 ms on many Linux machines), and lose a sample if two
    // threads are interrupted at once. A sample therefore stands for its share of the time, not for the requested
    // interval.
    let asked = 1e9 / f64::from(PER_SECOND);
    let period = cpu_ns.filter(|_| total > 0).map_or(asked, |cpu| cpu as f64 / total as f64);
    let stacks = counts.into_iter().map(|(frames, count)| Stack { frames, count }).collect();
    Profile { period: Number(period), unit: "ns".into(), clock: ProfileClock::Cpu, stacks }
}

/// Returns the frames from the variant's own function on; `None` if only the worker was running.
fn without_worker(stack: profile::Stack) -> Option<Vec<String>> {
    let profile::Stack { mut frames, own_thread, .. } = stack;
    let below = |mark: &str| frames.iter().rposition(|frame| frame.contains(mark)).map(|at| at + 1);
    if let Some(at) = below(INNER) {
        let mut rest = frames.split_off(at);
        // A variant whose constructor returns a box is called through that box.
        let boxes = rest.iter().take_while(|frame| is_box(frame)).count();
        rest.drain(..boxes);
        return (!rest.is_empty()).then_some(rest);
    }
    if below(OUTER).is_some() {
        return None;
    }
    let root: &[&str] = match (own_thread, frames.is_empty()) {
        (true, true) => &[NO_NAMES],
        (true, false) => &[INCOMPLETE],
        (false, true) => &[OTHER_THREADS, NO_NAMES],
        (false, false) => &[OTHER_THREADS],
    };
    let at = below(STD_MARK).unwrap_or(0);
    Some(root.iter().map(ToString::to_string).chain(frames.split_off(at)).collect())
}

/// Whether a frame is `impl Measured for Box<M>`.
fn is_box(frame: &str) -> bool {
    frame.starts_with("<alloc::boxed::Box<")
        && ["Measured>::run", "Measured>::fence"].iter().any(|end| frame.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[&str], own_thread: bool) -> profile::Stack {
        profile::Stack { frames: frames.iter().map(ToString::to_string).collect(), own_thread, count: 1 }
    }

    fn kept(frames: &[&str], own_thread: bool) -> Option<String> {
        without_worker(stack(frames, own_thread)).map(|frames| frames.join(";"))
    }

    const WORKER: [&str; 5] = ["main", "std::rt::lang_start", "serve", OUTER, INNER];

    #[test]
    fn the_frames_of_the_worker_are_cut_away() {
        let deep = [&WORKER[..], &["my::run", "my::write", "write"]].concat();
        assert_eq!(kept(&deep, true).unwrap(), "my::run;my::write;write");
        let boxed = "<alloc::boxed::Box<dyn perfharness_contract::workload::Measured> as perfharness_contract::workload::Measured>::run";
        assert_eq!(kept(&[&WORKER[..], &[boxed, boxed, "my::run"]].concat(), true).unwrap(), "my::run");
    }

    #[test]
    fn what_the_worker_does_itself_is_no_part_of_a_profile() {
        assert_eq!(kept(&WORKER, true), None);
        assert_eq!(kept(&WORKER[..4], true), None);
        assert_eq!(kept(&["main", OUTER, "perfharness_platform::profile::Profiler::start"], true), None);
    }

    #[test]
    fn a_variant_that_is_a_worker_within_a_worker_is_cut_at_the_innermost() {
        let twice = [&WORKER[..], &WORKER[..], &["run"]].concat();
        assert_eq!(kept(&twice, true).unwrap(), "run");
    }

    #[test]
    fn stacks_without_the_variants_function_say_why() {
        let thread =
            ["clone", "start_thread", "std::sys::backtrace::__rust_begin_short_backtrace", "pool", "job"];
        assert_eq!(kept(&thread, false).unwrap(), "[other threads];pool;job");
        assert_eq!(kept(&["clone", "driver"], false).unwrap(), "[other threads];clone;driver");
        assert_eq!(kept(&["deep", "deeper"], true).unwrap(), "[incomplete stacks];deep;deeper");
        assert_eq!(kept(&[], true).unwrap(), "[no symbols]");
        assert_eq!(kept(&[], false).unwrap(), "[other threads];[no symbols]");
    }

    #[test]
    fn a_stack_stands_for_its_share_of_the_time_of_all_that_are_kept() {
        let run = |name| stack(&[INNER, "run", name], true);
        let met = vec![run("a"), run("b"), run("a"), stack(&[OUTER], true)];
        let profile = profile_of(met, Some(9_000));
        assert_eq!(profile.period.0, 3_000.0);
        let counts: Vec<(String, u64)> =
            profile.stacks.into_iter().map(|stack| (stack.frames.join(";"), stack.count)).collect();
        assert_eq!(counts, [("run;a".to_owned(), 2), ("run;b".to_owned(), 1)]);
    }

    #[test]
    fn nothing_met_is_no_stack_and_the_period_that_was_asked_for() {
        for cpu_ns in [None, Some(0), Some(5)] {
            let profile = profile_of(Vec::new(), cpu_ns);
            assert!(profile.stacks.is_empty());
            assert!((profile.period.0 - 1e9 / 997.0).abs() < 1e-6);
        }
    }
}
