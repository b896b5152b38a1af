//! Rows and outcomes for records that are made up: every way in which a gate could go wrong has a case here.

mod counts;
mod kernels;
mod planted;

use std::collections::BTreeMap;

use perfharness_contract::protocol::Reading;
use perfharness_contract::{Number, OutcomeKind, standard};
use perfharness_verdict::judge::{Advisory, Evidence, Reason};
use perfharness_verdict::{Estimate, Interval};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::baseline::accept::{AcceptTerms, accept};
use crate::compare::Remark;
use crate::{
    BaseRecord, ComparisonRecord, FreshRecord, Outcome, Redefinition, SelectedRecord, VersionRecord,
    VersionsRecord, WorkerCommand,
};

const VARIANTS: [&str; 3] = ["slow", "optimized", "other"];

fn metric(unit: &str, kind: &str, values: &[f64]) -> Value {
    json!({"unit": unit, "kind": kind, "value": values[0], "launches": values, "samples": 16})
}

fn benchmark(variant: &str) -> Value {
    json!({
        "id": format!("w/c/{variant}"), "definition": 1, "role": if variant == "slow" { "slow" } else { "other" },
        "outcome": {"kind": "ok"}, "expected": "ok", "environment": null, "sample": null, "warm_up": null, "check": null,
        "metrics": {
            "wall-time": metric("ns", "time", &[1000.0; 8]),
            "cpu-time": metric("ns", "time", &[1000.0; 8]),
            "peak-rss": metric("bytes", "size", &[8e6, 8.1e6]),
            "syncs": metric("count", "exact", &[3.0, 3.0]),
            "steps": metric("count", "exact", &[7.0, 7.0]),
            "peak": metric("bytes", "size", &[1e6, 1e6]),
        }
    })
}

fn estimate(theta: f64, launches: usize) -> Value {
    json!({
        "theta": theta, "sd": 0.001, "interval": {"lower": theta - 0.002, "upper": theta + 0.002}, "confidence": 0.99,
        "launches": launches, "placements": launches, "rounds": launches * 2, "empty_launches": 0, "empty_placements": 0
    })
}

fn comparison(candidate: &str, reference: &str, theta: f64) -> Value {
    json!({
        "candidate": format!("w/c/{candidate}"), "reference": format!("w/c/{reference}"), "metric": "wall-time",
        "estimate": estimate(theta, 8), "launches": vec![theta; 8], "smallest_detectable": 0.004
    })
}

fn workload() -> Value {
    let metric = |id: &str, unit: &str, kind: &str| json!({"id": id, "unit": unit, "kind": kind});
    let portable = |id: &str| json!({"id": id, "unit": "count", "kind": "exact", "portability": "portable"});
    let work = json!({"id": "steps", "unit": "count", "kind": "exact", "direction": "neutral", "work": true});
    json!({
        "id": "w", "version": 1, "cases": [{"id": "c"}],
        "variants": VARIANTS.map(|id| json!({"id": id, "summary": id})),
        "metrics": [portable("syncs"), work, metric("peak", "bytes", "size")],
    })
}

fn record() -> RunRecord {
    let launch = |n: u32| json!({"launch": n, "unix_ms": 1, "load_average": null, "anchor_ns": 1e6, "environments": [], "seconds": 1.0});
    serde_json::from_value(json!({
        "format": 1,
        "run": {
            "id": "r", "started": "2026-01-01T00:00:00Z", "finished": "2026-01-01T00:01:00Z", "harness": "perfharness 0",
            "arguments": [], "patterns": ["all"], "seed": 1, "effort": "quick", "device": "auto", "budget_s": 1.0,
            "design": {"looks": {"kind": "fixed", "launches": 8}, "half_width": 0.05, "confidence": 0.99, "sample_ns": 1},
            "shard": {"index": 1, "count": 1}, "ended": "complete", "resumed": 0,
            "time": {"launches_s": 1.0, "placements_s": 1.0, "blocks_s": 1.0, "samples_s": 1.0, "outside_share": 0.5}
        },
        "source": {"commit": "abc", "dirty": false},
        "machine": {"class": "here", "class_is_set": false, "facts": {"os": "linux"}},
        "environments": [], "workers": [], "workloads": [workload()], "metrics": standard::harness_metrics(),
        "cases": [{
            "workload": "w", "case": "c", "pairing": "together", "end": {"reason": "last-look", "launches": 8},
            "seconds": 1.0, "blocks": 32, "dropped_blocks": {}, "launches": (0..8).map(launch).collect::<Vec<_>>()
        }],
        "benchmarks": VARIANTS.map(benchmark),
        "comparisons": [comparison("optimized", "slow", -1.0), comparison("other", "slow", -0.5)],
        "claims": [], "samples": null
    }))
    .unwrap()
}

/// A run whose times are all `factor` times as long.
fn run(id: &str, factor: f64) -> RunRecord {
    let mut record = record();
    record.run.id = id.into();
    for benchmark in &mut record.benchmarks {
        for time in ["wall-time", "cpu-time"] {
            let metric = benchmark.metrics.get_mut(time).unwrap();
            metric.value = Reading::Value(Number(1000.0 * factor));
            metric.launches = vec![Number(1000.0 * factor); 8];
        }
    }
    record
}

