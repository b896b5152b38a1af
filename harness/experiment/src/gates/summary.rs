//! Summary of many gates.

use perfharness_verdict::judge::{GateOutcome, Verdict};
use perfharness_verdict::{Detection, MIN_LAUNCHES_TO_DECIDE, median};

use super::Gate;
use super::gate::{Judged, PairRow};
use super::rivals::{Rival, Said};
use crate::say;

/// Confidence of the bound on a rate.
const CONFIDENCE: f64 = 0.95;
/// Confidence of Welch's test, the same as that of the gate.
const WELCH: f64 = 0.99;
/// Effects that the gate should find at a threshold of 1 %, and the required power.
const TARGETS: [(f64, f64); 3] = [(0.05, 0.99), (0.03, 0.95), (0.02, 0.80)];
const TARGET_THRESHOLD: f64 = 0.01;
/// Edges of the classes of effect over standard deviation.
const CLASSES: [f64; 6] = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0];

/// Prints the summary.
pub(super) fn print(gates: &[Gate], thresholds: &[f64]) {
    let Some(first) = gates.first() else {
        say("no gates");
        return;
    };
    let kernels: Vec<&str> = first.rows.iter().map(|row| row.kernel.as_str()).collect();
    let planted = first.planted;
    let load = middle(gates.iter().filter_map(|gate| gate.load_average));
    say(&format!(
        "{} gates of {} rows, {:+.1} % planted, neighbour {}, median load average {load:.1}",
        gates.len(),
        kernels.len(),
        (planted - 1.0) * 100.0,
        if first.neighbour { "on" } else { "off" },
    ));
    for (at, threshold) in thresholds.iter().enumerate() {
        outcomes(gates, at, *threshold, planted == 1.0);
        for kernel in &kernels {
            verdicts(&rows(gates, kernel), kernel, at);
        }
    }
    for kernel in &kernels {
        cost(&rows(gates, kernel), kernel);
    }
    if planted > 1.0 {
        for (at, threshold) in thresholds.iter().enumerate() {
            power(gates, at, *threshold);
        }
    }
    rivals(gates, &kernels);
}

fn rows<'a>(gates: &'a [Gate], kernel: &str) -> Vec<&'a PairRow> {
    gates.iter().flat_map(|gate| &gate.rows).filter(|row| row.kernel == kernel).collect()
}

