//! Counted launches: the instructions of an iteration, on a simulated processor, where nothing that else runs on the machine
//! changes them.
//!
//! A sample of `2k` iterations less one of `k` of the same round is what `k` iterations cost: the protocol, and whatever else
//! a sample needs besides them, is the same in both. A second pair is on the same inputs, and agrees with the first unless
//! something else than the work changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use perfharness_contract::protocol::{Mode, Prepared, Request, SampleReply, SampleRequest};
use perfharness_contract::{BenchmarkId, Number};
use perfharness_record::{FunctionCount, LAUNCH_ALONE, Outcome, Reach, WorkerCommand, units};
use perfharness_verdict::judge::SAME_INSTRUCTIONS;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use tempfile::TempDir;

use super::callgrind::{Callgrind, Control, Counts, Detail, Executed};
use super::executor::{CallError, Executor, LaunchOptions, Opened, Session, call};
use super::order::PlacementRounds;
use super::reach::Reaches;
use super::{Event, ProcessExecutor};
use crate::plan::Plan;

/// Rounds of the one placement. Their inputs differ from those of launches with timed samples.
const ROUNDS: PlacementRounds = PlacementRounds { launch: LAUNCH_ALONE, placement: 0 };
/// Intended time of a sample of `k` iterations on the simulated processor, before it counts.
const SAMPLE_NS: u64 = 20_000_000;
/// Most iterations of such a sample.
const MOST_ITERATIONS: u64 = 1 << 20;
/// Pairs of samples of `k` and `2k` iterations that are taken at least and at most. The first often has some thousand
/// instructions too many.
const LEAST_PAIRS: usize = 2;
const MOST_PAIRS: usize = 6;
/// Relative difference up to which two pairs agree.
const AGREE: f64 = 2e-4;
/// Functions of a benchmark that are kept at most, and the share of its instructions that one must have.
const MOST_FUNCTIONS: usize = 60;
const LEAST_SHARE: f64 = 0.003;
/// Most characters of the name of a function.
const LONGEST_NAME: usize = 200;
/// Most time for one benchmark.
const LONGEST: Duration = Duration::from_secs(20);
/// Shortest limit on the time of one, however little is left.
const SHORTEST: Duration = Duration::from_secs(3);
/// Factor by which one may take longer than an even share of the time that is left.
const OVER_SHARE: u32 = 2;
/// Share by which the figures of two sides have to differ for both to be counted again, and how often they are, each time in
/// fresh processes: what a process draws when it starts, such as the seed of its hash maps, is no difference of the code.
const DIFFERENT: f64 = 0.005;
const MOST_RECOUNTS: usize = 3;
/// Share of the time for the first counts of all sides.
const FIRST_COUNTS: f64 = 0.75;
/// Time of a first iteration from which on it has warmed up whatever there is.
const LONG_NS: u64 = 200_000_000;
/// Samples of `k` iterations in two pairs, and the factor by which they take longer while they are counted.
const IN_TWO_PAIRS: u64 = 6;
const COUNTS_SLOWER: u64 = 4;
/// Failures of a worker after which it is not started again.
const MOST_FAILURES: u32 = 8;

/// The instructions of an iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Counted {
    /// They were counted.
    Instructions {
        /// Instructions of an iteration, by each pair of samples: two that agree, or several that do not.
        pairs: Vec<Number>,
        /// True if the pairs agree, and all processes.
        agree: bool,
        /// Iterations by which the samples of a pair differ.
        iterations: u64,
        /// The functions with the most instructions, by the last pair.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        functions: Vec<FunctionCount>,
        /// The change of what it executes, in the second side of a pair.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reach: Option<Reach>,
    },
    /// They were not.
    Absent {
        /// Reason, as a clause.
        absent: String,
    },
}

impl Counted {
    fn absent(why: impl Into<String>) -> Self {
        Self::Absent { absent: why.into() }
    }

    fn iterations(&self) -> Option<u64> {
        match self {
            Self::Instructions { iterations, .. } => Some(*iterations),
            Self::Absent { .. } => None,
        }
    }

    /// The change of what it executes, where that is known.
    pub(crate) fn reach(&self) -> Option<&Reach> {
        match self {
            Self::Instructions { reach, .. } => reach.as_ref(),
            Self::Absent { .. } => None,
        }
    }

