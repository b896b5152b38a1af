//! Times that are not believed decide nothing.

use perfharness_contract::standard;
use perfharness_verdict::judge::{SPEED_UP, Suspicion, Verdict, Why};

use super::Judging;
use crate::compare::{Against, GateRow};

/// Leaves the rows open whose times are those of a suspect worker, or of a suspect base.
pub(super) fn doubt_suspects(rows: &mut [GateRow], judging: &Judging<'_>) {
    let clocked = [standard::WALL_TIME, standard::CPU_TIME, SPEED_UP];
    for row in rows.iter_mut() {
        let is_clocked = row.metric.as_deref().is_some_and(|metric| clocked.contains(&metric));
        let is_judged = matches!(
            row.judgement.verdict,
            Verdict::Regressed | Verdict::Improved | Verdict::Unchanged | Verdict::Inconclusive
        );
        if !(is_clocked && is_judged) {
            continue;
        }
        let Ok(id) = row.benchmark.parse() else { continue };
        let of_base = judging.record.base_section().filter(|_| row.against == Against::Base);
        let head = judging.record.section().benchmark(&id).and_then(|head| head.suspect.first());
        let base = of_base.and_then(|base| base.benchmark(&id)?.suspect.first());
        let why = match (head, base) {
            (Some(sign), _) => Why::Suspect(Suspicion::clone(sign)),
            (None, Some(sign)) => Why::BaseSuspect(sign.clone()),
            (None, None) => continue,
        };
        row.judgement = row.judgement.clone().doubt(why);
    }
}
