//! A record against accepted figures.

use perfharness_contract::{Direction, MetricDef, MetricKind, Number, Portability, standard};
use perfharness_verdict::judge::{
    Expected, Judgement, Pooled, Presence, RunFigure, SPEED_UP, Spread, StoredBaseline, Subject, Why,
};

use super::{Judging, absence, speed_up, spread};
use crate::baseline::accept::{Scope, anchor};
use crate::baseline::{Baseline, Entry, Figures};
use crate::compare::report::{Against, GateRow, Remark};
use crate::counted::{OtherFact, first_other, found_under};
use crate::{BenchmarkRecord, ComparisonRecord, Section};

/// The spread of wall times between runs, over all benchmarks of a baseline.
pub(super) fn pooled(baseline: &Baseline) -> Option<Pooled> {
    let wall = baseline.benchmarks.iter().filter_map(|entry| entry.metrics.get(standard::WALL_TIME));
    Pooled::over(wall.map(run_figures))
}

/// Runs without an anchor are compared as they are.
fn run_figures(figures: &Figures) -> Vec<RunFigure> {
    let anchor = |at: usize| figures.anchors.get(at).copied().unwrap_or(1.0);
    let run = |(at, time): (usize, &f64)| RunFigure { time: *time, anchor: anchor(at) };
    figures.values.iter().enumerate().map(run).collect()
}