    /// True if two sides have the same instructions, but for what other addresses make of them.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        let (Some([low, high]), Some([least, largest])) = (self.range(), other.range()) else { return false };
        high.max(largest) <= low.min(least) * (1.0 + SAME_INSTRUCTIONS)
    }

    /// Returns the least and the largest figure.
    fn range(&self) -> Option<[f64; 2]> {
        let Self::Instructions { pairs, .. } = self else { return None };
        let all = || pairs.iter().map(|pair| pair.0);
        Some([all().reduce(f64::min)?, all().reduce(f64::max)?])
    }

    /// True if all figures of one side are larger than all of the other by more than what differs from process to process.
    fn differs_from(&self, other: &Self) -> bool {
        let (Some([low, high]), Some([least, largest])) = (self.range(), other.range()) else { return false };
        low > largest * (1.0 + DIFFERENT) || least > high * (1.0 + DIFFERENT)
    }

    fn set_reach(&mut self, of: Reach) {
        if let Self::Instructions { reach, .. } = self {
            *reach = Some(of);
        }
    }

    /// Adds the figures of another process.
    fn add(&mut self, more: Self) {
        if let (
            Self::Instructions { pairs, agree, .. },
            Self::Instructions { pairs: others, agree: agrees, .. },
        ) = (self, more)
        {
            let is_same = pairs.iter().zip(&others).all(|(one, other)| agree_on(one.0, other.0));
            *agree &= agrees && is_same;
            pairs.extend(others);
        }
    }
}

/// A side that is to be counted.
#[derive(Clone, Debug)]
pub(crate) struct ToCount {
    /// The case of the plan.
    pub(crate) case: usize,
    /// The side of the case.
    pub(crate) side: usize,
    /// Number of the worker.
    pub(crate) worker: usize,
    pub(crate) benchmark: BenchmarkId,
    /// True if its figure is compared with those of the sides before it in its case, and is of no use without them.
    pub(crate) is_paired: bool,
    /// Reason why it cannot be counted, as a clause.
    pub(crate) refused: Option<String>,
}

/// Reason for which a benchmark is not counted.
enum Stopped {
    /// It cannot be, and its worker lives on.
    Absent(String),
    /// Its worker has ended, or is of no use any more.
    Ended(String),
    Interrupted,
}

impl From<CallError> for Stopped {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Ended(Outcome { reason, kind, .. }) => {
                Self::Ended(reason.unwrap_or_else(|| kind.as_str().to_owned()))
            }
            CallError::Interrupted => Self::Interrupted,
        }
    }
}

/// Instructions of a side, and the functions that it executed.
type Measured = (Counted, BTreeSet<Executed>);

/// Counts sides in their order, for so much time, with workers that each live on for the next.
pub(crate) fn count_sides(
    plan: &Plan,
    tool: &Callgrind,
    workers: &[WorkerCommand],
    sides: &[ToCount],
    time: Duration,
    interrupted: &Arc<AtomicBool>,
    emit: &mut dyn FnMut(&Event),
) {
    let folder = match tempfile::Builder::new().prefix("perfharness-counts-").tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            let counted = Counted::absent(format!("its files cannot be kept: {error}"));
            return all(sides, &counted, emit);
        }
    };
    let own = |number: usize| folder.path().join(number.to_string());
    let around = workers
        .iter()
        .enumerate()
        .map(|(number, worker)| tool.around(worker, &own(number), Detail::Functions))
        .collect();
    let executor = ProcessExecutor::new(around, Arc::clone(interrupted));
    let start_ns = executor.now_ns();
    let until = |time: Duration| start_ns + time.as_nanos() as u64;
    let until_ns = until(time.mul_f64(FIRST_COUNTS));
    let mut counter =
        Counter { plan, tool, folder, executor, until_ns, open: BTreeMap::new(), failures: BTreeMap::new() };
    let (mut lost, mut differ, mut reaches) = (None, Vec::new(), Reaches::default());
    let mut before: Option<Done<'_>> = None;
    for (at, side) in sides.iter().enumerate() {
        let start_ns = counter.executor.now_ns();
        let first = before.take().filter(|first| side.is_paired && first.side.case == side.case);
        let result = if side.refused.is_none() && side.is_paired && lost == Some(side.case) {
            Err(Stopped::Absent("the side that it is compared with was not counted".into()))
        } else {
            let waiting = sides[at..].iter().filter(|side| side.refused.is_none()).count();
            // Both sides of a pair have equally long samples, and what these do not cancel is the same in both.
            let like = first.as_ref().and_then(|first| first.counted.iterations());
            counter.count(side, waiting as u32, like)
        };
        let (mut counted, executed) = match result {
            Ok(counted) => counted,
            Err(Stopped::Absent(why)) => (Counted::absent(why), BTreeSet::new()),
            Err(Stopped::Ended(why)) => {
                *counter.failures.entry(side.worker).or_default() += 1;
                (Counted::absent(format!("counting it failed: {why}")), BTreeSet::new())
            }
            Err(Stopped::Interrupted) => break,
        };
        if matches!(counted, Counted::Absent { .. }) {
            lost = Some(side.case);
        }
        if let Some(first) = &first {
            let of = |side: &ToCount| &workers[side.worker];
            counted.set_reach(reaches.between((of(first.side), &first.executed), (of(side), &executed)));
        }
        let spent_ns = counter.executor.now_ns().saturating_sub(start_ns);
        emit(&side.event(&counted, spent_ns));
        let this = Done { side, counted, executed, spent_ns };
        match first {
            Some(first) => differ.extend(first.counted.differs_from(&this.counted).then_some([first, this])),
            None => before = Some(this),
        }
    }
    counter.until_ns = until(time);
    for pair in differ {
        counter.count_again(pair, emit);
    }
    counter.open.into_values().for_each(|open| open.session.finish());
}

