//! A record against accepted figures.

use perfharness_contract::{Direction, MetricDef, MetricKind, OutcomeKind, Portability, standard};
use perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;
use perfharness_verdict::judge::{
    Account, Advisory, Evidence, Expected, Judgement, MIN_BASELINE_RUNS, Pooled, Presence, Reason, RunFigure,
    StoredBaseline, TimePolicy, Verdict, account, judge_size, judge_unpaired,
};

use super::{Judging, Spread, nearest, range_of};
use crate::baseline::accept::{Scope, anchor};
use crate::baseline::{Baseline, Entry, Figures, SPEED_UP};
use crate::compare::policy::direction;
use crate::compare::report::{Against, Row};
use crate::compare::wording;
use crate::{BenchmarkRecord, ComparisonRecord};

/// The confidence of intervals against stored runs.
const CONFIDENCE: f64 = 0.99;

/// The spread of wall times between runs, over all benchmarks of a baseline.
pub(super) fn pooled(baseline: &Baseline) -> Option<Pooled> {
    let wall = baseline.benchmarks.iter().filter_map(|entry| entry.metrics.get(standard::WALL_TIME));
    Pooled::over(wall.map(run_figures))
}

/// Runs without an anchor are compared as they are.
fn run_figures(figures: &Figures) -> Vec<RunFigure> {
    let anchor = |at: usize| figures.anchors.get(at).copied().unwrap_or(1.0);
    figures
        .values
        .iter()
        .enumerate()
        .map(|(at, time)| RunFigure { time: *time, anchor: anchor(at) })
        .collect()
}

