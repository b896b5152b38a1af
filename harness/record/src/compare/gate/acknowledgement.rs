//! Regressions and redefinitions that somebody accepted.

use perfharness_contract::BenchmarkId;
use perfharness_verdict::judge::Verdict;

use super::Terms;
use crate::compare::report::{GateRow, Remark};

/// Takes out of the decision the changes that somebody accepted.
pub(super) fn acknowledge(rows: &mut [GateRow], terms: &Terms<'_>, remarks: &mut Vec<Remark>) {
    for acknowledged in &terms.policy.acknowledged {
        let mut is_used = false;
        let mut expired = None;
        for row in rows.iter_mut() {
            match row.judgement.verdict {
                Verdict::Redefined if acknowledged.is_of(&row.benchmark) => {}
                Verdict::Regressed => {
                    let Ok(id) = row.benchmark.parse::<BenchmarkId>() else { continue };
                    if !row.metric.as_ref().is_some_and(|metric| acknowledged.is_about(&id, metric)) {
                        continue;
                    }
                    let entry = terms.baseline.and_then(|baseline| Some((baseline, baseline.entry(&id)?)));
                    let accepted = entry.and_then(|(baseline, entry)| baseline.acceptance(entry));
                    if let Some(accepted) = accepted.filter(|a| acknowledged.is_expired(&a.when)) {
                        expired = Some(accepted.when.clone());
                        continue;
                    }
                }
                _ => continue,
            }
            is_used = true;
            let direction = row.direction.unwrap_or_default();
            let bounds = acknowledged.bounds();
            row.judgement = row.judgement.clone().acknowledge(&bounds, &acknowledged.reason, direction);
        }
        let (metric, reason) = (acknowledged.metric.clone(), acknowledged.reason.clone());
        match expired {
            Some(accepted) => remarks.push(Remark::Expired { metric, reason, accepted }),
            None if !is_used => remarks.push(Remark::Unneeded { metric, reason }),
            None => {}
        }
    }
}
