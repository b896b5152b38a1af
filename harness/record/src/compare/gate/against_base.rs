//! Two builds that were measured in the same rounds.

use perfharness_contract::gpu_metric::code_statistic;
use perfharness_contract::{BenchmarkId, Direction, MetricKind, OutcomeKind, standard};
use perfharness_verdict::judge::{Ended, Expected, Judgement, PairedRun, Subject, Why};

use super::{Judging, absence, end, spread};
use crate::compare::report::{Against, GateRow};
use crate::{BaseRecord, BenchmarkRecord, CaseEnd, CaseRecord, ComparisonRecord, Redefinition};

impl Judging<'_> {
    pub(super) fn against_base(&self) -> Vec<GateRow> {
        let Some(base) = &self.record.base else { return Vec::new() };
        let against = Against::Base;
        let mut rows = Vec::new();
        // Nobody knows which benchmarks these would have been compared with.
        for worker in base.workers.iter().filter(|worker| worker.outcome.kind != OutcomeKind::Ok) {
            let name = format!("worker {} of the base", worker.name);
            let judgement = Judgement::skipped(Why::NoWorkloads(end(&worker.outcome)));
            rows.push(self.row(&name, None, against, judgement));
        }
        for Redefinition { subject, changes } in &base.redefined {
            rows.push(self.row(subject, None, against, Judgement::changed(changes.clone())));
        }
        if base.identical {
            let is_itself = base.versions.as_ref().is_some_and(|v| v.base.commit == v.head.commit);
            let built = base.versions.iter().map(|versions| versions.head.digest.0.clone());
            let digests = base.workers.iter().filter_map(|worker| worker.digest.clone());
            let judgement = if is_itself {
                Judgement::no_baseline(Why::NoChange)
            } else {
                Judgement::identical(built.chain(digests).collect::<Vec<_>>().join(" "))
            };
            rows.push(self.row("every benchmark", None, against, judgement));
            return rows;
        }
        let expected = base.selected.iter().map(|selected| Expected {
            id: selected.id.to_string(),
            identity: Some(selected.identity.0.clone()),
        });
        for head in self.measured(expected, against, |head| is_left_out(base, head), &mut rows) {
            let id = head.id.to_string();
            let redefined = base.selected(&head.id).filter(|s| s.definition != head.definition);
            let judgement = match (redefined, base.benchmark(&head.id)) {
                (Some(selected), _) => Judgement::redefined(selected.definition, head.definition),
                (None, None) => Judgement::skipped(Why::BaseNotMeasured),
                (None, Some(before)) if before.outcome.kind != head.outcome.kind => {
                    Judgement::skipped(Why::BaseEnded(end(&before.outcome)))
                }
                (None, Some(before)) => {
                    // Where both end otherwise, as expected, they leave no figure.
                    if head.outcome.kind == OutcomeKind::Ok {
                        rows.extend(self.metrics_against_base(before, head));
                    }
                    continue;
                }
            };
            rows.push(self.row(&id, None, against, judgement));
        }
        rows
    }

    /// Whether the base has a benchmark by the same definition.
    pub(super) fn is_as_in_base(&self, id: &BenchmarkId, definition: u32) -> bool {
        let selected = self.record.base.iter().flat_map(|base| &base.selected);
        selected.into_iter().any(|selected| selected.id == *id && selected.definition == definition)
    }

    fn metrics_against_base(&self, before: &BenchmarkRecord, head: &BenchmarkRecord) -> Vec<GateRow> {
        let id = head.id.to_string();
        let mut rows = Vec::new();
        let definitions = self.definitions(&head.id);
        let is_gone = |metric: &&String| {
            *metric != standard::RATE && definitions.iter().all(|d| d.id.as_str() != metric.as_str())
        };
        let row = |definition, judgement| self.row(&id, definition, Against::Base, judgement);
        for metric in before.metrics.keys().filter(is_gone) {
            rows.push(row(None, Judgement::skipped(Why::NoMetric { metric: metric.clone() })));
        }
        // Without one it may be given another input, which is then less work.
        let input = |side: &BenchmarkRecord| side.check.as_ref().is_some_and(|check| check.input.is_some());
        if input(before) && !input(head) {
            rows.push(row(None, Judgement::skipped(Why::NoInputDigest)));
        }
        for definition in definitions {
            let metric = definition.id.as_str();
            let Some(old) = before.metrics.get(metric) else { continue };
            let Some(new) = head.metrics.get(metric) else {
                rows.push(row(Some(definition), Judgement::skipped(Why::NotMeasured)));
                continue;
            };
            let is_time = definition.kind == MetricKind::Time;
            let subject = self.subject(&head.id, head.role, definition);
            if definition.work && old.value.value().is_some() && new.value.value().is_none() {
                let why = Why::NoWork { metric: metric.to_owned() };
                rows.push(row(Some(definition), Judgement::failed(why)));
                continue;
            }
            let judgement = match (old.value.value(), new.value.value()) {
                // Two times of zero have no ratio.
                (Some(0.0), Some(0.0)) if is_time => None,
                (Some(_), Some(_)) if is_time => Some(
                    self.paired(&subject)
                        .unwrap_or_else(|| subject.advise_time(Judgement::skipped(Why::NoSharedRound))),
                ),
                (Some(old_value), Some(value)) => {
                    let (before, now) = (spread(old, old_value), spread(new, value));
                    match definition.kind {
                        // The sides of a round must agree in their work, or the candidate is a wrong result.
                        MetricKind::Exact if definition.work => None,
                        MetricKind::Exact => {
                            subject.judge_exact(before, now, self.terms.policy.exact(&subject))
                        }
                        MetricKind::Size => subject.judge_size(before, now, self.terms.policy.size(&subject)),
                        MetricKind::Time | MetricKind::Derived => None,
                    }
                }
                (Some(_), None) if definition.direction != Direction::Neutral => {
                    let judgement = Judgement::skipped(absence(new));
                    // The same compilers had the kernels of both sides.
                    let is_code = code_statistic(metric).is_some();
                    Some(if is_code { judgement } else { subject.advise_absence(judgement) })
                }
                // A figure that the base lacks is new, or was absent on both sides.
                _ => None,
            };
            rows.extend(judgement.map(|judgement| row(Some(definition), judgement)));
        }
        rows
    }

    fn paired(&self, subject: &Subject<'_>) -> Option<Judgement> {
        let (base, id) = (self.record.base_section()?, subject.benchmark);
        let comparison = base.comparison(id, subject.metric.id.as_str())?;
        self.judge_comparison(comparison, base.case_of(id)?, subject)
    }

    pub(super) fn judge_comparison(
        &self,
        comparison: &ComparisonRecord,
        case: &CaseRecord,
        subject: &Subject<'_>,
    ) -> Option<Judgement> {
        let dropped: u64 = case.dropped_blocks.values().sum();
        let run = PairedRun {
            estimate: &comparison.estimate,
            if_kept: comparison.if_kept.as_ref(),
            dropped_blocks: dropped as usize,
            blocks: case.blocks as usize,
            ended: ended(case.end.as_ref()),
            terms: self.row_terms(subject),
        };
        subject.judge_paired(&run)
    }
}

/// Whether the base does not skip what is skipped here.
fn is_left_out(base: &BaseRecord, head: &BenchmarkRecord) -> bool {
    let before = base.benchmark(&head.id);
    before.is_none_or(|before| before.outcome.kind != OutcomeKind::Skipped)
}

fn ended(end: Option<&CaseEnd>) -> Ended {
    match end {
        Some(CaseEnd::Precise { launches } | CaseEnd::LastLook { launches }) => {
            Ended::Look { launches: *launches }
        }
        Some(CaseEnd::Budget { launches }) => Ended::Budget { launches: *launches },
        Some(CaseEnd::NothingLeft) | None => Ended::Budget { launches: 0 },
    }
}
