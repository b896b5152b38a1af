//! Summary of gates, from their data alone.

use perfharness_record::Stage;
use perfharness_verdict::judge::{Evidence, GateOutcome, Reason, Verdict};
use perfharness_verdict::launch_values;

use super::again::{self, Again};
use super::line::{Conditions, Counted, Gate, Row};
use super::rivals::{Rival, Said};
use super::statistics::{
    Location, error, lower_bound, mean, middle, rank_correlation, upper_bound, variance,
};
use super::{KERNELS, kernel_of};
use crate::say;

/// Confidence of the bounds on a rate.
const BOUND: f64 = 0.95;
/// Confidence of intervals, and of Welch's test.
const CONFIDENCE: f64 = 0.99;
/// Launches at which estimates are compared.
const LAUNCHES: [usize; 2] = [16, 32];

/// Prints the gates of each kind.
pub(super) fn print(gates: &[Gate]) -> anyhow::Result<()> {
    // Instructions are counted before anything is timed, and the times are judged without them.
    let timed = |gate: &Gate| Conditions { instructions: false, ..gate.conditions.clone() };
    let mut kinds: Vec<Conditions> = Vec::new();
    for gate in gates {
        let conditions = timed(gate);
        if !kinds.contains(&conditions) {
            kinds.push(conditions);
        }
    }
    for conditions in &kinds {
        let of: Vec<&Gate> = gates.iter().filter(|gate| timed(gate) == *conditions).collect();
        kind(conditions, &of)?;
    }
    Ok(())
}

fn kind(conditions: &Conditions, gates: &[&Gate]) -> anyhow::Result<()> {
    say(&format!(
        "\n== {:?} pairs in {} layouts, {:+.0} % planted{}, threshold {:.0} %, budget {} s, samples of {}, {} neighbours",
        conditions.pair,
        conditions.layouts,
        (conditions.planted - 1.0) * 100.0,
        if conditions.kernels.is_empty() {
            String::new()
        } else {
            format!(" in {}", conditions.kernels.join(", "))
        },
        conditions.threshold * 100.0,
        conditions.budget_s,
        conditions.sample_ms.map_or("effort quick".into(), |ms| format!("{ms} ms")),
        conditions.neighbours,
    ));
    let loads: Vec<f64> = gates.iter().filter_map(|gate| gate.load[1]).collect();
    say(&format!(
        "{} gates, median {:.1} s of launches, {:.1} s in all; load average {:.1} ({:.1} to {:.1})",
        gates.len(),
        middle(gates.iter().map(|gate| gate.launches_s)),
        middle(gates.iter().map(|gate| gate.whole_s)),
        middle(loads.iter().copied()),
        loads.iter().copied().fold(f64::INFINITY, f64::min),
        loads.iter().copied().fold(0.0, f64::max),
    ));
    let judged = gates.iter().map(|gate| again::judge(gate)).collect::<anyhow::Result<Vec<Again>>>()?;
    for (how, counted) in
        [("by times and instructions, as the gates ended", true), ("by times, as the gates ended", false)]
    {
        outcomes(
            how,
            gates.iter().filter(|gate| gate.conditions.instructions == counted).map(|gate| gate.outcome),
        );
    }
    outcomes("by times, judged again by the rule of today", judged.iter().map(|again| again.outcome));
    let unconfirmed: usize = judged.iter().map(|again| again.unconfirmed).sum();
    if unconfirmed > 0 {
        say(&format!("  of these, {unconfirmed} flags have no fresh launches and count as regressed"));
    }
    let differ = gates.iter().zip(&judged).map(|(gate, again)| {
        let given = gate.rows.iter().filter(|row| row.stage == Stage::First);
        let decided = |row: &&Row| row.reason != Some(Reason::SameInstructions);
        let given = given.filter(|row| row.verdict.is_some()).filter(decided);
        given.filter(|row| row.verdict != again.verdict(&row.case)).count()
    });
    let differ: usize = differ.sum();
    if differ > 0 {
        // A GPU's own time may have seen what the wall time could not, and the data have the wall time alone.
        say(&format!("  {differ} rows are judged otherwise than they were"));
    }
    let others = gates.iter().filter(|gate| gate.planted_in.is_none() && !gate.others.is_empty()).count();
    if others > 0 {
        say(&format!(
            "  {others} gates without planted work have rows other than times that are not unchanged"
        ));
    }
    wrong(gates, &judged);
    found(gates, &judged);
    instructions(gates);
    for (kernel, _) in KERNELS {
        calm(kernel, gates, &judged);
    }
    estimates(gates);
    rivals(gates);
    Ok(())
}