/// Five runs that differ by half a percent.
fn baseline() -> Baseline {
    let runs: Vec<RunRecord> = [1.0, 1.005, 0.995, 1.002, 0.998]
        .iter()
        .enumerate()
        .map(|(at, factor)| run(&format!("r{at}"), *factor))
        .collect();
    let terms = AcceptTerms { only: &[], reason: "first", when: "2026-02-01T00:00:00Z".into() };
    accept(&runs, None, &terms).unwrap().baseline
}

fn judged_with(record: &RunRecord, baseline: Option<&Baseline>, policy: &GatePolicy) -> GateReport {
    judge(record, &Terms { baseline, calibration: None, policy, command: "perfharness gate", one_run: false })
}

fn judged(record: &RunRecord) -> GateReport {
    judged_with(record, Some(&baseline()), &GatePolicy::default())
}

fn row<'r>(report: &'r GateReport, variant: &str, metric: &str) -> &'r GateRow {
    let id = format!("w/c/{variant}");
    let metric = (!metric.is_empty()).then_some(metric);
    let found = report.rows.iter().find(|row| row.benchmark == id && row.metric.as_deref() == metric);
    found.unwrap_or_else(|| panic!("no row {variant} {metric:?}: {report:#?}"))
}

fn set(record: &mut RunRecord, variant: usize, metric: &str, value: f64) {
    let metric = record.benchmarks[variant].metrics.get_mut(metric).unwrap();
    metric.value = Reading::Value(Number(value));
    metric.launches = vec![Number(value); metric.launches.len()];
}

#[test]
fn an_unchanged_run_is_unchanged_in_every_row() {
    let report = judged(&run("now", 1.001));
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
    let tally = report.tally();
    assert_eq!((tally.regressed, tally.inconclusive, tally.failed, tally.no_baseline), (0, 0, 0, 0));
    assert!(tally.unchanged >= 12, "{tally:?}");
    // Work is not judged, and a derived figure is judged by those that it comes from.
    assert!(report.rows.iter().all(|row| row.metric.as_deref() != Some("steps")));
}

#[rstest]
#[case::a_count(1, "syncs", 4.0, GateOutcome::Regressed)]
#[case::a_count_of_the_exhibit(0, "syncs", 4.0, GateOutcome::Regressed)]
#[case::a_peak(1, "peak", 2e6, GateOutcome::Regressed)]
#[case::a_time(1, "wall-time", 1200.0, GateOutcome::Regressed)]
#[case::the_time_of_the_exhibit(0, "wall-time", 1200.0, GateOutcome::Ok)]
#[case::a_diagnosis(1, "cpu-time", 2000.0, GateOutcome::Ok)]
#[case::less_work(1, "steps", 6.0, GateOutcome::Failed)]
#[case::fewer(1, "syncs", 2.0, GateOutcome::Ok)]
#[case::within_what_the_launches_had(1, "peak-rss", 8.2e6, GateOutcome::Ok)]
fn a_change_of_a_figure_is_judged_by_what_it_is(
    #[case] variant: usize,
    #[case] metric: &str,
    #[case] value: f64,
    #[case] outcome: GateOutcome,
) {
    let mut record = record();
    set(&mut record, variant, metric, value);
    let report = judged(&record);
    assert_eq!(report.outcome, outcome, "{report:#?}");
}

#[test]
fn a_speed_up_that_went_regresses() {
    let mut record = record();
    record.comparisons[0] = serde_json::from_value(comparison("optimized", "slow", -0.1)).unwrap();
    let report = judged(&record);
    let row = row(&report, "optimized", SPEED_UP);
    assert_eq!(row.judgement.verdict, Verdict::Regressed, "{row:#?}");
    assert_eq!(row.direction, Some(Direction::Higher), "{row:#?}");
}

/// Other processes on a machine weigh on all cores differently from one.
#[rstest]
#[case::of_a_gpu(&[1], "integrated", false)]
#[case::of_what_nobody_knows(&[1], "unknown", false)]
#[case::of_a_software_adapter_and_a_core(&[1], "software", true)]
#[case::of_a_software_adapter_and_itself(&[0, 1], "software", false)]
#[case::of_a_core_and_itself(&[], "software", false)]
fn a_speed_up_of_uneven_sides_is_advisory(
    #[case] on_gpu: &[usize],
    #[case] kind: &str,
    #[case] advisory: bool,
) {
    let mut record = record();
    record.comparisons[0] = serde_json::from_value(comparison("optimized", "slow", -0.1)).unwrap();
    record.machine.facts.insert("gpu".into(), "an adapter".into());
    let fact = if kind == "unknown" { "gpu-fault" } else { "gpu-kind" };
    record.machine.facts.insert(fact.into(), kind.into());
    for at in on_gpu {
        let busy = serde_json::from_value(metric("ns", "time", &[5.0; 8])).unwrap();
        record.benchmarks[*at].metrics.insert(GPU_BUSY.into(), busy);
    }
    let report = judged(&record);
    let row = row(&report, "optimized", SPEED_UP);
    assert_eq!(row.judgement.verdict, Verdict::Regressed, "{row:#?}");
    assert_eq!(row.judgement.advisory == [Advisory::UnevenSides], advisory, "{row:#?}");
    assert_eq!(report.outcome == GateOutcome::Ok, advisory, "{report:#?}");
}

