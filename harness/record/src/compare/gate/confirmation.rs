//! Flags that are measured anew before they count, and the conclusions from that.

use std::collections::BTreeMap;

use perfharness_contract::{BenchmarkId, standard};
use perfharness_verdict::judge::{FALSE_DISCOVERY_RATE, Judgement, Recheck, SPEED_UP, Why, confirm};

use super::{Judging, end};
use crate::compare::report::{Against, GateReport, GateRow};

/// The benchmarks to measure again before they count, with the fresh launches that each takes.
pub fn flagged(report: &GateReport) -> BTreeMap<BenchmarkId, u32> {
    let mut flagged = BTreeMap::new();
    for row in &report.rows {
        let launches = row.judgement.launches_to_confirm(row.direction.unwrap_or_default());
        let Some((launches, id)) = launches.zip(row.benchmark.parse::<BenchmarkId>().ok()) else { continue };
        let most: &mut u32 = flagged.entry(id).or_insert(0);
        *most = (*most).max(launches as u32);
    }
    flagged
}

/// Replaces the judgements of flagged rows that were measured anew. All of them are judged together.
pub(super) fn confirm_flags(rows: &mut [GateRow], judging: &Judging<'_>) {
    let flagged = rows.iter().enumerate().filter(|(_, row)| row.judgement.needs_confirmation());
    let recheck = |(at, row): (usize, &GateRow)| {
        Some((at, Recheck { first: row.judgement.clone(), fresh: judging.fresh(row)? }))
    };
    let (places, rechecks): (Vec<usize>, Vec<Recheck>) = flagged.filter_map(recheck).unzip();
    for (at, judgement) in places.into_iter().zip(confirm(rechecks, FALSE_DISCOVERY_RATE)) {
        rows[at].judgement = judgement;
    }
}

impl Judging<'_> {
    /// The judgement of what was measured anew for a row; `None` where nothing was.
    fn fresh(&self, row: &GateRow) -> Option<Judgement> {
        let confirmation = self.record.confirmation.as_ref()?.section();
        let id: BenchmarkId = row.benchmark.parse().ok()?;
        let metric = row.metric.as_deref()?;
        let head = confirmation.benchmark(&id)?;
        if metric == SPEED_UP {
            let comparison = confirmation.comparison_of_variants(&id, standard::WALL_TIME)?;
            let entry = self.terms.baseline?.entry(&id)?;
            return self.judge_speed_up(entry, entry.metrics.get(metric)?, comparison);
        }
        let definition = self.record.metric(&id.workload, metric)?;
        match row.against {
            Against::Base => {
                let Some(comparison) = confirmation.pair(&id, &id, metric) else {
                    return Some(Judgement::unusable(Why::FreshEnded(end(&head.outcome))));
                };
                let case = confirmation.case_of(&id)?;
                self.judge_comparison(comparison, case, &self.subject(&id, head.role, definition))
            }
            Against::Baseline => {
                let entry = self.terms.baseline?.entry(&id)?;
                let figures = entry.metrics.get(metric)?;
                self.metric_against(confirmation, entry, head, figures, definition)
            }
            Against::Expectation | Against::Planted => None,
        }
    }
}
