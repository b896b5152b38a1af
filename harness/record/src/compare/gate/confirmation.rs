//! What is measured anew before it counts, and what follows from that.

use std::collections::BTreeMap;

use perfharness_contract::{BenchmarkId, standard};
use perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;
use perfharness_verdict::judge::{
    Evidence, FALSE_DISCOVERY_RATE, Judgement, Limit, MAX_CONFIRMATION_LAUNCHES, Recheck, TimePolicy,
    confirm, confirmation_launches,
};

use super::{Judging, how_it_ended, is_case_of};
use crate::baseline::SPEED_UP;
use crate::compare::policy::direction;
use crate::compare::report::{Against, GateReport, Row};
use crate::compare::wording;
use crate::{ComparisonRecord, RunRecord};

/// What is to be measured again before it counts, with the fresh launches that it takes.
pub fn flagged(report: &GateReport) -> BTreeMap<BenchmarkId, u32> {
    let mut flagged = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.judgement.needs_confirmation()) {
        let Ok(id) = row.benchmark.parse::<BenchmarkId>() else { continue };
        let launches = match &row.judgement.evidence {
            Evidence::TimePaired(evidence) => {
                let policy = Limit::new(evidence.threshold).ok().map(|threshold| TimePolicy { threshold });
                let direction = direction(row.direction.unwrap_or_default());
                let needed = policy.and_then(|p| confirmation_launches(&evidence.estimate, p, direction));
                needed.unwrap_or(MAX_CONFIRMATION_LAUNCHES)
            }
            // A run again, of as many launches as decide within a run.
            _ => MIN_LAUNCHES_TO_DECIDE,
        };
        let most: &mut u32 = flagged.entry(id).or_insert(0);
        *most = (*most).max(launches as u32);
    }
    flagged
}

/// Replaces flagged rows that were measured anew by what follows from that. All of them are judged together.
pub(super) fn confirm_flags(rows: &mut [Row], judging: &Judging<'_>) {
    let flagged: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].judgement.needs_confirmation()).collect();
    let rechecks: Vec<(usize, Recheck)> = flagged
        .into_iter()
        .filter_map(|at| {
            let fresh = judging.fresh(&rows[at])?;
            Some((at, Recheck { first: rows[at].judgement.clone(), fresh }))
        })
        .collect();
    let (places, rechecks): (Vec<usize>, Vec<Recheck>) = rechecks.into_iter().unzip();
    for (at, judgement) in places.into_iter().zip(confirm(rechecks, FALSE_DISCOVERY_RATE)) {
        let metric = rows[at].metric.clone();
        let id: Option<BenchmarkId> = rows[at].benchmark.parse().ok();
        let speed_up = wording::speed_up();
        let definition = id.and_then(|id| {
            let mut known = judging.definitions(&id);
            known.push(&speed_up);
            known.into_iter().find(|d| Some(d.id.as_str()) == metric.as_deref()).cloned()
        });
        rows[at].sentence = wording::sentence_of(&judgement, definition.as_ref());
        rows[at].judgement = judgement;
    }
}

impl Judging<'_> {
    /// The judgement of what was measured anew for a row; `None` where nothing was.
    fn fresh(&self, row: &Row) -> Option<Judgement> {
        let confirmation = self.record.confirmation.as_ref()?;
        let id: BenchmarkId = row.benchmark.parse().ok()?;
        let metric = row.metric.as_deref()?;
        let head = confirmation.benchmarks.iter().find(|b| b.id == id)?;
        if metric == SPEED_UP {
            let comparison = confirmation.comparisons.iter().find(|c| {
                c.candidate == id && c.reference != id && c.metric.as_str() == standard::WALL_TIME
            })?;
            let entry = self.terms.baseline?.entry(&id)?;
            return self.judge_speed_up(entry, head, entry.metrics.get(metric)?, comparison);
        }
        let definition = self.definitions(&id).into_iter().find(|d| d.id.as_str() == metric)?;
        match row.against {
            Against::Base => {
                let is_ours = |c: &&ComparisonRecord| {
                    c.candidate == id && c.reference == id && c.metric == definition.id
                };
                let Some(comparison) = confirmation.comparisons.iter().find(is_ours) else {
                    return Some(Judgement::unusable(format!("the fresh launches {}", how_it_ended(head))));
                };
                let case = confirmation.cases.iter().find(|case| is_case_of(case, &id))?;
                self.judge_comparison(comparison, case, head, definition)
            }
            Against::Baseline => {
                let entry = self.terms.baseline?.entry(&id)?;
                let figures = entry.metrics.get(metric)?;
                let record = RunRecord {
                    cases: confirmation.cases.clone(),
                    confirmation: None,
                    ..self.record.clone()
                };
                let judging = Judging { record: &record, by_id: BTreeMap::new(), ..*self };
                judging.metric_against(head, figures, definition)
            }
            Against::Expectation => None,
        }
    }
}