#[test]
fn what_is_gone_renamed_skipped_or_failed_is_a_verdict() {
    let mut gone = record();
    gone.benchmarks.remove(2);
    assert_eq!(row(&judged(&gone), "other", "").judgement.reason, Reason::Missing);
    assert_eq!(judged(&gone).outcome, GateOutcome::Failed);

    let mut renamed = record();
    renamed.benchmarks[2].id = "w/c/another".parse().unwrap();
    renamed.workloads[0].variants[2].id = "another".parse().unwrap();
    let report = judged(&renamed);
    assert_eq!(row(&report, "other", "").judgement.reason, Reason::Renamed { to: "w/c/another".into() });

    let mut skipped = record();
    skipped.benchmarks[2].outcome = Outcome::new(OutcomeKind::Skipped, "no GPU");
    skipped.benchmarks[2].metrics = BTreeMap::new();
    let report = judged(&skipped);
    assert_eq!(report.outcome, GateOutcome::Failed);
    assert_eq!(
        row(&report, "other", "").judgement,
        Judgement::failed(Why::LeftOut(end(&skipped.benchmarks[2].outcome)))
    );
    // Another machine may have another reason than the code.
    skipped.machine.class = "elsewhere".into();
    assert_eq!(row(&judged(&skipped), "other", "").judgement.verdict, Verdict::Inconclusive);
    let mut cut_off = record();
    cut_off.benchmarks[2].outcome = Outcome::new(OutcomeKind::NotRun, "the run ended before its turn");
    assert_eq!(judged(&cut_off).outcome, GateOutcome::Undecided);

    let mut failed = record();
    failed.benchmarks[2].outcome = Outcome::new(OutcomeKind::WrongResult, "off by one");
    let report = judged(&failed);
    assert_eq!(report.outcome, GateOutcome::Failed);
    assert_eq!(
        row(&report, "other", "").judgement,
        Judgement::failed(Why::Ended(end(&failed.benchmarks[2].outcome)))
    );

    let mut expected = record();
    expected.benchmarks[2].expected = OutcomeKind::WrongResult;
    expected.benchmarks[2].outcome = Outcome::new(OutcomeKind::WrongResult, "off by one");
    assert_eq!(judged(&expected).outcome, GateOutcome::Failed, "an expectation must not excuse what fails");
}

#[test]
fn a_run_of_some_does_not_miss_the_others() {
    let mut record = record();
    record.benchmarks.remove(2);
    record.run.patterns = vec!["w/c/{slow,optimized}".into()];
    assert_eq!(judged(&record).outcome, GateOutcome::Ok);
}

#[test]
fn without_anything_to_compare_a_gate_is_not_green() {
    let mut other = record();
    other.workloads[0].version = 2;
    other.benchmarks.iter_mut().for_each(|benchmark| benchmark.definition = 2);
    let report = judged(&other);
    assert_eq!(report.outcome, GateOutcome::Redefined, "{report:#?}");
    assert_eq!(row(&report, "slow", "").judgement.reason, Reason::Redefined { from: 1, to: 2 });
    // A definition that the base has as well is not for this change to mend.
    let mut older = against_base(0.0);
    older.workloads[0].version = 2;
    older.benchmarks.iter_mut().for_each(|benchmark| benchmark.definition = 2);
    older.base.as_mut().unwrap().selected.iter_mut().for_each(|selected| selected.definition = 2);
    let report = judged(&older);
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
    let empty = Baseline { benchmarks: Vec::new(), ..baseline() };
    let report = judged_with(&record(), Some(&empty), &GatePolicy::default());
    assert_eq!(report.outcome, GateOutcome::NothingCompared);
    assert_eq!(judged_with(&record(), None, &GatePolicy::default()).outcome, GateOutcome::NothingCompared);
}

#[test]
fn a_figure_that_is_not_there_any_more_is_no_pass() {
    let mut absent = record();
    let metric = absent.benchmarks[1].metrics.get_mut("syncs").unwrap();
    metric.value = Reading::Absent { absent: "no counter".into() };
    let report = judged(&absent);
    assert_eq!(report.outcome, GateOutcome::Undecided);
    assert_eq!(row(&report, "optimized", "syncs").judgement, Judgement::skipped("no counter"));

    let mut undeclared = record();
    undeclared.workloads[0].metrics.retain(|metric| metric.id.as_str() != "syncs");
    undeclared.benchmarks.iter_mut().for_each(|benchmark| drop(benchmark.metrics.remove("syncs")));
    assert_eq!(judged(&undeclared).outcome, GateOutcome::Undecided);
}

#[test]
fn figures_that_are_no_numbers_are_open() {
    for value in [f64::NAN, f64::INFINITY] {
        for metric in ["syncs", "peak", "wall-time"] {
            let mut record = record();
            set(&mut record, 1, metric, value);
            let report = judged(&record);
            assert_eq!(report.outcome, GateOutcome::Undecided, "{metric} {value}: {report:#?}");
        }
    }
}

#[test]
fn a_nearby_machine_class_judges_what_is_portable() {
    let mut elsewhere = run("now", 5.0);
    elsewhere.machine.class = "elsewhere".into();
    let report = judged(&elsewhere);
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
    assert!(report.rows.iter().all(|row| matches!(row.metric.as_deref(), Some("syncs" | SPEED_UP))));
    assert!(matches!(&report.remarks[0], Remark::OtherClass { class, .. } if class == "elsewhere"));
    set(&mut elsewhere, 1, "syncs", 4.0);
    assert_eq!(judged(&elsewhere).outcome, GateOutcome::Regressed);
}

