//! Times beside instructions of the same benchmark.

use super::*;
use crate::MetricRecord;

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
    // Neither does a slowdown that was seen need more instructions.
    assert_eq!(time(&counted(against_base(0.2), [1e6, 1e6])).0, Verdict::Regressed);
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
