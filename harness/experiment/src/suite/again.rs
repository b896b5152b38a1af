//! Judging a gate again by the rule of today, from its data alone.

use perfharness_record::Stage;
use perfharness_verdict::judge::{
    CONFIDENCE, Direction, Ended, FALSE_DISCOVERY_RATE, GateOutcome, Judgement, Limit, PairedRun, Recheck,
    RowTerms, TimePolicy, Verdict, confirm, judge_paired,
};
use perfharness_verdict::{Estimate, Looks, estimate};

use super::line::{Gate, Row};

/// A gate that was judged again.
pub(super) struct Again {
    pub(super) outcome: GateOutcome,
    /// The rows of the gate with a verdict, in order.
    pub(super) rows: Vec<(String, Judgement)>,
    /// Flags without a fresh launch: the rule by which the gate was measured did not raise them.
    pub(super) unconfirmed: usize,
}

impl Again {
    pub(super) fn verdict(&self, case: &str) -> Option<Verdict> {
        self.rows.iter().find(|(name, _)| name == case).map(|(_, judgement)| judgement.verdict)
    }
}

/// Judges a gate again.
pub(super) fn judge(gate: &Gate) -> anyhow::Result<Again> {
    let policy = TimePolicy { threshold: Limit::new(gate.conditions.threshold)?, ..TimePolicy::HARDWARE };
    let mut rows = Vec::new();
    let (mut places, mut rechecks, mut unconfirmed) = (Vec::new(), Vec::new(), 0);
    for row in gate.rows.iter().filter(|row| row.stage == Stage::First) {
        let terms = RowTerms { layout_spread: row.layout_spread, ..policy.terms() };
        let Some(judgement) = first(row, terms)? else { continue };
        if let Some(launches) = judgement.launches_to_confirm(Direction::Lower) {
            let fresh = gate.rows.iter().find(|r| r.stage == Stage::Confirmation && r.case == row.case);
            match fresh.map(|fresh| fixed(fresh, launches, terms)).transpose()?.flatten() {
                Some(fresh) => {
                    places.push(rows.len());
                    rechecks.push(Recheck { first: judgement.clone(), fresh });
                }
                None => unconfirmed += 1,
            }
        }
        rows.push((row.case.clone(), judgement));
    }
    for (place, judgement) in places.into_iter().zip(confirm(rechecks, FALSE_DISCOVERY_RATE)) {
        rows[place].1 = judgement;
    }
    let outcome = GateOutcome::of(rows.iter().map(|(_, judgement)| judgement));
    Ok(Again { outcome, rows, unconfirmed })
}

/// Judges the looks at a row in order, up to the first that settles it.
fn first(row: &Row, terms: RowTerms) -> anyhow::Result<Option<Judgement>> {
    let looks = Looks::default();
    let alpha = 1.0 - CONFIDENCE;
    let measured = row.launches.len();
    for look in looks.as_slice().iter().filter(|look| look.launches <= measured) {
        let found = estimate(&row.paired(look.launches), 1.0 - look.share * alpha)?;
        if terms.is_settled(&found) || look.launches == looks.max_launches() {
            return Ok(judged(row, &found, look.launches, terms, Ended::Look { launches: look.launches }));
        }
    }
    if measured == 0 {
        return Ok(None);
    }
    let share =
        looks.alpha_at(measured, alpha).or_else(|| looks.alpha_left(measured, alpha)).unwrap_or(alpha);
    let found = estimate(&row.paired(measured), 1.0 - share)?;
    Ok(judged(row, &found, measured, terms, Ended::Budget { launches: measured }))
}

/// Judges a fixed number of launches.
fn fixed(row: &Row, launches: usize, terms: RowTerms) -> anyhow::Result<Option<Judgement>> {
    let launches = launches.min(row.launches.len());
    if launches == 0 {
        return Ok(None);
    }
    let found = estimate(&row.paired(launches), CONFIDENCE)?;
    Ok(judged(row, &found, launches, terms, Ended::Look { launches }))
}

fn judged(
    row: &Row,
    estimate: &Estimate,
    launches: usize,
    terms: RowTerms,
    ended: Ended,
) -> Option<Judgement> {
    let (dropped_blocks, blocks) = row.blocks(launches);
    let run = PairedRun { estimate, if_kept: None, dropped_blocks, blocks, ended, terms };
    judge_paired(&run, Direction::Lower)
}