#[test]
fn few_runs_and_few_launches_decide_no_time() {
    let terms = AcceptTerms { only: &[], reason: "first", when: "2026-02-01T00:00:00Z".into() };
    let runs = [run("r0", 1.0), run("r1", 1.002), run("r2", 0.999)];
    let few = accept(&runs, None, &terms).unwrap();
    assert!(few.remarks.iter().any(|remark| remark.contains("3 of the 5 runs")), "{:?}", few.remarks);
    let report = judged_with(&run("now", 2.0), Some(&few.baseline), &GatePolicy::default());
    assert_eq!(report.outcome, GateOutcome::Ok);
    let row = row(&report, "other", "wall-time");
    assert!(row.judgement.advisory.contains(&Advisory::FewRuns { runs: 3, needed: 5 }), "{row:#?}");
    assert_eq!(row.word(), "advisory");

    let mut short = run("now", 1.0);
    short.benchmarks[2].metrics.get_mut("wall-time").unwrap().launches.truncate(3);
    let report = judged(&short);
    assert_eq!(report.outcome, GateOutcome::Undecided);
}

#[test]
fn times_against_noisy_runs_say_what_they_could_have_seen() {
    let terms = AcceptTerms { only: &[], reason: "first", when: "2026-02-01T00:00:00Z".into() };
    let runs: Vec<RunRecord> =
        [1.0, 1.2, 0.8, 1.1, 0.9].iter().enumerate().map(|(at, f)| run(&format!("r{at}"), *f)).collect();
    let noisy = accept(&runs, None, &terms).unwrap().baseline;
    let judged = |must_see: &str| {
        let policy: GatePolicy = toml::from_str(must_see).unwrap();
        judged_with(&run("now", 1.1), Some(&noisy), &policy)
    };
    let open = judged("");
    let wall = row(&open, "other", "wall-time");
    assert!(
        matches!(wall.judgement.reason, Reason::CouldNotSee { .. }) && wall.judgement.gates(),
        "{wall:#?}"
    );
    assert_eq!(open.outcome, GateOutcome::Undecided);
    assert_eq!(judged("must-see = 4.0").outcome, GateOutcome::Ok);
    let rule = "[[limit]]\nbenchmark = \"*\"\nmust-see = 4.0";
    assert_eq!(judged(rule).outcome, GateOutcome::Ok);
}

/// Two builds whose wall times are so noisy that they show no slowdown below a few hundred percent.
fn blind() -> RunRecord {
    let mut record = against_base(0.0);
    for comparison in &mut record.base.as_mut().unwrap().comparisons {
        let estimate = &mut comparison.estimate;
        (estimate.sd, estimate.interval) = (Some(1.0), Some(Interval { lower: -0.9, upper: 0.9 }));
    }
    record
}

#[test]
fn a_benchmark_is_open_only_if_none_of_its_times_could_have_seen_what_it_must() {
    let mut record = blind();
    let is_open = |report: &GateReport| {
        let wall = row(report, "other", "wall-time");
        matches!(wall.judgement.reason, Reason::CouldNotSee { .. })
    };
    assert!(is_open(&paired(&record)));
    // The GPU's own clock sees more, but counts only for what computes on one.
    let definition = MetricDef::time(GPU_BUSY, "busy");
    record.metrics.push(definition);
    let (base, head) = (record.base.as_mut().unwrap(), &mut record.benchmarks);
    for benchmark in head.iter_mut().chain(&mut base.benchmarks) {
        let busy = benchmark.metrics["cpu-time"].clone();
        benchmark.metrics.insert(GPU_BUSY.into(), busy);
    }
    for id in VARIANTS {
        let mut quiet: ComparisonRecord = serde_json::from_value(comparison(id, id, 0.001)).unwrap();
        quiet.metric = GPU_BUSY.parse().unwrap();
        base.comparisons.push(quiet);
    }
    record.machine.facts.insert("gpu-kind".into(), "discrete".into());
    let report = paired(&record);
    let wall = row(&report, "other", "wall-time");
    assert_eq!(wall.judgement.verdict, Verdict::Unchanged, "{wall:#?}");
    // It still says what it could have seen by itself.
    assert!(wall.judgement.evidence.could_see().unwrap() > 1.0);
    for benchmark in &mut record.benchmarks {
        benchmark.metrics.remove(GPU_BUSY);
    }
    assert!(is_open(&paired(&record)));
}

#[test]
fn the_speed_of_the_day_is_taken_out() {
    let mut slow_day = run("now", 1.5);
    slow_day.cases[0].launches.iter_mut().for_each(|launch| launch.anchor_ns = Some(1.5e6));
    assert_eq!(judged(&slow_day).outcome, GateOutcome::Ok);
    assert_eq!(judged(&run("now", 1.5)).outcome, GateOutcome::Regressed);
}

#[test]
fn what_was_acknowledged_does_not_fail_within_its_bound() {
    let policy = |bound: u32, since: &str| -> GatePolicy {
        toml::from_str(&format!(
            "[[acknowledged]]\nbenchmark = \"w/c/optimized\"\nmetric = \"syncs\"\nbound = {bound}\nreason = \"needed\"\nsince = \"{since}\""
        ))
        .unwrap()
    };
    let mut worse = record();
    set(&mut worse, 1, "syncs", 4.0);
    let judged = |bound, since| judged_with(&worse, Some(&baseline()), &policy(bound, since));
    let report = judged(4, "2026-02-02");
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
    let acknowledged = Advisory::Acknowledged { reason: "needed".into() };
    assert_eq!(row(&report, "optimized", "syncs").judgement.advisory, [acknowledged]);
    assert_eq!(judged(3, "2026-02-02").outcome, GateOutcome::Regressed);
    // Figures were accepted since.
    let expired = judged(4, "2026-01-31");
    assert_eq!(expired.outcome, GateOutcome::Regressed);
    assert!(matches!(&expired.remarks[..], [Remark::Expired { .. }]), "{:?}", expired.remarks);
    let unused = judged_with(&record(), Some(&baseline()), &policy(4, "2026-02-02"));
    assert!(matches!(&unused.remarks[..], [Remark::Unneeded { .. }]), "{:?}", unused.remarks);
}

