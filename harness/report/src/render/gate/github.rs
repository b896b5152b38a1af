//! The report of a gate as annotations of GitHub Actions.

use perfharness_record::compare::{GateReport, Row};
use perfharness_record::plain_text::plain;
use perfharness_record::units;
use perfharness_verdict::judge::{GateOutcome, Verdict};

use crate::render::words::{self, Weight};

/// Largest number of annotations of a kind that GitHub keeps for a step; it silently drops the others.
const MOST_OF_A_KIND: usize = 10;

const TITLE: &str = "perfharness";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Error,
    Warning,
    Notice,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Error, Self::Warning, Self::Notice];

    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }

    fn of_outcome(outcome: GateOutcome) -> Self {
        match outcome {
            GateOutcome::Ok => Self::Notice,
            GateOutcome::Undecided => Self::Warning,
            // A gate that compared nothing must not look like noise.
            GateOutcome::NothingCompared
            | GateOutcome::Redefined
            | GateOutcome::Regressed
            | GateOutcome::Failed => Self::Error,
        }
    }

    /// Returns the kind of annotation; `None` if nobody needs the row beside the code.
    fn of_row(row: &Row) -> Option<Self> {
        match Weight::of(row) {
            Weight::Decides => Some(Self::of_outcome(row.judgement.outcome())),
            Weight::Tells => Some(match row.judgement.verdict {
                Verdict::Regressed => Self::Warning,
                _ => Self::Notice,
            }),
            Weight::New | Weight::Open | Weight::Unchanged => None,
        }
    }
}

struct Annotation {
    kind: Kind,
    title: String,
    message: String,
}

pub(super) fn render(report: &GateReport) -> String {
    let headline = Annotation {
        kind: Kind::of_outcome(report.outcome),
        title: TITLE.into(),
        message: format!(
            "{}: {}; {}",
            words::outcome(report.outcome),
            words::tally(report.tally()),
            words::held_against(report)
        ),
    };
    let of_row = |row: &Row| {
        let kind = Kind::of_row(row)?;
        let title = format!("{} {}", row.word(), row.name());
        let message = match Weight::of(row) {
            Weight::Decides => format!("{}\nmeasure it again: {}", words::sentence(row), row.reproduce),
            _ => words::sentence(row),
        };
        Some(Annotation { kind, title, message })
    };
    let annotations: Vec<Annotation> =
        std::iter::once(headline).chain(report.rows.iter().filter_map(of_row)).collect();
    let mut text = String::new();
    let mut left_out = Vec::new();
    for kind in Kind::ALL {
        let ours: Vec<&Annotation> = annotations.iter().filter(|a| a.kind == kind).collect();
        // The notice on left-out rows counts as a notice, too.
        let most = MOST_OF_A_KIND - usize::from(kind == Kind::Notice);
        ours.iter().take(most).for_each(|annotation| text.push_str(&annotation.line()));
        if ours.len() > most {
            left_out.push(units::counted(ours.len() - most, kind.name()));
        }
    }
    if !left_out.is_empty() {
        let message = format!("not shown as annotations: {}; the report has all rows", left_out.join(", "));
        text.push_str(&Annotation { kind: Kind::Notice, title: TITLE.into(), message }.line());
    }
    text
}

impl Annotation {
    fn line(&self) -> String {
        format!("::{} title={}::{}\n", self.kind.name(), property(&self.title), data(&self.message))
    }
}

/// Escapes the text of a command, which a line break would end.
fn data(text: &str) -> String {
    plain(text).replace('%', "%25").replace('\n', "%0A")
}

/// Escapes a property of a command, which a colon or a comma would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