fn all(sides: &[ToCount], counted: &Counted, emit: &mut dyn FnMut(&Event)) {
    for ToCount { case, side, .. } in sides {
        emit(&Event::Counted { case: *case, side: *side, counted: counted.clone(), spent_ns: 0 });
    }
}

/// A side that was counted.
struct Done<'s> {
    side: &'s ToCount,
    counted: Counted,
    executed: BTreeSet<Executed>,
    spent_ns: u64,
}

/// A worker on the simulated processor.
struct Open {
    session: Box<dyn Session>,
    /// The folder of its files.
    folder: PathBuf,
    pid: u32,
    dumps: u32,
}

struct Counter<'a> {
    plan: &'a Plan,
    tool: &'a Callgrind,
    folder: TempDir,
    executor: ProcessExecutor,
    until_ns: u64,
    /// By number of the worker.
    open: BTreeMap<usize, Open>,
    /// Failures by number of the worker.
    failures: BTreeMap<usize, u32>,
}

impl ToCount {
    fn event(&self, counted: &Counted, spent_ns: u64) -> Event {
        Event::Counted { case: self.case, side: self.side, counted: counted.clone(), spent_ns }
    }
}

impl Counter<'_> {
    /// Counts both sides of a pair again in fresh processes while they differ.
    fn count_again(&mut self, mut pair: [Done<'_>; 2], emit: &mut dyn FnMut(&Event)) {
        for _ in 0..MOST_RECOUNTS {
            if !pair[0].counted.differs_from(&pair[1].counted) {
                return;
            }
            for Done { side, counted, spent_ns, .. } in &mut pair {
                if let Some(open) = self.open.remove(&side.worker) {
                    open.session.finish();
                }
                let start_ns = self.executor.now_ns();
                let Ok((more, _)) = self.count(side, 1, counted.iterations()) else { return };
                counted.add(more);
                *spent_ns += self.executor.now_ns().saturating_sub(start_ns);
                emit(&side.event(counted, *spent_ns));
            }
        }
    }

    /// Counts a side, the first of so many that are still to be counted, with so many iterations where they are known.
    fn count(&mut self, side: &ToCount, waiting: u32, iterations: Option<u64>) -> Result<Measured, Stopped> {
        if let Some(why) = &side.refused {
            return Err(Stopped::Absent(why.clone()));
        }
        if self.failures.get(&side.worker).is_some_and(|failures| *failures >= MOST_FAILURES) {
            return Err(Stopped::Absent(format!("counting with its worker failed {MOST_FAILURES} times")));
        }
        let left = Duration::from_nanos(self.until_ns.saturating_sub(self.executor.now_ns()));
        if left.is_zero() {
            return Err(Stopped::Absent("no time was left for counting".into()));
        }
        let mut open = match self.open.remove(&side.worker) {
            Some(open) => open,
            None => self.start(side.worker, left)?,
        };
        let share = (left * OVER_SHARE / waiting.max(1)).max(SHORTEST);
        let until_ns = self.executor.now_ns() + share.min(LONGEST).as_nanos() as u64;
        let mut control = self.tool.control(open.pid, &open.folder, open.dumps);
        let mut turn = Turn {
            session: open.session.as_mut(),
            control: &mut control,
            now_ns: &|| self.executor.now_ns(),
            until_ns,
            timeout: self.plan.timeout,
        };
        let counted = turn.count(&side.benchmark, iterations);
        open.dumps = control.dumps();
        match &counted {
            Ok(_) | Err(Stopped::Absent(_)) => {
                self.open.insert(side.worker, open);
            }
            // A worker that does not obey is of no use, and one that has ended is gone.
            Err(Stopped::Ended(_) | Stopped::Interrupted) => open.session.finish(),
        }
        counted
    }

    fn start(&mut self, worker: usize, left: Duration) -> Result<Open, Stopped> {
        let options =
            LaunchOptions { deadline: self.plan.timeout.min(left), ..LaunchOptions::simulated(self.plan) };
        let folder = self.folder.path().join(worker.to_string());
        // One that ended before left files there.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder)
            .map_err(|error| Stopped::Ended(format!("its files cannot be kept: {error}")))?;
        let Opened { session, .. } = self.executor.launch(worker, &options)?;
        let pid = session.pid().ok_or_else(|| Stopped::Ended("it is no process".into()))?;
        Ok(Open { session, folder, pid, dumps: 0 })
    }
}

