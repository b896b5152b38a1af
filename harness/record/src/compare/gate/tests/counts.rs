//! Times beside instructions of the same benchmark.

use super::*;
use crate::compare::GrownFunction;
use crate::{Counting, LayoutRecord, MetricRecord};

/// Two builds, `other` of which has these instructions in base and head.
fn counted(mut record: RunRecord, instructions: [f64; 2]) -> RunRecord {
    let [base, head] = instructions.map(|instructions| {
        let counted = metric("count", "size", &[instructions]);
        serde_json::from_value::<MetricRecord>(counted).unwrap()
    });
    other(&mut record).metrics.insert(standard::INSTRUCTIONS.into(), head);
    base_other(&mut record).metrics.insert(standard::INSTRUCTIONS.into(), base);
    record
}

fn other(record: &mut RunRecord) -> &mut BenchmarkRecord {
    &mut record.benchmarks[2]
}

fn base_other(record: &mut RunRecord) -> &mut BenchmarkRecord {
    &mut record.base.as_mut().unwrap().benchmarks[2]
}

/// Verdict and reason of the wall time of `other`.
fn time(record: &RunRecord) -> (Verdict, Reason) {
    let report = paired(record);
    let judgement = &row(&report, "other", "wall-time").judgement;
    (judgement.verdict, judgement.reason.clone())
}

#[test]
fn instructions_decide_where_the_time_cannot_tell() {
    let equal = counted(blind(), [1e6, 1e6]);
    assert_eq!(time(&equal), (Verdict::Unchanged, Reason::SameInstructions));
    let more = paired(&counted(blind(), [1e6, 1.02e6]));
    assert_eq!(row(&more, "other", "instructions").judgement.verdict, Verdict::Regressed);
    assert_eq!(more.outcome, GateOutcome::Regressed);
}

#[test]
fn instructions_that_varied_or_a_program_that_waits_excuse_no_time() {
    let equal = || counted(blind(), [1e6, 1e6]);
    let open = |record: &RunRecord| assert_eq!(time(record).0, Verdict::Inconclusive);
    let mut varied = equal();
    other(&mut varied).metrics.get_mut("instructions").unwrap().demoted = true;
    open(&varied);
    let mut varied = equal();
    base_other(&mut varied).metrics.get_mut("instructions").unwrap().demoted = true;
    open(&varied);
    let mut waits = equal();
    set(&mut waits, 2, "cpu-time", 400.0);
    open(&waits);
    // Half of its time is a wait that the base does not have.
    let mut waits_more = equal();
    set(&mut waits_more, 2, "wall-time", 1900.0);
    open(&waits_more);
    // Neither does a slowdown that was seen need more instructions.
    assert_eq!(time(&counted(against_base(0.3), [1e6, 1e6])).0, Verdict::Regressed);
}

#[test]
fn more_instructions_that_take_no_longer_are_advisory() {
    let advisory = |record: &RunRecord| {
        let report = paired(record);
        row(&report, "other", "instructions").judgement.advisory.contains(&Advisory::NotSlower)
    };
    assert!(advisory(&counted(against_base(0.0), [1e6, 1.1e6])));
    assert!(!advisory(&counted(blind(), [1e6, 1.1e6])));
    // The time is 0.4 ± 0.2 % longer, which may be half of what the instructions are.
    assert!(!advisory(&counted(against_base(0.004), [1e6, 1.0115e6])));
    assert!(advisory(&counted(against_base(0.004), [1e6, 1.0125e6])));
}

#[test]
fn the_layout_of_code_may_be_all_of_a_slowdown_with_the_same_instructions_where_nobody_varied_it() {
    let slower = |theta, instructions| counted(against_base(theta), [1e6, instructions]);
    let placement = (Verdict::Placement, Reason::MaybeLayout { spread: 0.25_f64.ln_1p() });
    assert_eq!(time(&slower(0.2, 1e6 + 100.0)), placement);
    assert_eq!(
        paired(&slower(0.2, 1e6)).outcome,
        GateOutcome::Regressed,
        "of the other variant, with no counts"
    );
    assert_eq!(time(&slower(0.23, 1e6)).0, Verdict::Regressed, "that is more than layout may do");
    assert_eq!(time(&slower(0.2, 1e6 + 2_000.0)).0, Verdict::Regressed, "these are other instructions");
    let mut waits_more = slower(0.2, 1e6);
    set(&mut waits_more, 2, "wall-time", 1200.0);
    assert_eq!(time(&waits_more).0, Verdict::Regressed, "its processor time is the same");
    let mut known = slower(0.2, 1e6);
    let layouts = json!({
        "benchmark": "w/c/other",
        "base": {"ns": [1000.0, 1000.0], "kept": [0, 1], "spread": 0.0},
        "head": {"ns": [1200.0, 1200.0], "kept": [0, 1], "spread": 0.0},
        "explained": 0.0, "launches": 3, "seconds": 1.0,
    });
    let layouts: LayoutRecord = serde_json::from_value(layouts).unwrap();
    known.base.as_mut().unwrap().layouts.push(layouts);
    assert_eq!(time(&known).0, Verdict::Regressed, "its layouts do not differ");
}

