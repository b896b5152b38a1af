//! Two builds that were measured in the same rounds.

use perfharness_contract::{BenchmarkId, Direction, MetricDef, MetricKind, OutcomeKind, standard};
use perfharness_verdict::judge::{
    Account, Ended, Expected, Judgement, PairedRun, Presence, account, judge_paired, judge_size,
};

use super::{Judging, Spread, how_it_ended, is_case_of, nearest, range_of};
use crate::compare::policy::direction;
use crate::compare::report::{Against, Row};
use crate::{
    BaseRecord, BenchmarkRecord, CaseEnd, CaseRecord, ComparisonRecord, MetricRecord, Redefinition,
    SelectedRecord,
};

impl Judging<'_> {
    pub(super) fn against_base(&self) -> Vec<Row> {
        let Some(base) = &self.record.base else { return Vec::new() };
        let against = Against::Base;
        let mut rows = Vec::new();
        // What they would have had to be compared with is not even known.
        for worker in base.workers.iter().filter(|worker| worker.outcome.kind != OutcomeKind::Ok) {
            let reason = worker.outcome.reason.as_deref().unwrap_or_default();
            let why = format!("it gave no workloads: {}: {reason}", worker.outcome.kind.as_str());
            let name = format!("worker {} of the base", worker.name);
            rows.push(self.row(&name, None, against, Judgement::skipped(why)));
        }
        for Redefinition { subject, changes } in &base.redefined {
            rows.push(self.row(subject, None, against, Judgement::changed(changes.clone())));
        }
        let is_itself = base.versions.as_ref().is_some_and(|v| v.base.commit == v.head.commit);
        if base.identical && is_itself {
            let why = "the code here is the base itself, so that there is no change to judge";
            rows.push(self.row("every benchmark", None, against, Judgement::no_baseline(why)));
            return rows;
        }
        if base.identical {
            let built = base.versions.iter().map(|versions| versions.head.digest.0.clone());
            let digests = base.workers.iter().filter_map(|worker| worker.digest.clone());
            let judgement = Judgement::identical(built.chain(digests).collect::<Vec<_>>().join(" "));
            rows.push(self.row("every benchmark", None, against, judgement));
            return rows;
        }
        let expected = base.selected.iter().map(|selected| Expected {
            id: selected.id.to_string(),
            identity: Some(selected.identity.0.clone()),
        });
        let accounts = match account(&expected.collect::<Vec<_>>(), &self.seen()) {
            Ok(accounts) => accounts,
            Err(error) => {
                rows.push(self.row("the record", None, against, Judgement::unusable(error.to_string())));
                return rows;
            }
        };
        for Account { id, presence } in accounts {
            if let Presence::Skipped { why } = &presence
                && self.is_left_out(base, &id)
            {
                let judgement = Judgement::failed(format!("this change leaves it out: {why}"));
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            if let Some(judgement) = presence.judgement() {
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            let Some(head) = self.benchmark(&id) else { continue };
            let selected: Option<&SelectedRecord> = base.selected.iter().find(|s| s.id == head.id);
            if let Some(selected) = selected.filter(|s| s.definition != head.definition) {
                let judgement = Judgement::redefined(selected.definition, head.definition);
                rows.push(self.row(&id, None, against, judgement));
                continue;
            }
            match base.benchmarks.iter().find(|b| b.id == head.id) {
                Some(before)
                    if before.outcome.kind == OutcomeKind::Ok && head.outcome.kind == OutcomeKind::Ok =>
                {
                    rows.extend(self.metrics_against_base(before, head));
                }
                // Both end as expected, and leave no figure.
                Some(before) if before.outcome.kind == head.outcome.kind => {}
                Some(before) => {
                    let why = format!("the base ended as {}", how_it_ended(before));
                    rows.push(self.row(&id, None, against, Judgement::skipped(why)));
                }
                None => {
                    let judgement = Judgement::skipped("the base was not measured");
                    rows.push(self.row(&id, None, against, judgement));
                }
            }
        }
        rows
    }

    /// Tells if the change itself skips what the base measures: neither was it cut off, nor does the base skip it, too.
    fn is_left_out(&self, base: &BaseRecord, id: &str) -> bool {
        let head = self.benchmark(id).is_some_and(|head| head.outcome.kind == OutcomeKind::Skipped);
        let before = base.benchmarks.iter().find(|before| before.id.to_string() == id);
        head && before.is_none_or(|before| before.outcome.kind != OutcomeKind::Skipped)
    }

    /// Tells if the base has a benchmark by the same definition.
    pub(super) fn is_as_in_base(&self, id: &BenchmarkId, definition: u32) -> bool {
        let selected = self.record.base.iter().flat_map(|base| &base.selected);
        selected.into_iter().any(|selected| selected.id == *id && selected.definition == definition)
    }

    fn metrics_against_base(&self, before: &BenchmarkRecord, head: &BenchmarkRecord) -> Vec<Row> {
        let id = head.id.to_string();
        let mut rows = Vec::new();
        let definitions = self.definitions(&head.id);
        let is_gone = |metric: &&String| {
            *metric != standard::RATE && definitions.iter().all(|d| d.id.as_str() != metric.as_str())
        };
        for metric in before.metrics.keys().filter(is_gone) {
            let judgement = Judgement::skipped(format!("the worker does not report `{metric}` any more"));
            rows.push(self.row(&id, None, Against::Base, judgement));
        }
        // Without one it may be given another input, which is then less work.
        let input = |side: &BenchmarkRecord| side.check.as_ref().is_some_and(|check| check.input.is_some());
        if input(before) && !input(head) {
            let judgement = Judgement::skipped("its worker gives no digest of its input any more");
            rows.push(self.row(&id, None, Against::Base, judgement));
        }
        for definition in definitions {
            let metric = definition.id.as_str();
            let Some(old) = before.metrics.get(metric) else { continue };
            let Some(new) = head.metrics.get(metric) else {
                let judgement = Judgement::skipped("it was not measured");
                rows.push(self.row(&id, Some(definition), Against::Base, judgement));
                continue;
            };
            let is_time = definition.kind == MetricKind::Time;
            if definition.work && old.value.value().is_some() && new.value.value().is_none() {
                let why = format!("it does not report its work counter `{metric}` any more");
                rows.push(self.row(&id, Some(definition), Against::Base, Judgement::failed(why)));
                continue;
            }
            let judgement = match (old.value.value(), new.value.value()) {
                // Of what took no time on either side there is no ratio.
                (Some(0.0), Some(0.0)) if is_time => None,
                (Some(_), Some(_)) if is_time => Some(self.paired(head, definition).unwrap_or_else(|| {
                    let judgement = Judgement::skipped("no round has it on both sides");
                    self.advise_time(head, definition, judgement)
                })),
                (Some(old_value), Some(value)) => {
                    self.figure_against_base(head, definition, (old, old_value), (new, value))
                }
                (Some(_), None) if definition.direction != Direction::Neutral => {
                    let judgement = Judgement::skipped(new.value.absence().unwrap_or("it was not measured"));
                    Some(if is_time { self.advise_time(head, definition, judgement) } else { judgement })
                }
                // What the base does not tell is new, or was absent on both sides.
                _ => None,
            };
            rows.extend(judgement.map(|j| self.row(&id, Some(definition), Against::Base, j)));
        }
        rows
    }

    fn figure_against_base(
        &self,
        head: &BenchmarkRecord,
        definition: &MetricDef,
        (old, old_value): (&MetricRecord, f64),
        (new, value): (&MetricRecord, f64),
    ) -> Option<Judgement> {
        let subject = self.subject(&head.id, definition);
        let direction = direction(definition.direction);
        let nearest = || nearest(range_of(old, old_value), range_of(new, value));
        match definition.kind {
            // The sides of a round must agree in their work, or the candidate is a wrong result.
            MetricKind::Exact if definition.work => None,
            MetricKind::Exact => {
                self.exact(&head.id, definition, Spread::of(old, old_value), Spread::of(new, value))
            }
            MetricKind::Size => {
                let (before, now) = nearest();
                judge_size(before, now, self.terms.policy.size(&subject), direction)
            }
            MetricKind::Time | MetricKind::Derived => None,
        }
    }

    fn paired(&self, head: &BenchmarkRecord, definition: &MetricDef) -> Option<Judgement> {
        let base = self.record.base.as_ref()?;
        let is_ours = |c: &&ComparisonRecord| c.candidate == head.id && c.metric == definition.id;
        let comparison = base.comparisons.iter().find(is_ours)?;
        let case = self.record.cases.iter().find(|case| is_case_of(case, &head.id))?;
        let judgement = self.judge_comparison(comparison, case, head, definition)?;
        Some(self.advise_time(head, definition, judgement))
    }

    pub(super) fn judge_comparison(
        &self,
        comparison: &ComparisonRecord,
        case: &CaseRecord,
        head: &BenchmarkRecord,
        definition: &MetricDef,
    ) -> Option<Judgement> {
        let policy = self.terms.policy.time(&self.subject(&head.id, definition));
        let is_wall = definition.id.as_str() == standard::WALL_TIME;
        let dropped: u64 = case.dropped_blocks.values().sum();
        let calibrated = self.terms.baseline.filter(|b| b.class == self.record.machine.class);
        let calibrated = calibrated.and_then(|b| b.entry(&head.id)?.calibrated);
        let run = PairedRun {
            estimate: &comparison.estimate,
            if_kept: comparison.if_kept.as_ref(),
            // Metered samples belong to no block, and CPU time, which is advisory, decides nothing that dropped ones could
            // change.
            dropped_blocks: if is_wall { dropped as usize } else { 0 },
            blocks: if is_wall { case.blocks as usize } else { 0 },
            ended: ended(case.end.as_ref()),
            calibrated: calibrated.filter(|_| is_wall),
        };
        judge_paired(&run, policy, direction(definition.direction))
    }
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
