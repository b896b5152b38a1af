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

fn calibrated() -> Calibrated {
    Calibrated {
        id: "w/c/optimized".parse().unwrap(),
        definition: 1,
        launches: 96,
        sd: 0.001,
        launch_s: 0.1,
        layout_spread: None,
        when: "2026-01-01T00:00:00Z".into(),
        harness: "perfharness 0".into(),
    }
}

fn judged_by(calibration: &Calibration, record: &RunRecord) -> GateReport {
    let (policy, calibration) = (GatePolicy::default(), Some(calibration));
    judge(record, &Terms { baseline: None, calibration, policy: &policy, command: "gate", one_run: false })
}

#[rstest]
#[case::it_is_not_known(None, None, Verdict::Regressed)]
#[case::it_is_known(Some(0.15), None, Verdict::Placement)]
#[case::the_change_is_larger(Some(0.05), None, Verdict::Regressed)]
#[case::layouts_were_compared(Some(0.15), Some(0.0), Verdict::Regressed)]
fn a_change_of_a_program_in_one_layout_is_held_against_the_calibrated_spread(
    #[case] layout_spread: Option<f64>,
    #[case] explained: Option<f64>,
    #[case] verdict: Verdict,
) {
    let mut record = against_base(0.1);
    let side = || json!({"ns": [1.0, 1.0], "kept": [0, 1], "spread": 0.0});
    let layouts = |explained| json!({"benchmark": "w/c/optimized", "base": side(), "head": side(), "explained": explained, "launches": 3, "seconds": 1.0});
    record.base.as_mut().unwrap().layouts =
        explained.into_iter().map(|explained| serde_json::from_value(layouts(explained)).unwrap()).collect();
    let mut calibration = Calibration::empty("here");
    calibration.set(Calibrated { layout_spread, ..calibrated() });
    let report = judged_by(&calibration, &record);
    assert_eq!(row(&report, "optimized", "wall-time").judgement.verdict, verdict);
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
    calibration.set(Calibrated { definition, sd: 0.05, ..calibrated() });
    let record = against_base(0.0);
    let report = judged_by(&calibration, &record);
    let sees = |variant| row(&report, variant, "wall-time").judgement.evidence.could_see().unwrap();
    assert_eq!(sees("other"), 0.03_f64.ln_1p());
    assert_eq!(sees("optimized") > sees("other"), counts, "{}", sees("optimized"));
}
