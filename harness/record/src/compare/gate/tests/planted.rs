//! Rows that are suspect, calibrated, or measured with a planted slowdown.

use perfharness_verdict::judge::{Reason, Suspicion};

use super::*;
use crate::SampleRecord;
use crate::baseline::calibration::{Calibrated, Calibration};
use crate::compare::plants;

const OPTIMIZED: usize = 1;

/// A run of two builds that are alike, and a planted slowdown of a tenth that has this effect.
fn with_plant(theta: f64, half_width: f64) -> RunRecord {
    let mut record = against_base(0.0);
    let mut head = record.benchmarks[OPTIMIZED].clone();
    head.sample = Some(SampleRecord { iterations: 200, lead_in: 1, planted: Some(20) });
    let mut found: ComparisonRecord =
        serde_json::from_value(comparison("optimized", "optimized", theta)).unwrap();
    found.estimate.interval = Some(Interval { lower: theta - half_width, upper: theta + half_width });
    let cases = record.cases.clone();
    record.planted = Some(FreshRecord { cases, benchmarks: vec![head], comparisons: vec![found] });
    record
}

fn planted_rows(report: &GateReport) -> Vec<&GateRow> {
    report.rows.iter().filter(|row| row.against == Against::Planted).collect()
}

#[test]
fn a_planted_slowdown_that_is_seen_adds_no_row() {
    let report = paired(&with_plant(1.1_f64.ln(), 0.01));
    assert_eq!((report.outcome, planted_rows(&report).len()), (GateOutcome::Ok, 0));
    assert!(report.remarks.contains(&Remark::Planted { seen: 1, of: 1 }), "{:?}", report.remarks);
    let planted = &report.planted[0];
    assert_eq!((planted.benchmark.as_str(), planted.share), ("w/c/optimized", 0.1));
    assert!(planted.is_seen && planted.can_vary);
}

#[rstest]
#[case::hardly_an_effect(0.001, 0.01, false)]
#[case::faster_for_more_work(-0.2, 0.01, false)]
#[case::too_noisy(0.05, 0.1, true)]
fn a_planted_slowdown_that_is_not_seen_leaves_its_row_open(
    #[case] theta: f64,
    #[case] half_width: f64,
    #[case] can_vary: bool,
) {
    let report = paired(&with_plant(theta, half_width));
    assert_eq!(report.outcome, GateOutcome::Undecided);
    let rows = planted_rows(&report);
    let [row] = rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.benchmark.as_str(), row.judgement.is_suspect()), ("w/c/optimized", !can_vary));
    let is_so = match &row.judgement.reason {
        Reason::Unusable { why: Why::NotSeen { planted, .. } } => can_vary && planted.0 == 0.1,
        Reason::Unusable { why: Why::Suspect(Suspicion::CannotVary { effect, .. }) } => {
            !can_vary && effect.0 == theta
        }
        _ => false,
    };
    assert!(is_so, "{:?}", row.judgement.reason);
    assert_eq!((report.planted[0].is_seen, report.planted[0].can_vary), (false, can_vary));
}

#[test]
fn a_planted_slowdown_that_was_not_measured_was_not_seen() {
    let mut record = with_plant(0.1, 0.01);
    record.planted.as_mut().unwrap().comparisons.clear();
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Undecided);
    let reason = &planted_rows(&report)[0].judgement.reason;
    assert!(matches!(reason, Reason::Unusable { why: Why::NotSeen { effect: None, .. } }), "{reason:?}");
}

#[test]
fn a_slowdown_is_planted_in_each_row_that_counts() {
    let report = paired(&against_base(0.0));
    let found = plants(&report);
    let ids: Vec<String> = found.keys().map(ToString::to_string).collect();
    assert_eq!(ids, ["w/c/optimized", "w/c/other"], "the time of what is kept slow does not count");
    for plant in found.values() {
        assert_eq!(plant.share, 0.05, "it could have seen the threshold of 3 %");
        assert_eq!(plant.terms.threshold, 0.03_f64.ln_1p());
    }
}

#[rstest]
#[case::alike(0.0)]
#[case::slower(0.5)]
#[case::faster(-0.5)]
fn a_suspect_time_decides_nothing_and_leaves_the_gate_open(#[case] theta: f64) {
    let sign = || Suspicion::SameTime { few: 1, few_ns: 5, many: 4, many_ns: 5 };
    let mut record = against_base(theta);
    record.benchmarks[OPTIMIZED].suspect = vec![sign()];
    let report = paired(&record);
    let judgement = &row(&report, "optimized", "wall-time").judgement;
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(judgement.reason, Reason::Unusable { why: Why::Suspect(sign()) });
    assert_eq!(row(&report, "optimized", "wall-time").word(), "suspect");
    assert!(judgement.gates() && judgement.launches_to_confirm(Direction::Lower).is_none());
    assert_eq!(row(&report, "optimized", "syncs").judgement.verdict, Verdict::Unchanged);

    let mut record = against_base(0.0);
    record.base.as_mut().unwrap().benchmarks[OPTIMIZED].suspect = vec![sign()];
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Undecided);
    let judgement = &row(&report, "optimized", "wall-time").judgement;
    assert_eq!(judgement.reason, Reason::Unusable { why: Why::BaseSuspect(sign()) });
}

#[rstest]
#[case::of_this_class("here", 1, true)]
#[case::of_another_class("there", 1, false)]
#[case::of_another_definition("here", 2, false)]
fn a_calibration_limits_what_a_row_claims_to_see(
    #[case] class: &str,
    #[case] definition: u32,
    #[case] counts: bool,
) {
    let mut calibration = Calibration::empty(class);
    calibration.set(Calibrated {
        id: "w/c/optimized".parse().unwrap(),
        definition,
        launches: 96,
        sd: 0.05,
        launch_s: 0.1,
        layout_spread: None,
        when: "2026-01-01T00:00:00Z".into(),
        harness: "perfharness 0".into(),
    });
    let record = against_base(0.0);
    let policy = GatePolicy::default();
    let terms = Terms {
        baseline: None,
        calibration: Some(&calibration),
        policy: &policy,
        command: "gate",
        one_run: false,
    };
    let report = judge(&record, &terms);
    let sees = |variant| row(&report, variant, "wall-time").judgement.evidence.could_see().unwrap();
    assert_eq!(sees("other"), 0.03_f64.ln_1p());
    assert_eq!(sees("optimized") > sees("other"), counts, "{}", sees("optimized"));
}