/// The counting of one benchmark.
struct Turn<'t, 'c> {
    session: &'t mut dyn Session,
    control: &'t mut Control<'c>,
    now_ns: &'t dyn Fn() -> u64,
    until_ns: u64,
    timeout: Duration,
}

impl Turn<'_, '_> {
    fn count(&mut self, benchmark: &BenchmarkId, iterations: Option<u64>) -> Result<Measured, Stopped> {
        let prepare = Request::Prepare { benchmark: benchmark.clone(), placement: 0 };
        let deadline = self.deadline()?;
        let Prepared { handle, .. } = call(self.session, &prepare, deadline)?;
        // A wrapper may have started others before it became the worker.
        let others = self.control.others();
        let (round, one) = (ROUNDS.round(0, 0), ROUNDS.warm_up_round(0));
        let (mut iteration_ns, wall_ns) = self.sample(handle, one, 1)?;
        let long_enough = || (SAMPLE_NS / wall_ns).clamp(1, MOST_ITERATIONS);
        let iterations = iterations.unwrap_or_else(long_enough);
        if iteration_ns < LONG_NS {
            // This fills caches and pools, and binds functions that are bound when they are first called.
            iteration_ns = self.sample(handle, round, 2 * iterations)?.0 / (2 * iterations);
        }
        let due_ns = iteration_ns.saturating_mul(iterations * IN_TWO_PAIRS * COUNTS_SLOWER);
        if due_ns > self.left_ns() {
            // It would take the time of others, and its worker would have to be ended.
            let deadline = self.deadline()?;
            let _: Value = call(self.session, &Request::Release { handle }, deadline)?;
            let takes = units::duration(due_ns as f64);
            return Err(Stopped::Absent(format!(
                "counting it would take some {takes}, more than its share of the time"
            )));
        }
        let obeyed = |result: Result<(), String>| result.map_err(Stopped::Ended);
        obeyed(self.control.begin())?;
        let PerIteration { pairs, agree, functions, executed } =
            per_iteration(iterations, |pair, iterations| {
                if pair >= LEAST_PAIRS && due_ns > self.left_ns() {
                    return Ok(None);
                }
                self.sample(handle, round, iterations)?;
                self.control.take().map(Some).map_err(Stopped::Ended)
            })?;
        obeyed(self.control.end())?;
        let pid = self.control.pid();
        let deadline = self.deadline()?;
        let _: Value = call(self.session, &Request::Release { handle }, deadline)?;
        if self.control.others() > others || has_children(pid) {
            return Err(Stopped::Absent("other processes of its worker are not counted".into()));
        }
        if pairs.iter().any(|pair| *pair <= 0.0) {
            return Err(Stopped::Absent("its work is not done in the process of its worker".into()));
        }
        let pairs = pairs.into_iter().map(Number).collect();
        let functions = largest(functions);
        Ok((Counted::Instructions { pairs, agree, iterations, functions, reach: None }, executed))
    }