/// A run on a machine of this class, with `other` counted.
fn on_machine(class: &str, instructions: f64) -> RunRecord {
    let mut record = run("r", 1.0);
    record.machine.class = class.into();
    record.machine.facts.insert("arch".into(), "x86_64".into());
    record.counting = Some(Counting::By { tool: "valgrind 3.19.0".into(), seconds: 1.0 });
    let figure = serde_json::from_value(metric("count", "size", &[instructions])).unwrap();
    other(&mut record).metrics.insert(standard::INSTRUCTIONS.into(), figure);
    record
}

#[test]
fn instructions_are_held_against_those_of_another_machine_if_they_were_counted_alike() {
    let terms = AcceptTerms { only: &[], reason: "first", when: "2026-02-01T00:00:00Z".into() };
    let accepted = accept(&[on_machine("here", 1e6)], None, &terms).unwrap().baseline;
    let judged = |record: &RunRecord| {
        let report = judged_with(record, Some(&accepted), &GatePolicy::default());
        row(&report, "other", "instructions").judgement.clone()
    };
    assert_eq!(judged(&on_machine("elsewhere", 1.001e6)).verdict, Verdict::Unchanged);
    let more = judged(&on_machine("elsewhere", 1.05e6));
    assert!(more.verdict == Verdict::Regressed && more.gates(), "{more:?}");

    let mut corrected = on_machine("elsewhere", 1.05e6);
    corrected.counting = Some(Counting::By { tool: "valgrind 3.19.2".into(), seconds: 1.0 });
    assert_eq!(judged(&corrected).verdict, Verdict::Regressed);
    let mut newer = on_machine("elsewhere", 1.05e6);
    newer.counting = Some(Counting::By { tool: "valgrind 3.20.0".into(), seconds: 1.0 });
    let mut other_cpu = on_machine("elsewhere", 1.05e6);
    other_cpu.machine.facts.insert("cpu-features".into(), "avx2".into());
    for (record, fact) in [(newer, "tool"), (other_cpu, "cpu-features")] {
        let judgement = judged(&record);
        assert!(!judgement.gates(), "{judgement:?}");
        assert!(format!("{:?}", judgement.reason).contains(&format!("name: \"{fact}\"")), "{judgement:?}");
    }
}

#[test]
fn accepted_instructions_that_varied_excuse_no_time() {
    let terms = AcceptTerms { only: &[], reason: "first", when: "2026-02-01T00:00:00Z".into() };
    let time = |accepted: [f64; 5]| {
        let runs: Vec<RunRecord> = accepted
            .iter()
            .enumerate()
            .map(|(at, count)| {
                let mut record = on_machine("here", *count);
                record.run.id = format!("r{at}");
                // Times that scatter so much say nothing.
                set(&mut record, 2, "wall-time", 1000.0 * 1.5_f64.powi(at as i32));
                record
            })
            .collect();
        let baseline = accept(&runs, None, &terms).unwrap().baseline;
        let report = judged_with(&on_machine("here", 1e6), Some(&baseline), &GatePolicy::default());
        row(&report, "other", "wall-time").judgement.clone()
    };
    assert_eq!(time([1e6; 5]).reason, Reason::SameInstructions);
    let varied = time([0.9e6, 1e6, 1e6, 1e6, 1.1e6]);
    assert_ne!(varied.reason, Reason::SameInstructions, "{varied:?}");
}

#[test]
fn a_function_that_grew_in_several_benchmarks_is_one_remark() {
    let report = paired(&against_base(0.2));
    let mut rows = report.rows;
    let grown = |name: &str| GrownFunction { name: name.into(), before: Number(1.0), now: Number(2.0) };
    for row in &mut rows {
        let more = if row.benchmark == "w/c/slow" { "own" } else { "walk" };
        row.functions = vec![grown(more), grown("after")];
    }
    let due = Remark::SharedFunction {
        function: "walk".into(),
        benchmarks: vec!["w/c/optimized".into(), "w/c/other".into()],
    };
    assert_eq!(shared_functions(&rows), [due]);
}
