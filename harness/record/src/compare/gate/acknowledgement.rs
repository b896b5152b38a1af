//! What somebody accepted.

use perfharness_contract::BenchmarkId;
use perfharness_verdict::judge::{Advisory, Evidence, Reason, Verdict};

use super::Terms;
use crate::compare::policy::{Acknowledgement, direction};
use crate::compare::report::Row;

/// Takes out of the decision what somebody accepted.
pub(super) fn acknowledge(rows: &mut [Row], terms: &Terms<'_>, remarks: &mut Vec<String>) {
    for acknowledged in &terms.policy.acknowledged {
        let mut is_used = false;
        let mut expired = None;
        let is_redefined = |row: &&mut Row| row.judgement.verdict == Verdict::Redefined;
        for row in rows.iter_mut().filter(is_redefined).filter(|row| acknowledged.is_of(&row.benchmark)) {
            is_used = true;
            let covers = match row.judgement.reason {
                // Or it would excuse each later version, too.
                Reason::Redefined { to, .. } => {
                    acknowledged.bound.is_some_and(|version| f64::from(to) <= version)
                }
                _ => true,
            };
            if covers {
                note(row, acknowledged);
            } else {
                row.sentence.push_str("; beyond what was acknowledged: `bound` names the version");
            }
        }
        for row in rows.iter_mut().filter(|row| row.judgement.verdict == Verdict::Regressed) {
            let Ok(id) = row.benchmark.parse::<BenchmarkId>() else { continue };
            if !row.metric.as_ref().is_some_and(|metric| acknowledged.is_about(&id, metric)) {
                continue;
            }
            let entry = terms.baseline.and_then(|baseline| Some((baseline, baseline.entry(&id)?)));
            let accepted = entry.and_then(|(baseline, entry)| baseline.acceptance(entry));
            if let Some(accepted) = accepted.filter(|accepted| acknowledged.is_expired(&accepted.when)) {
                expired = Some(accepted.when.clone());
                continue;
            }
            let direction = direction(row.direction.unwrap_or_default());
            let (figure, ratio) = match &row.judgement.evidence {
                Evidence::Exact { candidate, baseline, .. } | Evidence::Size { candidate, baseline, .. } => {
                    (Some(*candidate), Some(candidate / baseline))
                }
                evidence => (None, evidence.effect().map(f64::exp)),
            };
            is_used = true;
            if acknowledged.covers(figure, ratio, direction) {
                note(row, acknowledged);
            } else {
                row.sentence.push_str("; beyond what was acknowledged");
            }
        }
        let name = format!("the acknowledgement of `{}` ({})", acknowledged.metric, acknowledged.reason);
        match expired {
            Some(when) => remarks.push(format!("{name} has expired: figures were accepted {when}")),
            None if !is_used => remarks.push(format!("{name} is not needed any more")),
            None => {}
        }
    }
}

fn note(row: &mut Row, acknowledged: &Acknowledgement) {
    let reason = acknowledged.reason.clone();
    row.sentence.push_str("; acknowledged: ");
    row.sentence.push_str(&reason);
    row.judgement = row.judgement.clone().advise(Advisory::Acknowledged { reason });
}
