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
    let measured = row.counted();
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
    let launches = launches.min(row.counted());
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

#[cfg(test)]
mod tests {
    use perfharness_contract::input_rng;
    use rand_pcg::rand_core::Rng as _;

    use super::*;
    use crate::suite::line::{BlockLine, Conditions, LaunchLine, Pair};
    use crate::suite::programs::Build;

    /// A row with this effect and a noise of about 1 % from launch to launch.
    fn row(case: &str, stage: Stage, effect: f64, launches: u32) -> Row {
        let mut rng = input_rng(1, case, u64::from(launches));
        let mut noise = || (0..12).map(|_| rng.next_u64() as f64 / u64::MAX as f64 - 0.5).sum::<f64>() * 0.01;
        let launch = |number| {
            let value = effect + noise();
            let blocks = vec![vec![BlockLine::of([value - 0.001, value + 0.001])]];
            LaunchLine {
                number,
                head_leads: Some((number % 2) as u8),
                placements: blocks,
                ..LaunchLine::default()
            }
        };
        let launches = (0..launches).map(launch).collect();
        Row { case: case.into(), stage, end: None, verdict: None, reason: None, layout_spread: 0.0, launches }
    }

    fn gate(rows: Vec<Row>) -> Gate {
        let [base, head] = Build::pair(1, 1);
        Gate {
            number: 1,
            conditions: Conditions {
                pair: Pair::Relinked,
                layouts: 1,
                planted: 1.0,
                threshold: 0.03,
                budget_s: 1.0,
                sample_ms: None,
                neighbours: 0,
                instructions: false,
                kernels: Vec::new(),
                benchmarks: Vec::new(),
            },
            planted_in: None,
            base,
            head,
            harness: None,
            unix_ms: 0,
            load: [None, None],
            launches_s: 1.0,
            whole_s: 1.0,
            outcome: GateOutcome::Ok,
            others: Vec::new(),
            rows,
            counted: Vec::new(),
            counting_s: 0.0,
            rival: None,
        }
    }

    #[test]
    fn equal_sides_pass_and_a_slowdown_fails_once_fresh_launches_confirm_it() {
        let (first, fresh) = (Stage::First, Stage::Confirmation);
        let calm = || row("spin-1", first, 0.0, 64);
        let slow = || row("copy-1", first, 0.08, 32);
        let judged = |rows| judge(&gate(rows)).unwrap();
        let equal = judged(vec![calm()]);
        assert_eq!((equal.outcome, equal.verdict("spin-1")), (GateOutcome::Ok, Some(Verdict::Unchanged)));
        let confirmed = judged(vec![calm(), slow(), row("copy-1", fresh, 0.08, 16)]);
        assert_eq!(confirmed.outcome, GateOutcome::Regressed);
        assert_eq!((confirmed.verdict("copy-1"), confirmed.unconfirmed), (Some(Verdict::Regressed), 0));
        // A flag that only the rule of today raises has no fresh launches.
        let unconfirmed = judged(vec![calm(), slow()]);
        assert_eq!((unconfirmed.outcome, unconfirmed.unconfirmed), (GateOutcome::Regressed, 1));
        let refuted = judged(vec![calm(), slow(), row("copy-1", fresh, 0.0, 16)]);
        assert_eq!(refuted.verdict("copy-1"), Some(Verdict::Unchanged));
        assert_eq!(judged(vec![row("spin-1", first, 0.0, 5)]).outcome, GateOutcome::Undecided);
        // A launch whose blocks were all dropped was made again, and does not stand in the way of a look.
        let disturbed = |row: Row| {
            let lost = LaunchLine {
                placements: vec![vec![BlockLine::dropped_of([0.5, 0.5])]],
                ..LaunchLine::default()
            };
            let launches =
                row.launches.into_iter().map(|launch| LaunchLine { number: launch.number + 1, ..launch });
            Row { launches: [lost].into_iter().chain(launches).collect(), ..row }
        };
        let replaced = judged(vec![disturbed(row("spin-1", first, 0.0, 16))]);
        assert_eq!(replaced.outcome, GateOutcome::Ok);
        // The spread of layouts explains the same effect.
        let explained = Row { layout_spread: 0.1, ..slow() };
        assert_eq!(judged(vec![calm(), explained]).verdict("copy-1"), Some(Verdict::Placement));
    }
}