/// Prints how many gates ended with each exit code.
fn outcomes(how: &str, outcomes: impl Iterator<Item = GateOutcome>) {
    let all: Vec<GateOutcome> = outcomes.collect();
    if all.is_empty() {
        return;
    }
    let share = |code: u8| {
        let count = all.iter().filter(|outcome| outcome.exit_code() == code).count();
        let bounds = [lower_bound, upper_bound].map(|bound| bound(count, all.len(), BOUND) * 100.0);
        format!(
            "exit {code}: {count} ({:.1} %, {:.1} to {:.1})",
            count as f64 / all.len() as f64 * 100.0,
            bounds[0],
            bounds[1]
        )
    };
    say(&format!("  {how}: {}; bounds of 95 % each", [0, 3, 4, 5].map(share).join("; ")));
}

/// Names the rows that regressed without planted work, and those that stayed open.
fn wrong(gates: &[&Gate], judged: &[Again]) {
    for (verdict, word) in [
        (Verdict::Regressed, "regressed without planted work"),
        (Verdict::Improved, "improved"),
        (Verdict::Inconclusive, "inconclusive"),
        (Verdict::Placement, "placement"),
    ] {
        let mut rows = Vec::new();
        for (gate, again) in gates.iter().zip(judged) {
            let of = again.rows.iter().filter(|(case, judgement)| {
                judgement.verdict == verdict && gate.planted_in.as_ref() != Some(case)
            });
            rows.extend(of.map(|(case, judgement)| {
                let effect = judgement.evidence.effect().unwrap_or(f64::NAN).exp_m1() * 100.0;
                let could_see = judgement.evidence.could_see().unwrap_or(f64::NAN).exp_m1() * 100.0;
                let interval = match &judgement.evidence {
                    Evidence::TimePaired(evidence) => evidence.ratio_interval,
                    _ => None,
                };
                let interval = interval.map_or_else(String::new, |interval| {
                    let [lower, upper] = [interval.lower, interval.upper].map(|ratio| (ratio - 1.0) * 100.0);
                    format!(" [{lower:+.1}, {upper:+.1}]")
                });
                format!("{case} ({effect:+.1} %{interval}, could see {could_see:.0} %, gate {})", gate.number)
            }));
        }
        if !rows.is_empty() {
            say(&format!("  {word}: {} rows: {}", rows.len(), rows[..rows.len().min(12)].join(", ")));
        }
    }
}

/// Prints how often planted work was found, by kernel, and its measured effect.
fn found(gates: &[&Gate], judged: &[Again]) {
    for (kernel, _) in KERNELS {
        let planted: Vec<(&&Gate, &Again, &str)> = gates
            .iter()
            .zip(judged)
            .filter_map(|(gate, again)| Some((gate, again, gate.planted_in.as_deref()?)))
            .filter(|(_, _, case)| kernel_of(case) == kernel)
            .collect();
        if planted.is_empty() {
            continue;
        }
        let count =
            |test: &dyn Fn(&(&&Gate, &Again, &str)) -> bool| planted.iter().filter(|p| test(p)).count();
        let regressed = count(&|(_, again, case)| again.verdict(case) == Some(Verdict::Regressed));
        let given = count(&|(gate, _, case)| {
            gate.rows.iter().any(|row| row.case == *case && row.verdict == Some(Verdict::Regressed))
        });
        let passed = count(&|(_, again, case)| again.verdict(case) == Some(Verdict::Unchanged));
        let placed = count(&|(_, again, case)| again.verdict(case) == Some(Verdict::Placement));
        let effects: Vec<f64> = planted
            .iter()
            .filter_map(|(gate, _, case)| {
                let row = gate.rows.iter().find(|row| row.case == *case && row.stage == Stage::First)?;
                values(row, usize::MAX).map(|values| middle(values.iter().map(|(value, _)| *value)))
            })
            .collect();
        say(&format!(
            "  planted in {kernel}: found {regressed} of {} ({given} as the gates ended; at least {:.0} %), {passed} passed, \
             {placed} placement; measured effect {:+.2} ± {:.2} %",
            planted.len(),
            lower_bound(regressed, planted.len(), BOUND) * 100.0,
            mean(&effects).exp_m1() * 100.0,
            error(&effects) * 100.0,
        ));
    }
}