fn middle(values: impl Iterator<Item = f64>) -> f64 {
    median(&values.collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

fn outcomes(gates: &[Gate], at: usize, threshold: f64, identical: bool) {
    let count = |outcome| gates.iter().filter(|gate| gate.outcomes[at] == outcome).count();
    let regressed = count(GateOutcome::Regressed);
    let bound = if identical {
        let bound = upper_bound(regressed, gates.len(), CONFIDENCE) * 100.0;
        format!(" (false alarms: at most {bound:.2} % of gates, at {:.0} % confidence)", CONFIDENCE * 100.0)
    } else {
        String::new()
    };
    say(&format!(
        "threshold {:.0} %: {regressed} of {} gates regressed{bound}, {} ok, {} undecided",
        threshold * 100.0,
        gates.len(),
        count(GateOutcome::Ok),
        count(GateOutcome::Undecided),
    ));
}

fn verdicts(rows: &[&PairRow], kernel: &str, at: usize) {
    let judged: Vec<&Judged> = rows.iter().map(|row| &row.judged[at]).collect();
    let count = |test: fn(&&&Judged) -> bool| judged.iter().filter(test).count();
    say(&format!(
        "  {kernel}: {} flagged at first, {} regressed, {} improved, {} unchanged, {} inconclusive; median effect \
         {:+.2} %, median half-width {:.2} %, median launches {:.0}",
        count(|j| j.first == Verdict::Regressed),
        count(|j| j.verdict == Verdict::Regressed),
        count(|j| j.verdict == Verdict::Improved),
        count(|j| j.verdict == Verdict::Unchanged),
        count(|j| j.verdict == Verdict::Inconclusive),
        middle(judged.iter().map(|j| j.theta)).exp_m1() * 100.0,
        middle(judged.iter().map(|j| (j.upper - j.lower) / 2.0)) * 100.0,
        middle(judged.iter().map(|j| j.launches as f64)),
    ));
}

/// Prints the cost of finding effects, from the standard deviation of launches and the seconds that one takes.
fn cost(rows: &[&PairRow], kernel: &str) {
    let sd = middle(rows.iter().map(|row| row.judged[0].sd));
    let launch = middle(rows.iter().flat_map(|row| row.seconds.iter().copied()));
    let blocks: usize = rows.iter().map(|row| row.blocks).sum();
    let dropped: usize = rows.iter().map(|row| row.dropped_blocks).sum();
    let needed = TARGETS.map(|(effect, power)| {
        let detection = Detection { delta: TARGET_THRESHOLD.ln_1p(), one_sided_alpha: 0.01, power };
        let launches = detection.launches_needed(effect.ln_1p(), sd).map(|l| l.max(MIN_LAUNCHES_TO_DECIDE));
        let cost = launches
            .map_or_else(|| "never".to_owned(), |l| format!("{l} launches, {:.1} s", l as f64 * launch));
        format!("{:+.0} % at {:.0} %: {cost}", effect * 100.0, power * 100.0)
    });
    say(&format!(
        "  {kernel}: sd(y) {:.2} %, {launch:.2} s a launch, {dropped} of {blocks} blocks dropped; to find {}",
        sd * 100.0,
        needed.join("; "),
    ));
}

/// Prints how often a planted effect was found, by its size in standard deviations.
fn power(gates: &[Gate], at: usize, threshold: f64) {
    say(&format!("power at a threshold of {:.0} %, by effect beyond it over sd(y):", threshold * 100.0));
    let judged: Vec<(&str, &Judged, f64)> = gates
        .iter()
        .flat_map(|gate| gate.rows.iter().map(|row| (row, gate.planted.ln())))
        .map(|(row, effect)| {
            let judged = &row.judged[at];
            (row.kernel.as_str(), judged, (effect - threshold.ln_1p()) / judged.sd)
        })
        .collect();
    for (class, low) in CLASSES.iter().enumerate() {
        let high = CLASSES.get(class + 1).copied().unwrap_or(f64::INFINITY);
        let of: Vec<_> = judged.iter().filter(|(_, _, size)| (*low..high).contains(size)).collect();
        if of.is_empty() {
            continue;
        }
        let count = |verdict| of.iter().filter(|(_, judged, _)| judged.verdict == verdict).count();
        let flagged = of.iter().filter(|(_, judged, _)| judged.first == Verdict::Regressed).count();
        let mut kernels: Vec<&str> = of.iter().map(|(kernel, ..)| *kernel).collect();
        kernels.sort_unstable();
        kernels.dedup();
        say(&format!(
            "  {low} to {high}: {flagged} of {} flagged, {} regressed, {} inconclusive, {} passed ({})",
            of.len(),
            count(Verdict::Regressed),
            count(Verdict::Inconclusive),
            count(Verdict::Unchanged) + count(Verdict::Improved),
            kernels.join(", "),
        ));
    }
}

fn rivals(gates: &[Gate], kernels: &[&str]) {
    let all: Vec<&Rival> = gates.iter().filter_map(|gate| gate.rival.as_ref()).collect();
    if all.is_empty() {
        return;
    }
    say("for the same time: Welch's test on sequential samples, and criterion against its own baseline");
    for kernel in kernels.iter().copied().map(Some).chain([None]) {
        let of: Vec<&&Rival> = all.iter().filter(|rival| kernel.is_none_or(|k| rival.kernel == k)).collect();
        if of.is_empty() {
            continue;
        }
        let count = |test: &dyn Fn(&Rival) -> bool| of.iter().filter(|rival| test(rival)).count();
        let beyond = |threshold: f64| {
            count(&|r| r.head.exceeds(&r.base.times(1.0 + threshold), 1.0 - (1.0 - WELCH) / 2.0))
        };
        let said = |said| count(&|r| r.criterion == said);
        say(&format!(
            "  {}: of {}, Welch: {} differ at 99 %, {} slower beyond 1 %, {} beyond 3 %; criterion: {} regressed, {} \
             improved, {} within noise, {} no change",
            kernel.unwrap_or("all"),
            of.len(),
            count(&|r| r.head.differs(&r.base, WELCH)),
            beyond(0.01),
            beyond(0.03),
            said(Said::Regressed),
            said(Said::Improved),
            said(Said::WithinNoise),
            said(Said::NoChange),
        ));
    }
    let mean = |f: fn(&Rival) -> f64| all.iter().map(|r| f(r)).sum::<f64>() / all.len() as f64;
    say(&format!(
        "  mean seconds: a row of the gate {:.1}, Welch {:.1}, criterion with its analysis {:.1}",
        mean(|r| r.seconds),
        mean(|r| r.welch_seconds),
        mean(|r| r.criterion_seconds),
    ));
}

/// Returns the largest rate that is compatible with so few successes: the one-sided upper bound of Clopper and Pearson.
fn upper_bound(successes: usize, trials: usize, confidence: f64) -> f64 {
    if successes >= trials {
        return 1.0;
    }
    // The probability of so few successes falls with the rate; at the bound it equals 1 - confidence.
    let at_most = |rate: f64| {
        let mut term = (1.0 - rate).powi(trials as i32);
        let mut sum = term;
        for k in 0..successes {
            term *= (trials - k) as f64 / (k + 1) as f64 * rate / (1.0 - rate);
            sum += term;
        }
        sum
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let rate = f64::midpoint(low, high);
        if at_most(rate) > 1.0 - confidence { low = rate } else { high = rate }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_clopper_and_pearson() {
        let close = |bound: f64, due: f64| assert!((bound - due).abs() < 1e-6, "{bound} is not {due}");
        // Without a success: 1 - 0.05^(1/n).
        close(upper_bound(0, 299, 0.95), 1.0 - 0.05_f64.powf(1.0 / 299.0));
        assert!(upper_bound(0, 299, 0.95) < 0.01 && upper_bound(0, 298, 0.95) > 0.01);
        // One success in ten, from the tables of the binomial distribution.
        close(upper_bound(1, 10, 0.95), 0.394_163_3);
        assert_eq!(upper_bound(3, 3, 0.95), 1.0);
    }
}
