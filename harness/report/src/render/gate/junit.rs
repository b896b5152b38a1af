//! The report of a gate as `JUnit` XML.

use perfharness_record::compare::{GateReport, GateRow};
use perfharness_record::plain_text::plain;
use perfharness_verdict::judge::{GateOutcome, Verdict};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite, XmlString};

use crate::render::words;

pub(super) fn render(report: &GateReport) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("gate");
    let facts = [
        ("outcome", Some(words::outcome(report.outcome))),
        ("run", Some(&*report.run)),
        ("machine-class", Some(&*report.machine_class)),
        ("commit", report.commit.as_deref()),
        ("base-commit", report.base_commit.as_deref()),
        ("baseline-class", report.baseline.as_ref().map(|baseline| &*baseline.class)),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            suite.add_property((xml(name), xml(fact)));
        }
    }
    suite.add_test_cases(whole(report));
    suite.add_test_cases(report.rows.iter().map(case));
    let remarks = words::remarks(report);
    if !remarks.is_empty() {
        suite.set_system_out(xml(&remarks.join("\n")));
    }
    let mut whole = Report::new("perfharness");
    whole.add_test_suite(suite);
    whole.to_string()
}

/// The test case of the gate itself. Without it, a gate that compared nothing would be an empty suite, which passes.
fn whole(report: &GateReport) -> Option<TestCase> {
    if report.outcome != GateOutcome::NothingCompared {
        return None;
    }
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    let message = format!("{}: {}", words::outcome(report.outcome), words::held_against(report));
    status.set_message(xml(&message));
    let mut case = TestCase::new("something was compared", status);
    case.set_classname("gate");
    Some(case)
}

fn case(row: &GateRow) -> TestCase {
    let mut case = TestCase::new(xml(&words::subject(row)), status(row));
    case.set_classname(xml(&row.benchmark));
    if matches!(case.status, TestCaseStatus::Success { .. }) {
        case.set_system_out(xml(&words::sentence(row)));
    }
    case
}

fn status(row: &GateRow) -> TestCaseStatus {
    let mut status = match (row.judgement.outcome(), row.judgement.verdict) {
        (GateOutcome::Ok, Verdict::NoBaseline) => TestCaseStatus::skipped(),
        (GateOutcome::Ok, Verdict::Regressed | Verdict::Redefined | Verdict::Inconclusive)
            if !row.judgement.gates() =>
        {
            TestCaseStatus::skipped()
        }
        (GateOutcome::Ok, _) => TestCaseStatus::success(),
        (GateOutcome::Regressed | GateOutcome::Failed, _) => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        // The row is undecided, not wrong.
        (GateOutcome::Undecided | GateOutcome::Redefined | GateOutcome::NothingCompared, _) => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
    };
    let sentence = words::sentence(row);
    status.set_message(xml(&sentence));
    status.set_type(xml(row.word()));
    if let TestCaseStatus::NonSuccess { .. } = status {
        status.set_description(xml(&format!("{sentence}\nmeasure it again: {}", row.reproduce)));
    }
    status
}

/// Removes characters that XML cannot express; [`XmlString`] leaves two such characters.
fn xml(text: &str) -> XmlString {
    XmlString::new(plain(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}