/// A record of a run against a base, the candidate `theta` slower.
fn against_base(theta: f64) -> RunRecord {
    let mut record = record();
    let selected = record.benchmarks.iter().map(|benchmark| SelectedRecord {
        id: benchmark.id.clone(),
        definition: 1,
        identity: perfharness_contract::Digest::of(benchmark.id.to_string().as_bytes()),
    });
    record.base = Some(BaseRecord {
        source: record.source.clone(),
        workers: Vec::new(),
        identical: false,
        versions: None,
        redefined: Vec::new(),
        selected: selected.collect(),
        layouts: Vec::new(),
        benchmarks: record.benchmarks.clone(),
        comparisons: VARIANTS.map(|id| serde_json::from_value(comparison(id, id, theta)).unwrap()).to_vec(),
    });
    record
}

fn paired(record: &RunRecord) -> GateReport {
    judged_with(record, None, &GatePolicy::default())
}

#[test]
fn two_builds_that_are_alike_pass() {
    let report = paired(&against_base(0.001));
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
    assert!(flagged(&report).is_empty());
}

#[test]
fn a_flag_counts_once_fresh_launches_confirm_it() {
    let mut record = against_base(0.2);
    let first = paired(&record);
    assert_eq!(first.outcome, GateOutcome::Regressed);
    let flags = flagged(&first);
    let ids: Vec<String> = flags.keys().map(ToString::to_string).collect();
    assert_eq!(ids, ["w/c/optimized", "w/c/other"], "the exhibit is not measured again");
    assert!(flags.values().all(|launches| *launches == 16), "{flags:?}");

    let confirmation = |theta: f64| FreshRecord {
        cases: record.cases.clone(),
        benchmarks: record.benchmarks.clone(),
        comparisons: VARIANTS
            .map(|id| serde_json::from_value::<ComparisonRecord>(comparison(id, id, theta)).unwrap())
            .to_vec(),
    };
    let (confirmed, refuted) = (confirmation(0.2), confirmation(0.0));
    record.confirmation = Some(confirmed);
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Regressed);
    assert!(row(&report, "other", "wall-time").judgement.confirmation.unwrap().stands);
    record.confirmation = Some(refuted);
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
}

#[test]
fn identical_programs_pass_without_being_measured() {
    let mut record = against_base(0.0);
    record.benchmarks.clear();
    record.cases.clear();
    if let Some(base) = &mut record.base {
        base.identical = true;
        base.benchmarks.clear();
    }
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Ok);
    assert_eq!(report.rows[0].judgement.reason, Reason::Identical);
    // Accepted figures are not missed, because nothing was measured.
    assert_eq!(judged(&record).outcome, GateOutcome::Ok);
    // A gate of the base against itself shows nothing of any change.
    let digest = perfharness_contract::Digest::of(b"program");
    let version = VersionRecord { commit: "c".into(), tree: "t".into(), digest };
    let versions = VersionsRecord { base: version.clone(), head: version };
    record.base.as_mut().unwrap().versions = Some(versions);
    assert_eq!(paired(&record).outcome, GateOutcome::NothingCompared);
}

#[test]
fn what_the_rounds_do_not_have_is_no_pass() {
    let mut record = against_base(0.0);
    record.base.as_mut().unwrap().comparisons.remove(2);
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Undecided);
    assert_eq!(row(&report, "other", "wall-time").judgement, Judgement::skipped(Why::NoSharedRound));

    let mut undeclared = against_base(0.0);
    undeclared.workloads[0].metrics.retain(|metric| metric.id.as_str() != "syncs");
    let report = paired(&undeclared);
    assert_eq!(report.outcome, GateOutcome::Undecided);
    let why = Why::NoMetric { metric: "syncs".into() };
    assert_eq!(row(&report, "other", "").judgement, Judgement::skipped(why));

    let mut uncompared = record_without_comparisons();
    assert_eq!(judged(&uncompared).outcome, GateOutcome::Undecided);
    uncompared.benchmarks.remove(0);
    uncompared.run.patterns = vec!["w/c/{optimized,other}".into()];
    assert_eq!(judged(&uncompared).outcome, GateOutcome::Ok, "there is no reference to compare with");
}

fn record_without_comparisons() -> RunRecord {
    RunRecord { comparisons: Vec::new(), ..record() }
}

#[test]
fn what_only_one_build_has_is_listed() {
    let mut record = against_base(0.0);
    let base = record.base.as_mut().unwrap();
    base.selected.remove(0);
    base.selected.push(SelectedRecord { id: "w/c/gone".parse().unwrap(), ..base.selected[0].clone() });
    let report = paired(&record);
    assert_eq!(row(&report, "slow", "").judgement.reason, Reason::New);
    assert_eq!(report.outcome, GateOutcome::Failed);
    assert_eq!(row(&report, "gone", "").judgement.reason, Reason::Missing);
}