    /// Takes a sample; returns its time by the harness's clock, inputs included that the worker makes outside of its own, and
    /// that by the worker's, in ns.
    fn sample(&mut self, handle: u64, round: u64, iterations: u64) -> Result<(u64, u64), Stopped> {
        let request = SampleRequest { handle, mode: Mode::Timed, round, offset: 0, lead_in: 0, iterations };
        let deadline = self.deadline()?;
        let start_ns = (self.now_ns)();
        let reply: SampleReply = call(self.session, &Request::Sample(request), deadline)?;
        Ok(((self.now_ns)().saturating_sub(start_ns), reply.wall_ns.max(1)))
    }

    fn left_ns(&self) -> u64 {
        self.until_ns.saturating_sub((self.now_ns)())
    }

    /// Returns the time that the next request may take. A worker that exceeds it is ended.
    fn deadline(&self) -> Result<Duration, Stopped> {
        let left = Duration::from_nanos(self.left_ns());
        if left.is_zero() {
            return Err(Stopped::Ended("it takes too long on a simulated processor".into()));
        }
        Ok(left.min(self.timeout))
    }
}

/// The cost of an iteration.
#[derive(Debug, Default, PartialEq)]
struct PerIteration {
    /// By each pair of samples that counts.
    pairs: Vec<f64>,
    /// True if the last two agree.
    agree: bool,
    /// By function, from the last pair.
    functions: BTreeMap<String, f64>,
    /// The functions of all samples: those of the protocol, too, which a benchmark has to do with.
    executed: BTreeSet<Executed>,
}

fn agree_on(one: f64, other: f64) -> bool {
    (other - one).abs() <= AGREE * other.abs()
}

/// Returns what an iteration costs by pairs of samples of `k` and `2k` iterations on the same inputs, until two in a row agree or
/// there is no time for more. `sample` gets the number of the pair.
fn per_iteration<E>(
    k: u64,
    mut sample: impl FnMut(usize, u64) -> Result<Option<Counts>, E>,
) -> Result<PerIteration, E> {
    let each = |few: u64, many: u64| (many as f64 - few as f64) / k as f64;
    let mut found = PerIteration::default();
    for pair in 0..MOST_PAIRS {
        let Some(few) = sample(pair, k)? else { break };
        let Some(many) = sample(pair, 2 * k)? else { break };
        found.pairs.push(each(few.total, many.total));
        let own = |name: &String| few.functions.get(name).copied().unwrap_or(0);
        found.functions =
            many.functions.iter().map(|(name, cost)| (name.clone(), each(own(name), *cost))).collect();
        found.executed.extend(few.executed.into_iter().chain(many.executed));
        if let [.., before, last] = found.pairs[..]
            && agree_on(before, last)
        {
            found.pairs = vec![before, last];
            found.agree = true;
            break;
        }
    }
    Ok(found)
}

/// Returns the functions with the most instructions, largest first.
fn largest(functions: BTreeMap<String, f64>) -> Vec<FunctionCount> {
    let all: f64 = functions.values().sum();
    let mut kept: Vec<FunctionCount> = functions
        .into_iter()
        .filter(|(_, each)| *each > 0.0 && *each >= LEAST_SHARE * all)
        .map(|(name, each)| FunctionCount {
            name: name.chars().take(LONGEST_NAME).collect(),
            instructions: Number(each),
        })
        .collect();
    kept.sort_by(|a, b| b.instructions.0.total_cmp(&a.instructions.0).then_with(|| a.name.cmp(&b.name)));
    kept.truncate(MOST_FUNCTIONS);
    kept
}