/// Prints what instructions said.
fn instructions(gates: &[&Gate]) {
    let gates: Vec<&&Gate> = gates.iter().filter(|gate| gate.conditions.instructions).collect();
    let all: Vec<(&Gate, &Counted)> =
        gates.iter().flat_map(|gate| gate.counted.iter().map(|counted| (**gate, counted))).collect();
    if all.is_empty() {
        return;
    }
    let grew = |counted: &Counted| {
        let [base, head] = counted.instructions;
        Some((head? / base? - 1.0) * 100.0)
    };
    let is_planted = |gate: &Gate, counted: &Counted| gate.planted_in.as_ref() == Some(&counted.case);
    let calm: Vec<&(&Gate, &Counted)> = all.iter().filter(|(gate, row)| !is_planted(gate, row)).collect();
    let wrong: Vec<String> = calm
        .iter()
        .filter(|(_, row)| row.verdict == Verdict::Regressed)
        .map(|(gate, row)| format!("{} in gate {}", row.case, gate.number))
        .collect();
    let largest = calm.iter().filter_map(|(_, row)| grew(row)).map(f64::abs).fold(0.0, f64::max);
    say(&format!(
        "  instructions, counted in {:.1} s: of {} benchmarks without planted work {} were counted, {} regressed {}, and \
         differ by {largest:.3} % at most",
        middle(gates.iter().map(|gate| gate.counting_s)),
        calm.len(),
        calm.iter().filter(|(_, row)| grew(row).is_some()).count(),
        wrong.len(),
        wrong.join(", "),
    ));
    for (kernel, _) in KERNELS {
        let planted: Vec<&Counted> = all
            .iter()
            .filter(|(gate, row)| is_planted(gate, row) && kernel_of(&row.case) == kernel)
            .map(|(_, row)| *row)
            .collect();
        if planted.is_empty() {
            continue;
        }
        let regressed =
            planted.iter().filter(|row| row.verdict == Verdict::Regressed && !row.advisory).count();
        let mut named: Vec<&str> =
            planted.iter().filter_map(|row| row.functions.first()).map(String::as_str).collect();
        named.sort_unstable();
        named.dedup();
        say(&format!(
            "  planted in {kernel}: {:+.2} % instructions (median of {}), found by them {regressed}; functions: {}",
            middle(planted.iter().filter_map(|row| grew(row))),
            planted.len(),
            named.join(", "),
        ));
    }
}

/// Launch values, each with whether head came first.
fn values(row: &Row, launches: usize) -> Option<Vec<(f64, Option<u8>)>> {
    let of = row.launches.iter().filter_map(|launch| {
        let paired = [launch.kept()].into_iter().collect();
        Some((*launch_values(&paired).ok()?.first()?, launch.head_leads))
    });
    let values: Vec<(f64, Option<u8>)> = of.take(launches).collect();
    (values.len() >= 4).then_some(values)
}

/// The rows of a kernel in which nothing is planted.
fn calm_rows<'a>(kernel: &'a str, gates: &'a [&Gate]) -> impl Iterator<Item = &'a Row> {
    gates.iter().flat_map(move |gate| {
        let planted = gate.planted_in.as_deref();
        let rows = gate.rows.iter().filter(|row| row.stage == Stage::First);
        rows.filter(move |row| kernel_of(&row.case) == kernel && planted != Some(row.case.as_str()))
    })
}

/// Prints the noise of a kernel where nothing is planted.
fn calm(kernel: &str, gates: &[&Gate], judged: &[Again]) {
    let rows: Vec<&Row> = calm_rows(kernel, gates).collect();
    let all: Vec<Vec<(f64, Option<u8>)>> = rows.iter().filter_map(|row| values(row, usize::MAX)).collect();
    if all.len() < 3 {
        return;
    }
    let plain = |values: &[(f64, Option<u8>)]| values.iter().map(|(value, _)| *value).collect::<Vec<f64>>();
    let halves: Vec<(f64, f64)> = all
        .iter()
        .map(|values| {
            let half = |odd: usize| middle(values.iter().skip(odd).step_by(2).map(|(value, _)| *value));
            (half(1), half(0))
        })
        .collect();
    let effects: Vec<f64> = all.iter().filter_map(|values| order_effect(values)).collect();
    let lean = mean(&effects);
    let verdicts = |wanted: Verdict| {
        let of = judged.iter().flat_map(|again| &again.rows);
        of.filter(|(case, judgement)| kernel_of(case) == kernel && judgement.verdict == wanted).count()
    };
    let could: Vec<f64> = judged
        .iter()
        .flat_map(|again| &again.rows)
        .filter(|(case, _)| kernel_of(case) == kernel)
        .filter_map(|(_, judgement)| judgement.evidence.could_see())
        .collect();
    say(&format!(
        "  {kernel}: {} rows, median {:.0} launches of {:.0} ms, sd {:.2} %; unchanged {}, inconclusive {}; could see {:.1} %; \
         odd and even launches correlate by {:+.2}; order {:+.2} % (t {:+.1}); between rows sd {:.2} %",
        all.len(),
        middle(all.iter().map(|values| values.len() as f64)),
        middle(rows.iter().flat_map(|row| row.launches.iter().map(|launch| launch.ms))),
        middle(all.iter().map(|values| variance(&plain(values)).sqrt())) * 100.0,
        verdicts(Verdict::Unchanged),
        verdicts(Verdict::Inconclusive),
        middle(could.iter().copied()).exp_m1() * 100.0,
        rank_correlation(&halves),
        lean * 100.0,
        lean / error(&effects),
        variance(&all.iter().map(|values| middle(plain(values))).collect::<Vec<_>>()).sqrt() * 100.0,
    ));
}