#[test]
fn a_base_that_failed_leaves_open_what_it_was_to_be_compared_with() {
    let mut record = against_base(0.0);
    let base = record.base.as_mut().unwrap();
    base.benchmarks[2].outcome = Outcome::new(OutcomeKind::Crashed, "oops");
    base.comparisons.remove(2);
    let report = paired(&record);
    let crashed = End { kind: OutcomeKind::Crashed, reason: Some("oops".into()) };
    assert_eq!(row(&report, "other", "").judgement, Judgement::skipped(Why::BaseEnded(crashed)));
    assert_eq!(report.outcome, GateOutcome::Undecided);

    let mut record = against_base(0.0);
    let command = WorkerCommand { name: "second".into(), ..WorkerCommand::default() };
    let crashed = Outcome::new(OutcomeKind::Crashed, "oops");
    record.base.as_mut().unwrap().workers.push(WorkerRecord::new(&command, None, crashed));
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Undecided);
    assert!(report.rows[0].benchmark.contains("worker second of the base"), "{report:#?}");
}

#[test]
fn what_the_change_leaves_out_failed_and_what_both_cannot_run_is_open() {
    let skipped = Outcome::new(OutcomeKind::Skipped, "flaky");
    let mut record = against_base(0.0);
    record.benchmarks[1].outcome = skipped.clone();
    assert_eq!(paired(&record).outcome, GateOutcome::Failed);
    // Where the definition says so, the base is not measured, either.
    let base = record.base.as_mut().unwrap();
    let mut both = base.benchmarks.remove(1);
    assert_eq!(paired(&record).outcome, GateOutcome::Failed);
    both.outcome = skipped;
    record.base.as_mut().unwrap().benchmarks.push(both);
    assert_eq!(paired(&record).outcome, GateOutcome::Undecided);
}

#[test]
fn another_definition_stays_open_until_it_is_acknowledged() {
    let mut record = against_base(0.0);
    let base = record.base.as_mut().unwrap();
    base.redefined.push(Redefinition { subject: "w".into(), changes: vec!["the role of `other`".into()] });
    base.selected[2].definition = 0;
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Redefined, "{report:#?}");
    let of_workload = report.rows.iter().find(|row| row.benchmark == "w").unwrap();
    assert_eq!(of_workload.judgement, Judgement::changed(["the role of `other`"]));
    let version = row(&report, "other", "");
    assert_eq!(version.judgement.reason, Reason::Redefined { from: 0, to: 1 });
    // Nor does it matter that nothing had to be measured.
    record.base.as_mut().unwrap().identical = true;
    assert_eq!(paired(&record).outcome, GateOutcome::Redefined);
    record.base.as_mut().unwrap().identical = false;
    let policy: GatePolicy = toml::from_str(
        "[[acknowledged]]\nbenchmark = \"w\"\nmetric = \"definition\"\nbound = 1\nreason = \"agreed\"\nsince = \"2026-01-01\"",
    )
    .unwrap();
    let report = judged_with(&record, None, &policy);
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
    let mut later = record.clone();
    later.workloads[0].version = 2;
    later.benchmarks[2].definition = 2;
    assert_eq!(judged_with(&later, None, &policy).outcome, GateOutcome::Redefined);
    let agreed = Advisory::Acknowledged { reason: "agreed".into() };
    assert_eq!(row(&report, "other", "").judgement.advisory, [agreed]);
}

#[test]
fn a_change_does_not_excuse_itself_by_new_metrics_or_less_work() {
    // A benchmark on a GPU is judged more mildly on a software adapter, and so is the heap beside its driver.
    let mut record = against_base(0.0);
    let id = record.benchmarks[1].id.clone();
    let busy = serde_json::from_value(metric("ns", "time", &[1.0; 8])).unwrap();
    record.benchmarks[1].metrics.insert(GPU_BUSY.into(), busy);
    let terms = Terms {
        baseline: None,
        calibration: None,
        policy: &GatePolicy::default(),
        command: "gate",
        one_run: false,
    };
    let by_id = BTreeMap::new();
    assert!(!Judging { record: &record, terms: &terms, pooled: None, by_id }.uses_gpu(&id));

    let mut record = against_base(0.0);
    let absent = Reading::Absent { absent: "the worker did not report it".into() };
    record.benchmarks[1].metrics.get_mut("steps").unwrap().value = absent;
    let report = paired(&record);
    assert_eq!(report.outcome, GateOutcome::Failed, "{report:#?}");
    let why = Why::NoWork { metric: "steps".into() };
    assert_eq!(row(&report, "optimized", "steps").judgement, Judgement::failed(why));

    let mut record = against_base(0.0);
    let check = |input: Option<&str>| {
        serde_json::from_value(json!({
            "before": 1, "after": 1, "error": null, "tolerance": null, "nan_count": null, "input": input, "output": null
        }))
        .unwrap()
    };
    record.base.as_mut().unwrap().benchmarks[1].check = check(Some("abc"));
    record.benchmarks[1].check = check(None);
    assert_eq!(paired(&record).outcome, GateOutcome::Undecided);
}

#[test]
fn a_role_is_that_which_was_accepted() {
    let mut record = record();
    record.benchmarks[1].role = Role::Slow;
    let report = judged(&record);
    assert_eq!(report.outcome, GateOutcome::Redefined, "{report:#?}");
    let what = Why::OtherRole { now: Role::Slow, accepted: Role::Other };
    assert_eq!(row(&report, "optimized", "").judgement, Judgement::changed([what]));
    let wall = row(&report, "optimized", "wall-time");
    assert!(!wall.judgement.advisory.contains(&Advisory::Exhibit), "{wall:#?}");
}

