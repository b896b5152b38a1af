//! Times and instructions of a benchmark, held against each other. Neither rules alone: other code may take as long, and the
//! same code longer. Where a benchmark regressed, the functions that have more instructions are named.

use std::collections::{BTreeMap, BTreeSet};

use perfharness_contract::{BenchmarkId, Number, standard};
use perfharness_verdict::judge::{Advisory, Evidence, Judgement, SAME_INSTRUCTIONS, Verdict};

use super::Judging;
use crate::baseline::Figures;
use crate::compare::{Against, GateRow, GrownFunction, Remark};
use crate::{BenchmarkRecord, FunctionCount, Reach, RunRecord};

/// The share of the wall time that a benchmark must spend on processors for its instructions to stand for its time.
const COMPUTES: f64 = 0.5;
/// The factor that may be left of that share if an open time is to pass, and if a slower one is to be a matter of layout: what
/// waits longer has the same instructions.
const LEFT_OF_AN_OPEN_TIME: f64 = 0.8;
const LEFT_OF_A_SLOWER_ONE: f64 = 0.95;

/// The share by which a function has to grow to be named, the share of all instructions that it has to gain, and that a new one
/// has to have.
const GREW: f64 = 0.02;
const LEAST_MORE: f64 = 0.0003;
const LEAST_NEW: f64 = 0.006;
/// The share of all that the benchmark has more from which on a function is named, however little it grew.
const MUCH: f64 = 0.2;
/// Functions of a row that are named at most.
const MOST_NAMED: usize = 10;

/// Share by which the layout of code may change a time where nobody knows its spread.
const UNKNOWN_LAYOUT: f64 = 0.25;

/// Lets instructions decide where the time of the same benchmark cannot tell, and excuses more of them where the time surely did
/// not grow.
pub(super) fn weigh_instructions(rows: &mut [GateRow], judging: &Judging<'_>) {
    for at in 0..rows.len() {
        let Some(counted) = instructions_of(rows, at) else { continue };
        let head = judging.benchmark(&rows[at].benchmark);
        // A count that varied proves nothing where it meets the other.
        let steady = head.filter(|head| is_steady(head) && judging.was_steady(&head.id, rows[at].against));
        let left = steady.and_then(|head| judging.left_of_computing(head, rows[at].against)).unwrap_or(0.0);
        let layout_is_known = head.is_some_and(|head| judging.knows_layout(&head.id));
        let Ok([time, counted]) = rows.get_disjoint_mut([at, counted]) else { continue };
        let (time, counted) = (&mut time.judgement, &mut counted.judgement);
        match counted.verdict {
            Verdict::Unchanged if left >= LEFT_OF_AN_OPEN_TIME && time.cannot_tell() => {
                *time = time.clone().with_same_instructions();
            }
            Verdict::Unchanged if left >= LEFT_OF_A_SLOWER_ONE && !layout_is_known && is_same(counted) => {
                *time = time.clone().with_layout_up_to(UNKNOWN_LAYOUT.ln_1p());
            }
            Verdict::Regressed if growth(counted).is_some_and(|growth| time.surely_not_slower(growth)) => {
                *counted = counted.clone().advise(Advisory::NotSlower);
            }
            _ => {}
        }
    }
}

/// The share by which instructions grew.
fn growth(counted: &Judgement) -> Option<f64> {
    match counted.evidence {
        Evidence::Size { baseline, candidate, .. } => Some(candidate / baseline - 1.0),
        _ => None,
    }
}

fn is_same(counted: &Judgement) -> bool {
    growth(counted).is_some_and(|growth| growth.abs() <= SAME_INSTRUCTIONS)
}

/// True if the instructions of a benchmark did not vary.
fn is_steady(benchmark: &BenchmarkRecord) -> bool {
    benchmark.metrics.get(standard::INSTRUCTIONS).is_some_and(|counted| !counted.demoted)
}

impl Judging<'_> {
    /// True if the instructions that a benchmark is held against did not vary.
    fn was_steady(&self, id: &BenchmarkId, against: Against) -> bool {
        match against {
            Against::Base => {
                self.record.base_section().and_then(|base| base.benchmark(id)).is_some_and(is_steady)
            }
            Against::Baseline => {
                let figures = self.accepted(id, standard::INSTRUCTIONS);
                // Each run is another process.
                figures
                    .and_then(Figures::extremes)
                    .is_some_and(|[low, high]| high - low <= SAME_INSTRUCTIONS * low)
            }
            Against::Expectation | Against::Planted => false,
        }
    }

    /// The share of the wall time that a benchmark spends on processors now, by that before. `None` where it waits for most of
    /// the time, or nobody knows.
    fn left_of_computing(&self, head: &BenchmarkRecord, against: Against) -> Option<f64> {
        let now = computing(|metric| figure(head, metric)).filter(|share| *share >= COMPUTES)?;
        let before = match against {
            Against::Base => {
                let base = self.record.base_section()?.benchmark(&head.id)?;
                computing(|metric| figure(base, metric))
            }
            Against::Baseline => computing(|metric| self.accepted(&head.id, metric)?.middle()),
            Against::Expectation | Against::Planted => None,
        };
        Some(now / before?)
    }

    fn accepted(&self, id: &BenchmarkId, metric: &str) -> Option<&Figures> {
        self.terms.baseline?.entry(id)?.metrics.get(metric)
    }
}