impl Judging<'_> {
    pub(super) fn against_baseline(&self, baseline: &Baseline, remarks: &mut Vec<String>) -> Vec<Row> {
        let same_class = baseline.class == self.record.machine.class;
        let against = Against::Baseline;
        let scope = Scope::of(self.record);
        let in_scope = |entry: &&Entry| self.by_id.contains_key(&entry.id.to_string()) || scope.holds(entry);
        let expected = baseline
            .benchmarks
            .iter()
            .filter(in_scope)
            .map(|entry| Expected { id: entry.id.to_string(), identity: Some(entry.identity.0.clone()) });
        let accounts = match account(&expected.collect::<Vec<_>>(), &self.seen()) {
            Ok(accounts) => accounts,
            Err(error) => {
                let judgement = Judgement::unusable(error.to_string());
                return vec![self.row("the record", None, against, judgement)];
            }
        };
        let mut rows = Vec::new();
        let mut bound = 0;
        for Account { id, presence } in accounts {
            // On a machine of the same class nothing else than the code can be the reason.
            if let Presence::Skipped { why } = &presence
                && same_class
                && self.benchmark(&id).is_some_and(|b| b.outcome.kind == OutcomeKind::Skipped)
            {
                let why = format!("it was accepted, and is left out now: {why}");
                rows.push(self.row(&id, None, against, Judgement::failed(why)));
                continue;
            }
            if let Some(judgement) = presence.judgement() {
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            let Some(benchmark) = self.benchmark(&id) else { continue };
            let Some(entry) = baseline.entry(&benchmark.id) else { continue };
            if entry.definition != benchmark.definition {
                let (from, to) = (entry.definition, benchmark.definition);
                let judgement = if self.is_as_in_base(&benchmark.id, to) {
                    Judgement::outdated(from, to)
                } else {
                    Judgement::redefined(from, to)
                };
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            if entry.expected != benchmark.expected {
                let why = format!(
                    "it is now expected to end as {}, and {} was accepted",
                    benchmark.expected.as_str(),
                    entry.expected.as_str()
                );
                rows.push(self.row(&id, None, against, Judgement::failed(why)));
                continue;
            }
            // With a base, the role is the base's, which this change leaves as it is.
            if entry.role != benchmark.role && self.record.base.is_none() {
                let (before, now) = (format!("{:?}", entry.role), format!("{:?}", benchmark.role));
                let what = format!("the role: {before} when accepted, {now} here").to_lowercase();
                rows.push(self.row(&id, None, against, Judgement::changed(vec![what])));
            }
            let accepted = BenchmarkRecord { role: entry.role, ..benchmark.clone() };
            rows.extend(self.metrics_against(entry, &accepted, same_class, &mut bound));
        }
        if !same_class {
            let class = &self.record.machine.class;
            remarks.push(format!(
                "there is no baseline of {class}; the nearest, {}, judges what is the same on every machine, and {bound} figures that are not were left out",
                baseline.class
            ));
        }
        rows
    }

    fn metrics_against(
        &self,
        entry: &Entry,
        benchmark: &BenchmarkRecord,
        same_class: bool,
        bound: &mut usize,
    ) -> Vec<Row> {
        let definitions = self.definitions(&benchmark.id);
        let id = benchmark.id.to_string();
        let mut rows = Vec::new();
        for (metric, figures) in &entry.metrics {
            let is_portable = figures.portability == Portability::Portable;
            if metric == SPEED_UP {
                rows.extend(self.speed_up(entry, benchmark, figures));
                continue;
            }
            if !same_class && !is_portable {
                *bound += 1;
                continue;
            }
            // What has noise is judged within the rounds where there is a base. A gate's worker is another program than that
            // of a run, too, and so another size.
            if figures.kind != MetricKind::Exact && self.record.base.is_some() {
                continue;
            }
            let Some(definition) = definitions.iter().find(|d| d.id.as_str() == metric) else {
                let judgement = Judgement::skipped(format!("the worker does not report `{metric}` any more"));
                rows.push(self.row(&id, None, Against::Baseline, judgement));
                continue;
            };
            let judgement = self.metric_against(benchmark, figures, definition);
            rows.extend(judgement.map(|j| self.row(&id, Some(definition), Against::Baseline, j)));
        }
        let fresh = |d: &&&MetricDef| {
            let known = entry.metrics.contains_key(d.id.as_str());
            let measured = benchmark.metrics.get(d.id.as_str()).is_some_and(|m| m.value.value().is_some());
            !known && measured && !d.work && d.direction != Direction::Neutral
        };
        for definition in definitions.iter().filter(fresh) {
            let judgement = Presence::New.judgement();
            rows.extend(judgement.map(|j| self.row(&id, Some(definition), Against::Baseline, j)));
        }
        rows
    }

    pub(super) fn metric_against(
        &self,
        benchmark: &BenchmarkRecord,
        figures: &Figures,
        definition: &MetricDef,
    ) -> Option<Judgement> {
        if !figures.is_of(definition) {
            let (from, to) = (figures.version, definition.version);
            // The base defines the metrics, where there is one.
            if self.record.base.is_some() {
                return Some(Judgement::outdated(from, to));
            }
            let what = "its unit, kind, direction or use as a work counter is not that which was accepted";
            let other = || Judgement::changed(vec![what.to_owned()]);
            return Some(if from == to { other() } else { Judgement::redefined(from, to) });
        }
        let is_judged = figures.work || definition.direction != Direction::Neutral;
        let found = benchmark.metrics.get(definition.id.as_str());
        let Some(found) = found.filter(|found| found.value.value().is_some()) else {
            let why = found.and_then(|found| found.value.absence()).unwrap_or("it was not measured");
            let judgement = Judgement::skipped(why);
            let is_time = definition.kind == MetricKind::Time || definition.kind == MetricKind::Derived;
            let judgement =
                if is_time { self.advise_time(benchmark, definition, judgement) } else { judgement };
            return Some(judgement).filter(|_| is_judged);
        };
        let value = found.value.value()?;
        let subject = self.subject(&benchmark.id, definition);
        let direction = direction(definition.direction);
        match figures.kind {
            MetricKind::Exact if figures.work => {
                let accepted = figures.middle()?;
                let same = accepted == value;
                let why =
                    format!("its work counter `{}` is {value}, and {accepted} was accepted", definition.id);
                (!same).then(|| Judgement::failed(why))
            }
            MetricKind::Exact => {
                let varied = figures.range.is_some();
                let accepted = Spread { range: figures.extremes()?, middle: figures.middle()?, varied };
                self.exact(&benchmark.id, definition, accepted, Spread::of(found, value))
            }
            MetricKind::Size => {
                let (accepted, value) = nearest(figures.extremes()?, range_of(found, value));
                judge_size(accepted, value, self.terms.policy.size(&subject), direction)
            }
            MetricKind::Time => {
                let policy = self.terms.policy.time(&subject);
                let runs = run_figures(figures);
                // A GPU has a clock of its own, which the anchor knows nothing of.
                let on_gpu = self.uses_gpu(&benchmark.id) && !subject.is_software;
                let anchor =
                    anchor(self.record, &benchmark.id).filter(|_| !figures.anchors.is_empty() && !on_gpu);
                let runs = match anchor {
                    Some(_) => runs,
                    None => runs.into_iter().map(|run| RunFigure { anchor: 1.0, ..run }).collect(),
                };
                let now = RunFigure { time: value, anchor: anchor.unwrap_or(1.0) };
                let judgement = self.unpaired(&runs, now, policy, direction)?;
                Some(self.advise_time(benchmark, definition, judgement))
            }
            // What is computed from other figures is judged by those.
            MetricKind::Derived => None,
        }
        .map(|judgement| few_launches(judgement, figures, found.launches.len()))
    }

    fn unpaired(
        &self,
        runs: &[RunFigure],
        now: RunFigure,
        policy: TimePolicy,
        direction: perfharness_verdict::judge::Direction,
    ) -> Option<Judgement> {
        let same_class =
            self.terms.baseline.is_some_and(|baseline| baseline.class == self.record.machine.class);
        let stored = StoredBaseline { runs, pooled: self.pooled, same_class };
        let judgement = judge_unpaired(&stored, &[now], CONFIDENCE, policy, direction)?;
        let judgement = if self.terms.one_run {
            judgement.advise(Advisory::FewRuns { runs: 1, needed: MIN_BASELINE_RUNS })
        } else {
            judgement
        };
        let Evidence::TimeUnpaired(evidence) = &judgement.evidence else { return Some(judgement) };
        // What the runs of the baseline differ by says what this machine can tell.
        let smallest = evidence.smallest_detectable.map(|smallest| smallest - policy.delta());
        Some(match smallest {
            Some(smallest) if smallest > policy.delta() => {
                judgement.advise(Advisory::TooNoisy { smallest_detectable: smallest })
            }
            _ => judgement,
        })
    }

    fn speed_up(&self, entry: &Entry, benchmark: &BenchmarkRecord, figures: &Figures) -> Option<Row> {
        // The base says more than what was stored.
        if self.record.base.is_some() {
            return None;
        }
        let definition = wording::speed_up();
        let judgement = match self.record.comparison(&benchmark.id, standard::WALL_TIME) {
            Some(comparison) => self.judge_speed_up(entry, benchmark, figures, comparison)?,
            // Where only some variants are asked for, there may be nothing to compare with.
            None if !self.has_reference(&benchmark.id) => return None,
            None => self.advise_time(benchmark, &definition, Judgement::skipped("it was not compared")),
        };
        Some(self.row(&entry.id.to_string(), Some(&definition), Against::Baseline, judgement))
    }

    pub(super) fn judge_speed_up(
        &self,
        entry: &Entry,
        benchmark: &BenchmarkRecord,
        figures: &Figures,
        comparison: &ComparisonRecord,
    ) -> Option<Judgement> {
        let definition = wording::speed_up();
        let policy = self.terms.policy.time(&self.subject(&entry.id, &definition));
        let now = RunFigure { time: comparison.speed_up().0, anchor: 1.0 };
        let judgement = self.unpaired(&run_figures(figures), now, policy, direction(figures.direction))?;
        let judgement = few_launches(judgement, figures, comparison.launches.len());
        let judgement = self.advise_time(benchmark, &definition, judgement);
        let is_uneven = self.are_uneven(&comparison.candidate, &comparison.reference);
        Some(if is_uneven { judgement.advise(Advisory::UnevenSides) } else { judgement })
    }
}

/// What runs of a baseline differ by holds for runs of as many launches: one of fewer has more noise than it tells of.
fn few_launches(judgement: Judgement, figures: &Figures, launches: usize) -> Judgement {
    let needed = figures.launches.min(MIN_LAUNCHES_TO_DECIDE);
    match judgement.evidence {
        Evidence::TimeUnpaired(_) if launches < needed => Judgement {
            verdict: Verdict::Inconclusive,
            reason: Reason::TooFewLaunches { launches, needed },
            ..judgement
        },
        _ => judgement,
    }
}