#[rstest]
#[case::one_launch_hides_nothing(&[2.0; 8], &[50.0, 50.0, 2.0, 50.0, 50.0, 50.0, 50.0, 50.0], GateOutcome::Regressed)]
#[case::each_launch_by_a_little(&[1.0; 4], &[1.5, 2.0, 1.5, 2.0], GateOutcome::Regressed)]
#[case::most_launches_by_one(&[1.0; 8], &[2.0, 1.0, 2.0, 2.0, 2.0, 1.0, 2.0, 2.0], GateOutcome::Regressed)]
#[case::one_launch_is_open(&[2.0; 8], &[2.0, 2.0, 50.0, 2.0, 2.0, 2.0, 2.0, 2.0], GateOutcome::Undecided)]
#[case::the_base_varied_too(&[2.0, 50.0, 2.0, 2.0], &[50.0, 2.0, 50.0, 50.0], GateOutcome::Undecided)]
#[case::as_the_base_does(&[2.0, 3.0, 2.0, 3.0], &[3.0, 2.0, 2.0, 3.0], GateOutcome::Ok)]
#[case::fewer(&[50.0; 4], &[2.0, 50.0, 2.0, 2.0], GateOutcome::Ok)]
fn a_count_that_varies_is_not_as_before_because_one_launch_was(
    #[case] before: &[f64],
    #[case] now: &[f64],
    #[case] outcome: GateOutcome,
) {
    let mut record = against_base(0.0);
    let figure = |launches: &[f64]| {
        let varies = launches.iter().any(|value| *value != launches[0]);
        let kind = if varies { "size" } else { "exact" };
        let figure: MetricRecord = serde_json::from_value(metric("count", kind, launches)).unwrap();
        let mut sorted = launches.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted[launches.len() / 2].midpoint(sorted[(launches.len() - 1) / 2]);
        MetricRecord { demoted: varies, value: Reading::Value(Number(middle)), ..figure }
    };
    record.benchmarks[1].metrics.insert("syncs".into(), figure(now));
    record.base.as_mut().unwrap().benchmarks[1].metrics.insert("syncs".into(), figure(before));
    let report = paired(&record);
    assert_eq!(report.outcome, outcome, "{report:#?}");
}

#[test]
fn counts_are_held_against_the_base_and_the_accepted_figures() {
    let mut record = against_base(0.0);
    set(&mut record, 1, "syncs", 4.0);
    let report = judged(&record);
    let regressed: Vec<Against> = report
        .rows
        .iter()
        .filter(|row| row.judgement.verdict == Verdict::Regressed)
        .map(|row| row.against)
        .collect();
    assert_eq!(regressed, [Against::Base, Against::Baseline]);
    // The rounds say more of times than figures of another day.
    let times = report.rows.iter().filter(|row| row.metric.as_deref() == Some("wall-time"));
    assert!(times.clone().all(|row| row.against == Against::Base) && times.count() == 3);
}

#[test]
fn a_size_is_held_against_the_base_and_not_against_another_program() {
    let mut record = against_base(0.0);
    set(&mut record, 1, "peak", 2e6);
    let sizes = |report: &GateReport| -> Vec<(Against, Verdict)> {
        let rows = report.rows.iter().filter(|row| row.metric.as_deref() == Some("peak"));
        rows.filter(|row| row.benchmark == "w/c/optimized")
            .map(|r| (r.against, r.judgement.verdict))
            .collect()
    };
    assert_eq!(sizes(&judged(&record)), [(Against::Base, Verdict::Regressed)]);
    record.base = None;
    assert_eq!(sizes(&judged(&record)), [(Against::Baseline, Verdict::Regressed)]);
}

/// A driver allocates as it likes in the process that it is loaded into.
#[rstest]
#[case::without_a_gpu(None, 1001.0, Verdict::Regressed)]
#[case::with_a_driver(Some(5.0), 1001.0, Verdict::Unchanged)]
#[case::more_than_a_driver_does(Some(5.0), 1200.0, Verdict::Regressed)]
fn heap_counts_beside_a_driver_have_little_noise(
    #[case] busy: Option<f64>,
    #[case] now: f64,
    #[case] verdict: Verdict,
) {
    let mut record = against_base(0.0);
    record.metrics.extend(standard::heap_metrics());
    let allocations = |value: f64| serde_json::from_value(metric("count", "exact", &[value; 8])).unwrap();
    let base = record.base.as_mut().unwrap();
    let sides = [(&mut record.benchmarks, now), (&mut base.benchmarks, 1000.0)];
    for (benchmarks, value) in sides {
        benchmarks[1].metrics.insert(standard::HEAP_ALLOCATIONS.into(), allocations(value));
        if let Some(busy) = busy {
            let busy = serde_json::from_value(metric("ns", "time", &[busy; 8])).unwrap();
            benchmarks[1].metrics.insert(GPU_BUSY.into(), busy);
        }
    }
    let report = paired(&record);
    assert_eq!(
        row(&report, "optimized", standard::HEAP_ALLOCATIONS).judgement.verdict,
        verdict,
        "{report:#?}"
    );
}