/// True if a process has living children. Threads are none.
fn has_children(pid: u32) -> bool {
    let Ok(mut system) = System::new() else { return false };
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, ProcessRefreshKind::nothing());
    let parent = Some(Pid::from_u32(pid));
    system.processes().values().any(|process| process.parent() == parent && process.thread_kind().is_none())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// The counts of a program whose samples have this cost for an iteration, and a fixed part.
    fn counted(k: u64, cost: impl Fn(usize) -> u64) -> PerIteration {
        let mut samples = 0;
        let found = per_iteration::<Infallible>(k, |_, iterations| {
            samples += 1;
            let own = iterations * cost(samples);
            let functions = [("protocol".to_owned(), 1_000), ("work".to_owned(), own)].into();
            Ok(Some(Counts { total: 1_000 + own, functions, ..Counts::default() }))
        });
        found.unwrap()
    }

    #[test]
    fn the_cost_of_a_sample_cancels_and_one_sample_that_is_off_is_found() {
        let agreed = |found: PerIteration| (found.pairs, found.agree);
        assert_eq!(agreed(counted(1, |_| 700)), (vec![700.0, 700.0], true));
        for off in 1..=4 {
            let cost = |sample| if sample == off { 900 } else { 700 };
            assert_eq!(agreed(counted(8, cost)), (vec![700.0, 700.0], true), "{off}");
        }
    }

    #[test]
    fn inputs_may_cost_what_they_like() {
        let found = per_iteration::<Infallible>(2, |_, iterations| {
            // Each input costs more than the one before.
            let own: u64 = (0..iterations).map(|index| 1_000 + 100 * index).sum();
            Ok(Some(Counts { total: 1_000 + own, ..Counts::default() }))
        });
        assert_eq!(found.map(|found| (found.pairs, found.agree)), Ok((vec![1_250.0, 1_250.0], true)));
    }

    #[test]
    fn the_functions_of_an_iteration_are_those_that_grow_with_iterations() {
        let functions = largest(counted(4, |_| 700).functions);
        assert_eq!(functions, [FunctionCount { name: "work".into(), instructions: Number(700.0) }]);
        let many = (0..200).map(|at| (format!("f{at}"), 1_000.0 + f64::from(at)));
        let kept = largest(many.collect());
        assert_eq!((kept.len(), kept[0].name.as_str()), (MOST_FUNCTIONS, "f199"));
        let small = [("large".to_owned(), 1_000.0), ("small".to_owned(), 2.0)];
        assert_eq!(largest(small.into()).len(), 1);
        assert!(kept.is_sorted_by(|a, b| a.instructions.0 >= b.instructions.0));
    }

    #[test]
    fn what_never_repeats_is_told_with_its_spread() {
        let PerIteration { pairs, agree, .. } = counted(4, |sample| 1_000 + 10 * sample as u64);
        assert!(!agree);
        assert_eq!(pairs.len(), MOST_PAIRS);
        assert!(pairs.windows(2).all(|pair| pair[0] < pair[1]), "{pairs:?}");
    }

    #[test]
    fn sides_differ_only_where_all_of_their_processes_do() {
        let of = |pairs: &[f64]| {
            let pairs = pairs.iter().map(|pair| Number(*pair)).collect();
            Counted::Instructions { pairs, agree: true, iterations: 1, functions: Vec::new(), reach: None }
        };
        let (base, mut head) = (of(&[1_000.0, 1_000.0]), of(&[1_020.0, 1_020.0]));
        assert!(head.differs_from(&base) && base.differs_from(&head));
        assert!(!of(&[1_004.0]).differs_from(&base));
        head.add(of(&[1_001.0, 1_001.0]));
        assert!(!head.differs_from(&base), "its figure is drawn when a process starts");
        assert!(matches!(head, Counted::Instructions { ref pairs, agree: false, .. } if pairs.len() == 4));
        let mut same = of(&[1_020.0, 1_020.0]);
        same.add(of(&[1_020.0, 1_020.01]));
        assert!(same.differs_from(&base) && matches!(same, Counted::Instructions { agree: true, .. }));
        assert!(!Counted::absent("off").differs_from(&base));
    }

    #[test]
    fn without_time_for_more_the_pairs_so_far_stand() {
        let mut samples = 0;
        let found = per_iteration::<Infallible>(2, |pair, _| {
            samples += 1;
            let counts = Counts { total: 1_000 * samples * samples, ..Counts::default() };
            Ok((pair < LEAST_PAIRS).then_some(counts))
        });
        let found = found.unwrap();
        assert_eq!((found.pairs.len(), found.agree), (2, false));
    }

    #[test]
    fn a_failure_ends_it() {
        assert_eq!(per_iteration(1, |_, _| Err::<Option<Counts>, _>("gone")), Err("gone"));
    }
}
