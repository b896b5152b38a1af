//! Correctness of results: the check of one side, and agreement between the sides.

use std::collections::BTreeMap;

use perfharness_contract::protocol::{CheckReply, Reading};
use perfharness_contract::{MetricDef, OutcomeKind};
use perfharness_record::Outcome;

use super::CheckStage;

/// Judges the check of one side. `passed` beside an error that is above its tolerance or not finite counts as wrong.
pub(super) fn judge(stage: CheckStage, reply: &CheckReply) -> Result<(), Outcome> {
    let check = &reply.check;
    let when = match stage {
        CheckStage::Before => "before timing",
        CheckStage::After => "after timing",
    };
    let wrong = |what: String| Err(Outcome::new(OutcomeKind::WrongResult, format!("{when}: {what}")));
    if !check.passed {
        let figures = match (check.error, check.tolerance) {
            (Some(error), Some(tolerance)) => {
                format!("error {} with a tolerance of {}", error.0, tolerance.0)
            }
            _ => "the result differs from the reference".into(),
        };
        return wrong(check.message.clone().unwrap_or(figures));
    }
    if let Some(error) = check.error.filter(|error| !error.0.is_finite()) {
        return wrong(format!("it says `passed` with the error {}", error.0));
    }
    if let (Some(error), Some(tolerance)) = (check.error, check.tolerance) {
        // NaN compares false, and so is refused too.
        let within = error.0 <= tolerance.0;
        if !within {
            return wrong(format!(
                "it says `passed` with error {} above its tolerance {}",
                error.0, tolerance.0
            ));
        }
    }
    Ok(())
}

/// Compares the input and the work of a side with those of its reference, for the same round and iteration.
pub(super) fn agree(
    reference: (&str, &CheckReply),
    side: &CheckReply,
    metrics: &[MetricDef],
) -> Result<(), Outcome> {
    let (name, reference) = reference;
    if let (Some(theirs), Some(ours)) = (&reference.check.input, &side.check.input)
        && theirs != ours
    {
        let reason = format!("the digest of its input differs from that of `{name}` in the same round");
        return Err(Outcome::new(OutcomeKind::WrongResult, reason));
    }
    same_work((name, &reference.readings), &side.readings, 1, metrics)
}

/// Compares the work counters of a side with those of its reference; both were counted over `iterations`.
pub(super) fn same_work(
    reference: (&str, &BTreeMap<String, Reading>),
    side: &BTreeMap<String, Reading>,
    iterations: u64,
    metrics: &[MetricDef],
) -> Result<(), Outcome> {
    let (name, reference) = reference;
    for metric in metrics.iter().filter(|m| m.work) {
        let value = |readings: &BTreeMap<String, Reading>| readings.get(metric.id.as_str())?.value();
        if let (Some(theirs), Some(ours)) = (value(reference), value(side))
            && theirs != ours
        {
            let reason = format!(
                "its work differs from that of `{name}`: {} {ours} against {theirs} in {iterations} iteration(s)",
                metric.label()
            );
            return Err(Outcome::new(OutcomeKind::WrongResult, reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use perfharness_contract::{Check, Digest, Number};

    use super::*;

    fn reply(check: Check) -> CheckReply {
        CheckReply { check, readings: BTreeMap::new() }
    }

    #[test]
    fn a_check_that_passed_is_right() {
        let check = Check {
            passed: true,
            error: Some(Number(0.1)),
            tolerance: Some(Number(0.1)),
            ..Check::default()
        };
        assert!(judge(CheckStage::Before, &reply(check)).is_ok());
        assert!(judge(CheckStage::After, &reply(Check { passed: true, ..Check::default() })).is_ok());
    }

    #[test]
    fn passed_is_not_believed_beside_figures_that_say_otherwise() {
        for error in [0.2, f64::NAN, f64::INFINITY] {
            let check = Check {
                passed: true,
                error: Some(Number(error)),
                tolerance: Some(Number(0.1)),
                ..Check::default()
            };
            let outcome = judge(CheckStage::Before, &reply(check)).unwrap_err();
            assert_eq!(outcome.kind, OutcomeKind::WrongResult);
        }
    }

    #[test]
    fn a_failed_check_says_when_and_why() {
        let outcome =
            judge(CheckStage::After, &reply(Check::wrong("value 3 is 1 where 2 is due"))).unwrap_err();
        assert_eq!(outcome.reason.as_deref(), Some("after timing: value 3 is 1 where 2 is due"));
    }

    #[test]
    fn sides_must_see_the_same_input_and_do_the_same_work() {
        let metrics = [MetricDef::work("records", "records")];
        let with = |input: &[u8], work: u64| CheckReply {
            check: Check { passed: true, input: Some(Digest::of(input)), ..Check::default() },
            readings: [("records".to_owned(), Reading::from(work))].into(),
        };
        let reference = with(b"a", 10);
        assert!(agree(("slow", &reference), &with(b"a", 10), &metrics).is_ok());
        assert!(agree(("slow", &reference), &with(b"b", 10), &metrics).is_err());
        let outcome = agree(("slow", &reference), &with(b"a", 9), &metrics).unwrap_err();
        assert!(outcome.reason.unwrap().contains("records 9 against 10"));
    }
}