#[test]
fn too_few_launches_are_undecided() {
    let mut record = against_base(0.0);
    for comparison in &mut record.base.as_mut().unwrap().comparisons {
        comparison.estimate = serde_json::from_value::<Estimate>(estimate(0.0, 4)).unwrap();
    }
    assert_eq!(paired(&record).outcome, GateOutcome::Undecided);
}

#[test]
fn the_worst_comes_first() {
    let mut record = record();
    set(&mut record, 1, "syncs", 4.0);
    record.benchmarks[2].outcome = Outcome::new(OutcomeKind::Crashed, "oops");
    let report = judged(&record);
    let verdicts: Vec<Verdict> = report.rows.iter().map(|row| row.judgement.verdict).collect();
    assert_eq!(verdicts[..2], [Verdict::Failed, Verdict::Regressed]);
}

#[test]
fn five_hundred_benchmarks_are_judged_soon() {
    let mut record = record();
    let mut baseline = baseline();
    let (benchmark, mut entry) = (record.benchmarks[1].clone(), baseline.benchmarks[0].clone());
    // None of them is compared with another.
    entry.metrics.remove(SPEED_UP);
    let ids: Vec<BenchmarkId> = (0..500).map(|n| format!("w/c/v{n:03}").parse().unwrap()).collect();
    let variant = record.workloads[0].variants[1].clone();
    record.workloads[0].variants = ids
        .iter()
        .map(|id| perfharness_contract::VariantDef { id: id.variant.clone(), ..variant.clone() })
        .collect();
    record.benchmarks =
        ids.iter().map(|id| BenchmarkRecord { id: id.clone(), ..benchmark.clone() }).collect();
    baseline.benchmarks =
        ids.iter().map(|id| crate::baseline::Entry { id: id.clone(), ..entry.clone() }).collect();
    let start = perfharness_platform::clock::monotonic_ns();
    let report = judged_with(&record, Some(&baseline), &GatePolicy::default());
    let took = perfharness_platform::clock::monotonic_ns() - start;
    assert_eq!(report.outcome, GateOutcome::Ok);
    assert!(report.rows.len() >= 2500, "{}", report.rows.len());
    // In release it takes some 10 ms; this is a debug build on a machine that may do something else.
    assert!(took < 5_000_000_000, "{took} ns");
}

/// Gives the workload the metric of heap growth, and each benchmark these figures of it.
fn with_growth(mut record: RunRecord, launches: &[f64]) -> RunRecord {
    let growth = standard::heap_metrics().into_iter().find(|metric| metric.id == standard::HEAP_GROWTH);
    record.workloads[0].metrics.extend(growth);
    let varies = launches.iter().any(|value| *value != launches[0]);
    let kind = if varies { "size" } else { "exact" };
    let mut figure: MetricRecord = serde_json::from_value(metric("bytes", kind, launches)).unwrap();
    figure.demoted = varies;
    for benchmark in &mut record.benchmarks {
        benchmark.metrics.insert(standard::HEAP_GROWTH.into(), figure.clone());
    }
    record
}

#[test]
fn growth_that_the_baseline_does_not_know_yet_has_no_baseline_and_fails_nothing() {
    let report = judged(&with_growth(record(), &[0.0, 0.0]));
    assert_eq!(report.outcome, GateOutcome::Ok, "{report:#?}");
    let row = row(&report, "optimized", standard::HEAP_GROWTH);
    assert_eq!(row.judgement.verdict, Verdict::NoBaseline);
    // Also where it leaks already.
    assert_eq!(judged(&with_growth(record(), &[1024.0, 1024.0])).outcome, GateOutcome::Ok);
}

#[rstest]
#[case::none(&[0.0, 0.0], &[0.0, 0.0], GateOutcome::Ok)]
#[case::a_leak(&[0.0, 0.0], &[1024.0, 1024.0], GateOutcome::Regressed)]
#[case::a_byte(&[0.0, 0.0], &[1.0, 1.0], GateOutcome::Regressed)]
#[case::a_leak_that_went(&[1024.0, 1024.0], &[0.0, 0.0], GateOutcome::Ok)]
#[case::a_leak_beside_what_varies(&[-64.0, 64.0], &[960.0, 1088.0], GateOutcome::Regressed)]
#[case::a_vector_that_grows_now_and_then(&[0.0, 0.0, 0.0], &[0.0, 32_768.0, 0.0], GateOutcome::Ok)]
#[case::and_did_before(&[0.0, 65_536.0, 0.0], &[32_768.0, 0.0, 0.0], GateOutcome::Ok)]
#[case::little_beside_what_varies(&[-64.0, 64.0], &[200.0, 328.0], GateOutcome::Ok)]
fn a_leak_is_found_by_its_count_where_no_time_moved(
    #[case] before: &[f64],
    #[case] now: &[f64],
    #[case] outcome: GateOutcome,
) {
    let runs = [with_growth(run("r0", 1.0), before), with_growth(run("r1", 1.001), before)];
    let terms = AcceptTerms { only: &[], reason: "first", when: "2026-02-01T00:00:00Z".into() };
    let baseline = accept(&runs, None, &terms).unwrap().baseline;
    let report = judged_with(&with_growth(record(), now), Some(&baseline), &GatePolicy::default());
    assert_eq!(report.outcome, outcome, "{report:#?}");
    if outcome == GateOutcome::Regressed {
        let row = row(&report, "optimized", standard::HEAP_GROWTH);
        assert!(matches!(row.judgement.evidence, Evidence::Exact { .. } | Evidence::Size { .. }), "{row:#?}");
    }
}
