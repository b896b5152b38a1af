use serde::{Deserialize, Serialize};

use super::Judgement;

/// The outcome of a whole gate. Later variants take precedence over earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// No regression, shown at the stated thresholds.
    Ok,
    /// A row that can fail the gate stayed open.
    Undecided,
    /// No row that can fail the gate was compared, so that nothing was shown.
    NothingCompared,
    /// The change measures or judges something in another way than what it is held against.
    Redefined,
    /// A row regressed.
    Regressed,
    /// A benchmark failed or is gone.
    Failed,
}

impl GateOutcome {
    /// The outcome of a gate with these rows. The order of the rows makes no difference.
    pub fn of<'a>(rows: impl IntoIterator<Item = &'a Judgement>) -> Self {
        let mut compared = false;
        let mut worst = Self::Ok;
        for row in rows {
            compared |= row.gates() && row.compared();
            worst = worst.max(row.outcome());
        }
        if compared { worst } else { worst.max(Self::NothingCompared) }
    }

    /// The exit code that stands for it. 1 and 2 are those of a harness that failed before there was an outcome.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Regressed => 3,
            Self::Undecided | Self::NothingCompared | Self::Redefined => 4,
            Self::Failed => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::judge::Evidence;
    use crate::judge::{Advisory, Direction, Reason, SizePolicy, Verdict, judge_size};

    fn compared(verdict: Verdict) -> Judgement {
        let size = judge_size(1.0, 1.0, SizePolicy::BYTES, Direction::Lower).unwrap();
        Judgement { verdict, reason: Reason::AcrossThreshold, ..size }
    }

    fn absent(verdict: Verdict) -> Judgement {
        Judgement::new(verdict, Reason::New, Evidence::None)
    }

    #[test]
    fn the_precedence_of_the_exit_codes_is_five_three_four_zero() {
        let mut all = [
            GateOutcome::Ok,
            GateOutcome::Regressed,
            GateOutcome::Undecided,
            GateOutcome::NothingCompared,
            GateOutcome::Failed,
            GateOutcome::Redefined,
        ];
        all.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(all.map(GateOutcome::exit_code), [5, 3, 4, 4, 4, 0]);
    }

    #[rstest]
    #[case::no_row(vec![], GateOutcome::NothingCompared)]
    #[case::only_new(vec![absent(Verdict::NoBaseline)], GateOutcome::NothingCompared)]
    #[case::only_skipped(vec![absent(Verdict::Inconclusive)], GateOutcome::NothingCompared)]
    #[case::only_missing(vec![absent(Verdict::Failed)], GateOutcome::Failed)]
    #[case::only_advisory(
        vec![compared(Verdict::Unchanged).advise(Advisory::OtherMachineClass)],
        GateOutcome::NothingCompared
    )]
    #[case::unchanged(vec![compared(Verdict::Unchanged)], GateOutcome::Ok)]
    #[case::unchanged_and_new(
        vec![compared(Verdict::Unchanged), absent(Verdict::NoBaseline)],
        GateOutcome::Ok
    )]
    #[case::one_open(
        vec![compared(Verdict::Unchanged), compared(Verdict::Inconclusive)],
        GateOutcome::Undecided
    )]
    #[case::regressed_before_open(
        vec![compared(Verdict::Inconclusive), compared(Verdict::Regressed)],
        GateOutcome::Regressed
    )]
    #[case::redefined_before_open(
        vec![compared(Verdict::Inconclusive), absent(Verdict::Redefined)],
        GateOutcome::Redefined
    )]
    #[case::regressed_before_redefined(
        vec![compared(Verdict::Regressed), absent(Verdict::Redefined)],
        GateOutcome::Regressed
    )]
    #[case::failed_before_regressed(
        vec![compared(Verdict::Regressed), absent(Verdict::Failed), compared(Verdict::Improved)],
        GateOutcome::Failed
    )]
    #[case::advisory_regression(
        vec![compared(Verdict::Improved), compared(Verdict::Regressed).advise(Advisory::Diagnosis)],
        GateOutcome::Ok
    )]
    fn the_worst_row_decides_and_nothing_compared_is_never_ok(
        #[case] mut rows: Vec<Judgement>,
        #[case] outcome: GateOutcome,
    ) {
        assert_eq!(GateOutcome::of(&rows), outcome);
        rows.reverse();
        assert_eq!(GateOutcome::of(&rows), outcome);
    }
}