impl Judging<'_> {
    pub(super) fn against_baseline(&self, baseline: &Baseline, remarks: &mut Vec<Remark>) -> Vec<GateRow> {
        let same_class = baseline.class == self.record.machine.class;
        let against = Against::Baseline;
        let scope = Scope::of(self.record);
        let in_scope = |entry: &&Entry| self.by_id.contains_key(&entry.id.to_string()) || scope.holds(entry);
        let expected = baseline
            .benchmarks
            .iter()
            .filter(in_scope)
            .map(|entry| Expected { id: entry.id.to_string(), identity: Some(entry.identity.0.clone()) });
        let mut rows = Vec::new();
        let mut left_out = 0;
        // On a machine of the same class, nothing else than the code can be the reason to skip it.
        for benchmark in self.measured(expected, against, |_| same_class, &mut rows) {
            let id = benchmark.id.to_string();
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
                let why = Why::OtherExpectation { now: benchmark.expected, accepted: entry.expected };
                rows.push(self.row(&id, None, against, Judgement::failed(why)));
                continue;
            }
            // With a base, the role is the base's, which this change leaves as it is.
            if entry.role != benchmark.role && self.record.base.is_none() {
                let what = Why::OtherRole { now: benchmark.role, accepted: entry.role };
                rows.push(self.row(&id, None, against, Judgement::changed([what])));
            }
            rows.extend(self.metrics_against(entry, benchmark, same_class, &mut left_out));
        }
        if !same_class {
            remarks.push(Remark::OtherClass {
                class: self.record.machine.class.clone(),
                nearest: baseline.class.clone(),
                left_out,
            });
        }
        rows
    }

    fn metrics_against(
        &self,
        entry: &Entry,
        benchmark: &BenchmarkRecord,
        same_class: bool,
        left_out: &mut usize,
    ) -> Vec<GateRow> {
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
                *left_out += 1;
                continue;
            }
            // Figures with noise are judged within the rounds where there is a base. The worker of a gate is also another
            // program than that of a run, and so has other sizes.
            if figures.kind != MetricKind::Exact && self.record.base.is_some() {
                continue;
            }
            let Some(definition) = definitions.iter().find(|d| d.id.as_str() == metric) else {
                let why = Why::NoMetric { metric: metric.clone() };
                rows.push(self.row(&id, None, Against::Baseline, Judgement::skipped(why)));
                continue;
            };
            let judgement = self.metric_against(self.record.section(), entry, benchmark, figures, definition);
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

    /// The judgement of a metric of a benchmark, measured in `section`, against its accepted figures.
    pub(super) fn metric_against(
        &self,
        section: Section<'_>,
        entry: &Entry,
        benchmark: &BenchmarkRecord,
        figures: &Figures,
        definition: &MetricDef,
    ) -> Option<Judgement> {
        // The role that was accepted holds.
        let subject = self.subject(&benchmark.id, entry.role, definition);
        if !figures.is_of(definition) {
            let (from, to) = (figures.version, definition.version);
            // The base defines the metrics, where there is one.
            if self.record.base.is_some() {
                return Some(Judgement::outdated(from, to));
            }
            let redefined = Judgement::redefined(from, to);
            return Some(if from == to { Judgement::changed([Why::OtherMetric]) } else { redefined });
        }
        if let Some(now) = found_under(self.record, benchmark, definition.id.as_str())
            && let Some(OtherFact { name, accepted, now }) = first_other(&figures.under, &now)
        {
            let why = Why::CountedUnder { name, accepted, now };
            return Some(subject.advise_absence(Judgement::skipped(why)));
        }
        let is_judged = figures.work || definition.direction != Direction::Neutral;
        let found = benchmark.metrics.get(definition.id.as_str());
        let Some((found, value)) = found.and_then(|found| Some((found, found.value.value()?))) else {
            let judgement = Judgement::skipped(found.map_or(Why::NotMeasured, absence));
            return Some(subject.advise_absence(judgement)).filter(|_| is_judged);
        };
        let varied = figures.range.is_some();
        let accepted = Spread { range: figures.extremes()?, middle: figures.middle()?, varied };
        let policy = self.terms.policy;
        match figures.kind {
            MetricKind::Exact if figures.work => (accepted.middle != value).then(|| {
                Judgement::failed(Why::OtherWork {
                    metric: definition.id.to_string(),
                    now: Number(value),
                    accepted: Number(accepted.middle),
                })
            }),
            MetricKind::Exact => subject.judge_exact(accepted, spread(found, value), policy.exact(&subject)),
            MetricKind::Size => subject.judge_size(accepted, spread(found, value), policy.size(&subject)),
            MetricKind::Time => {
                let mut runs = run_figures(figures);
                let mut now = RunFigure { time: value, anchor: 1.0 };
                let anchor = anchor(section, &benchmark.id).filter(|_| !figures.anchors.is_empty());
                match anchor.filter(|_| subject.follows_anchor()) {
                    Some(anchor) => now.anchor = anchor,
                    None => runs.iter_mut().for_each(|run| run.anchor = 1.0),
                }
                self.unpaired(&subject, (figures, &runs), now, found.launches.len())
            }
            // A figure that is computed from others is judged by those.
            MetricKind::Derived => None,
        }
    }

    fn unpaired(
        &self,
        subject: &Subject<'_>,
        (figures, runs): (&Figures, &[RunFigure]),
        now: RunFigure,
        launches: usize,
    ) -> Option<Judgement> {
        let stored = StoredBaseline {
            runs,
            pooled: self.pooled,
            same_class: self.terms.baseline.is_some_and(|b| b.class == self.record.machine.class),
            launches: figures.launches,
            is_one_run: self.terms.one_run,
        };
        subject.judge_unpaired(&stored, now, launches, &self.row_terms(subject))
    }

    fn speed_up(&self, entry: &Entry, benchmark: &BenchmarkRecord, figures: &Figures) -> Option<GateRow> {
        // The base says more than what was stored.
        if self.record.base.is_some() {
            return None;
        }
        let definition = speed_up();
        let judgement = match self.record.section().comparison(&benchmark.id, standard::WALL_TIME) {
            Some(comparison) => self.judge_speed_up(entry, figures, comparison)?,
            // Where only some variants are asked for, there may be nothing to compare with.
            None if !self.has_reference(&benchmark.id) => return None,
            None => {
                let subject = self.subject(&entry.id, entry.role, &definition);
                subject.advise_time(Judgement::skipped(Why::NotCompared))
            }
        };
        Some(self.row(&entry.id.to_string(), Some(&definition), Against::Baseline, judgement))
    }

    pub(super) fn judge_speed_up(
        &self,
        entry: &Entry,
        figures: &Figures,
        comparison: &ComparisonRecord,
    ) -> Option<Judgement> {
        let definition = speed_up();
        let subject = Subject {
            reference_uses_gpu: self.uses_gpu(&comparison.reference),
            ..self.subject(&entry.id, entry.role, &definition)
        };
        let now = RunFigure { time: comparison.speed_up().0, anchor: 1.0 };
        self.unpaired(&subject, (figures, &run_figures(figures)), now, comparison.launches.len())
    }
}