fn figure(benchmark: &BenchmarkRecord, metric: &str) -> Option<f64> {
    benchmark.metrics.get(metric)?.value.value()
}

/// The share of the wall time on processors, above 1 on several.
fn computing(figure: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    Some(figure(standard::CPU_TIME)? / figure(standard::WALL_TIME)?)
}

/// Names the functions that have more instructions than in the base, in the rows that regressed: a count of allocations says
/// how many, and the functions where.
pub(super) fn name_functions(rows: &mut [GateRow], judging: &Judging<'_>) {
    let is_asked =
        |row: &&mut GateRow| row.against == Against::Base && row.judgement.verdict == Verdict::Regressed;
    for row in rows.iter_mut().filter(is_asked) {
        let Some(head) = judging.benchmark(&row.benchmark) else { continue };
        let Some(base) = judging.record.base_section().and_then(|base| base.benchmark(&head.id)) else {
            continue;
        };
        row.functions = grown(base, head);
        row.reach = head.reach.clone();
    }
}

/// Returns the functions that have more instructions, by how many more.
fn grown(before: &BenchmarkRecord, now: &BenchmarkRecord) -> Vec<GrownFunction> {
    let counted = |benchmark: &BenchmarkRecord| figure(benchmark, standard::INSTRUCTIONS);
    let (Some(all), Some(all_now)) = (counted(before), counted(now)) else { return Vec::new() };
    let function = |now: &FunctionCount| {
        let known = before.functions.iter().find(|function| function.name == now.name);
        let was = known.map_or(0.0, |function| function.instructions.0);
        // A function that is not known may have been just too small to be kept.
        let least = if known.is_some() { GREW * was } else { LEAST_NEW * all };
        let more = now.instructions.0 - was;
        let is_much_of_it = all_now - all > SAME_INSTRUCTIONS * all && more >= MUCH * (all_now - all);
        let grew = more >= least.max(LEAST_MORE * all) || known.is_some() && is_much_of_it;
        let name = now.name.clone();
        grew.then_some((more, GrownFunction { name, before: Number(was), now: now.instructions }))
    };
    let mut grown: Vec<(f64, GrownFunction)> = now.functions.iter().filter_map(function).collect();
    grown.sort_by(|a, b| b.0.total_cmp(&a.0));
    grown.truncate(MOST_NAMED);
    grown.into_iter().map(|(_, function)| function).collect()
}

/// Returns a remark on each function that grew most in several benchmarks, that of most benchmarks first.
pub(super) fn shared_functions(rows: &[GateRow]) -> Vec<Remark> {
    let mut benchmarks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        if let Some(function) = row.functions.first() {
            benchmarks.entry(&function.name).or_default().insert(&row.benchmark);
        }
    }
    let mut shared: Vec<_> = benchmarks.into_iter().filter(|(_, benchmarks)| benchmarks.len() > 1).collect();
    shared.sort_by_key(|(_, benchmarks)| std::cmp::Reverse(benchmarks.len()));
    let remark = |(function, benchmarks): (&str, BTreeSet<&str>)| Remark::SharedFunction {
        function: function.to_owned(),
        benchmarks: benchmarks.into_iter().map(str::to_owned).collect(),
    };
    shared.into_iter().map(remark).collect()
}

/// Returns a remark on the benchmarks that the change does not reach.
pub(super) fn unreached(record: &RunRecord) -> Option<Remark> {
    let reach = record.benchmarks.iter().filter_map(|benchmark| Some((benchmark, benchmark.reach.as_ref()?)));
    let known = reach.filter(|(_, reach)| matches!(reach, Reach::Known { .. }));
    let (unreached, reached): (Vec<_>, Vec<_>) = known.partition(|(_, reach)| reach.is_nothing());
    let benchmarks: Vec<String> = unreached.iter().map(|(benchmark, _)| benchmark.id.to_string()).collect();
    (!benchmarks.is_empty()).then_some(Remark::Unreached { benchmarks, reached: reached.len() })
}

/// Returns the row with the instructions of the benchmark whose wall time a row is about, against the same figures.
fn instructions_of(rows: &[GateRow], at: usize) -> Option<usize> {
    let time = &rows[at];
    if time.metric.as_deref() != Some(standard::WALL_TIME) {
        return None;
    }
    rows.iter().position(|row| {
        row.metric.as_deref() == Some(standard::INSTRUCTIONS)
            && row.benchmark == time.benchmark
            && row.against == time.against
    })
}