/// Half of what launches led by head have more than those led by base.
fn order_effect(values: &[(f64, Option<u8>)]) -> Option<f64> {
    let [base, head] = strata(values)?;
    Some((mean(&head) - mean(&base)) / 2.0)
}

/// Launch values led by base, and by head; none with fewer than two of either.
fn strata(values: &[(f64, Option<u8>)]) -> Option<[Vec<f64>; 2]> {
    let led = |side: u8| -> Vec<f64> {
        values.iter().filter(|(_, lead)| *lead == Some(side)).map(|(value, _)| *value).collect()
    };
    let both = [led(0), led(1)];
    both.iter().all(|stratum| stratum.len() > 1).then_some(both)
}

/// An estimator of launch values.
type Estimator = (&'static str, fn(&[(f64, Option<u8>)]) -> Option<Location>);

const ESTIMATORS: [Estimator; 4] = [
    ("mean", |values| Some(plain(values, 0.0))),
    ("mean by lead", |values| by_lead(values, 0.0)),
    ("20 % trimmed", |values| Some(plain(values, 0.2))),
    ("20 % trimmed by lead", |values| by_lead(values, 0.2)),
];

fn plain(values: &[(f64, Option<u8>)], share: f64) -> Location {
    Location::trimmed(&values.iter().map(|(value, _)| *value).collect::<Vec<_>>(), share)
}

fn by_lead(values: &[(f64, Option<u8>)], share: f64) -> Option<Location> {
    let [base, head] = strata(values)?;
    Some(Location::both(Location::trimmed(&base, share), Location::trimmed(&head, share)))
}

/// Compares estimators on the same launches, of rows in which nothing is planted: half-width and coverage of 99 %.
fn estimates(gates: &[&Gate]) {
    for launches in LAUNCHES {
        for (kernel, _) in KERNELS {
            let rows: Vec<Vec<(f64, Option<u8>)>> = calm_rows(kernel, gates)
                .filter_map(|row| values(row, launches))
                .filter(|values| values.len() == launches)
                .collect();
            if rows.len() < 3 {
                continue;
            }
            let told = ESTIMATORS.map(|(name, estimator)| {
                let found: Vec<Location> = rows.iter().filter_map(|values| estimator(values)).collect();
                let covered = found.iter().filter(|l| l.center.abs() <= l.half_width(CONFIDENCE)).count();
                let bounds =
                    [lower_bound, upper_bound].map(|bound| bound(covered, found.len(), BOUND) * 100.0);
                format!(
                    "{name} ± {:.2} %, covers {covered} ({:.0} to {:.0} %)",
                    middle(found.iter().map(|location| location.half_width(CONFIDENCE))) * 100.0,
                    bounds[0],
                    bounds[1],
                )
            });
            say(&format!("  {launches} launches of {kernel}, {} rows: {}", rows.len(), told.join("; ")));
        }
    }
}

/// Prints the verdicts of other methods on the same pairs.
fn rivals(gates: &[&Gate]) {
    let all: Vec<(&&Gate, &Rival)> =
        gates.iter().filter_map(|gate| Some((gate, gate.rival.as_ref()?))).collect();
    if all.is_empty() {
        return;
    }
    let count = |test: &dyn Fn(&Rival) -> bool| all.iter().filter(|(_, rival)| test(rival)).count();
    let took = |method: usize| mean(&all.iter().map(|(_, rival)| rival.took[method]).collect::<Vec<_>>());
    let p = 1.0 - (1.0 - CONFIDENCE) / 2.0;
    let ours = |verdict: Verdict| {
        let is = |row: &Row, case: &str| row.case == case && row.verdict == Some(verdict);
        all.iter().filter(|(gate, rival)| gate.rows.iter().any(|row| is(row, &rival.case))).count()
    };
    say(&format!(
        "  other methods, {} benchmarks, {:.1} s each (took {:.1}, {:.1}, {:.1}): this gate {} slower, {} faster; Welch at 99 % {} \
         slower, {} faster; criterion {} slower, {} faster; tango {} slower, {} faster",
        all.len(),
        mean(&all.iter().map(|(_, rival)| rival.seconds).collect::<Vec<_>>()),
        took(0),
        took(1),
        took(2),
        ours(Verdict::Regressed),
        ours(Verdict::Improved),
        count(&|rival| rival.head.exceeds(&rival.base, p)),
        count(&|rival| rival.base.exceeds(&rival.head, p)),
        count(&|rival| rival.criterion == Said::Regressed),
        count(&|rival| rival.criterion == Said::Improved),
        count(&|rival| rival.tango.slower()),
        count(&|rival| rival.tango.faster()),
    ));
}
