use serde::{Deserialize, Serialize};

use super::{Confirmation, Evidence, GateOutcome, PairedEvidence, Why};

/// The conclusion from a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Worse, beyond the noise, and by at least the threshold.
    Regressed,
    /// Better, beyond the noise, and by at least the threshold.
    Improved,
    /// No change as large as what the row could have seen.
    Unchanged,
    /// A change that linking the same object code in another order makes, too: shown, and never a failure.
    Placement,
    /// The data leave it open.
    Inconclusive,
    /// There is nothing to compare with.
    NoBaseline,
    /// It is measured or judged in another way than what it is held against.
    Redefined,
    /// The benchmark has no figure because it failed, or is gone.
    Failed,
}

impl Verdict {
    /// Its stable name, the one that it has in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Improved => "improved",
            Self::Unchanged => "unchanged",
            Self::Placement => "placement",
            Self::Inconclusive => "inconclusive",
            Self::NoBaseline => "no-baseline",
            Self::Redefined => "redefined",
            Self::Failed => "failed",
        }
    }
}

/// The reason of a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum Reason {
    /// The change is beyond the threshold; with noise, its interval is also beyond zero.
    BeyondThreshold,
    /// The change is within the threshold on both sides; with noise, its upper bound is within what the row could have
    /// seen.
    WithinThreshold,
    /// The upper bound exceeds what the row could have seen: it may be a regression.
    AcrossThreshold,
    /// The row could not have seen a change that it must be able to see.
    CouldNotSee {
        /// The smallest change that it could have seen, as a log-ratio.
        could_see: f64,
        /// The change that it must be able to see, as a log-ratio.
        must_see: f64,
    },
    /// The change is no larger than the spread of the times that the same object code has when it is linked in other
    /// orders.
    WithinLayouts {
        /// That spread, as a log-ratio.
        spread: f64,
    },
    /// The time cannot tell, and the instructions did not change.
    SameInstructions,
    /// The change is no larger than what the layout of code may do, which could not be varied, and the instructions are
    /// the same.
    MaybeLayout {
        /// The change that layout may make, as a log-ratio.
        spread: f64,
    },
    /// The interval excludes a regression, but not that it is an improvement or no change. Only in files of earlier
    /// versions.
    NotWorse,
    /// Too few launches for any verdict.
    TooFewLaunches {
        /// The launches that were measured.
        launches: usize,
        /// The launches that are needed.
        needed: usize,
    },
    /// So many blocks were dropped that the rest may not stand for the whole.
    TooMuchDropped {
        /// The blocks that were dropped.
        dropped: usize,
        /// The blocks that were measured, dropped ones among them.
        blocks: usize,
    },
    /// All launches agree to the last digit, as times never do: the clock is too coarse.
    NoSpread,
    /// Flagged at first, and fresh launches did not show it beyond doubt.
    NotConfirmed,
    /// The figures cannot be judged.
    Unusable {
        /// The fault in them.
        why: Why,
    },
    /// It is expected, and was not there.
    Missing,
    /// It is expected, and there under another id.
    Renamed {
        /// The id that it has now.
        to: String,
    },
    /// It is expected, and was skipped.
    Skipped {
        /// The cause.
        why: Why,
    },
    /// It is expected and was there, but left no sample.
    NoSamples,
    /// It ended in another way than expected.
    Failed {
        /// The way in which it ended.
        why: Why,
    },
    /// It is not expected: nothing was accepted for it yet.
    New,
    /// It is defined in another way than what it would be compared with, so that figures of both mean different things.
    Redefined {
        /// The definition of the baseline.
        from: u32,
        /// The definition now.
        to: u32,
    },
    /// The change measures or judges it in another way, so that it decides itself what is found.
    Changed {
        /// The differences.
        what: Vec<Why>,
    },
    /// Everything that is loaded is byte for byte that of the baseline, so that nothing can differ.
    Identical,
}

/// The reason for which a judgement is shown but cannot fail the gate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum Advisory {
    /// Calibration says that this machine cannot see a change as large as the threshold. Only in files of earlier versions.
    TooNoisy {
        /// The smallest effect that this machine tells from no change, as a log-ratio.
        smallest_detectable: f64,
    },
    /// The baseline is made of too few runs.
    FewRuns {
        /// The runs that it has.
        runs: usize,
        /// The runs that it needs.
        needed: usize,
    },
    /// The baseline comes from another machine class.
    OtherMachineClass,
    /// The benchmark is an exhibit, kept slow on purpose.
    Exhibit,
    /// Another metric of the benchmark is the one that counts; this one helps to explain it.
    Diagnosis,
    /// A ratio of something that computes on one core and something that computes on all of them, at different times: what
    /// else ran meanwhile weighs on the two differently.
    UnevenSides,
    /// It does more work, and its time surely did not grow by as much as matters.
    NotSlower,
    /// The time is one of a software adapter and shows too little; the counts of the benchmark decide.
    SoftwareAdapter,
    /// Somebody accepted it, up to a bound that holds.
    Acknowledged {
        /// The reason that was given.
        reason: String,
    },
}

/// A verdict with everything that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// The reason of the verdict.
    pub reason: Reason,
    /// The figures behind it.
    pub evidence: Evidence,
    /// The reasons for which it cannot fail the gate; empty where it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advisory: Vec<Advisory>,
    /// True if somebody accepted less than this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond_acknowledged: bool,
    /// The fate of the first flag, where fresh launches were measured for one. The evidence is then theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

impl Judgement {
    /// Passes a time that cannot tell, because the instructions of the benchmark did not change.
    #[must_use]
    pub fn with_same_instructions(self) -> Self {
        Self { verdict: Verdict::Unchanged, reason: Reason::SameInstructions, ..self }
    }

    /// Takes a time that got worse for a matter of [`placement`](Verdict::Placement), if it is no larger than this
    /// log-ratio.
    #[must_use]
    pub fn with_layout_up_to(self, spread: f64) -> Self {
        let is_within = self.evidence.effect().is_some_and(|effect| effect.abs() <= spread);
        if self.verdict == Verdict::Regressed && is_within {
            Self { verdict: Verdict::Placement, reason: Reason::MaybeLayout { spread }, ..self }
        } else {
            self
        }
    }

    /// Whether it is a time that was measured and cannot tell: on a calmer machine it might.
    pub fn cannot_tell(&self) -> bool {
        let is_noise = matches!(
            self.reason,
            Reason::AcrossThreshold | Reason::CouldNotSee { .. } | Reason::NotConfirmed
        );
        self.verdict == Verdict::Inconclusive && is_noise
    }

    /// True for a time that surely got worse by less than half of the `growth` of the instructions, a share, and by
    /// less than matters.
    pub fn surely_not_slower(&self, growth: f64) -> bool {
        let Evidence::TimePaired(PairedEvidence { ratio_interval: Some(interval), threshold, .. }) =
            &self.evidence
        else {
            return false;
        };
        matches!(self.verdict, Verdict::Unchanged | Verdict::Improved)
            && interval.upper <= 1.0 + threshold.min(growth / 2.0)
    }

    pub(crate) fn new(verdict: Verdict, reason: Reason, evidence: Evidence) -> Self {
        Self {
            verdict,
            reason,
            evidence,
            advisory: Vec::new(),
            beyond_acknowledged: false,
            confirmation: None,
        }
    }

    /// The judgement of a program that is byte for byte that of the baseline: unchanged.
    pub fn identical(digest: impl Into<String>) -> Self {
        Self::new(Verdict::Unchanged, Reason::Identical, Evidence::Identical { digest: digest.into() })
    }

    /// The judgement of something that a change defines in another version than before.
    pub fn redefined(from: u32, to: u32) -> Self {
        Self::new(Verdict::Redefined, Reason::Redefined { from, to }, Evidence::None)
    }

    /// The judgement of something that was defined in another version when figures of it were accepted, and that the
    /// change leaves as it is: there is no baseline for it yet.
    pub fn outdated(from: u32, to: u32) -> Self {
        Self::new(Verdict::NoBaseline, Reason::Redefined { from, to }, Evidence::None)
    }

    /// The judgement of something that a change measures or judges in another way than its base.
    pub fn changed<W: Into<Why>>(what: impl IntoIterator<Item = W>) -> Self {
        let what = what.into_iter().map(Into::into).collect();
        Self::new(Verdict::Redefined, Reason::Changed { what }, Evidence::None)
    }

    /// The judgement of something that ended in another way than expected.
    pub fn failed(why: impl Into<Why>) -> Self {
        Self::new(Verdict::Failed, Reason::Failed { why: why.into() }, Evidence::None)
    }

    /// The judgement of something that is expected and was not measured: inconclusive.
    pub fn skipped(why: impl Into<Why>) -> Self {
        Self::new(Verdict::Inconclusive, Reason::Skipped { why: why.into() }, Evidence::None)
    }

    /// The judgement of something that has nothing to be compared with, for this reason.
    pub fn no_baseline(why: impl Into<Why>) -> Self {
        Self::new(Verdict::NoBaseline, Reason::Unusable { why: why.into() }, Evidence::None)
    }

    /// The judgement of figures that cannot be judged, such as samples without an estimate: inconclusive.
    pub fn unusable(why: impl Into<Why>) -> Self {
        Self::new(Verdict::Inconclusive, Reason::Unusable { why: why.into() }, Evidence::None)
    }

    /// The same comparison of times that are not believed, which decides nothing.
    #[must_use]
    pub fn doubt(self, why: Why) -> Self {
        Self { verdict: Verdict::Inconclusive, reason: Reason::Unusable { why }, ..self }
    }

    /// Whether its times are not believed.
    pub fn is_suspect(&self) -> bool {
        matches!(self.reason, Reason::Unusable { why: Why::Suspect(_) | Why::BaseSuspect(_) })
    }

    /// The same judgement, which cannot fail the gate.
    #[must_use]
    pub fn advise(mut self, why: Advisory) -> Self {
        if !self.advisory.contains(&why) {
            self.advisory.push(why);
        }
        self
    }

    /// Whether it can fail the gate. A benchmark that failed always can, because no noise explains that.
    pub fn gates(&self) -> bool {
        self.advisory.is_empty() || self.verdict == Verdict::Failed
    }

    /// The judgement of a time that could not see what it must, where another metric of the same benchmark could:
    /// unchanged. Any other stays as it is.
    #[must_use]
    pub fn seen_by_another(self) -> Self {
        match self.reason {
            Reason::CouldNotSee { .. } => {
                Self { verdict: Verdict::Unchanged, reason: Reason::WithinThreshold, ..self }
            }
            _ => self,
        }
    }

    /// Whether figures were compared. Neither a benchmark that was not there nor one without a baseline was.
    pub fn compared(&self) -> bool {
        self.evidence != Evidence::None
    }

    /// Whether it is flagged by a time and has to be measured again before it counts.
    pub fn needs_confirmation(&self) -> bool {
        self.verdict == Verdict::Regressed
            && self.gates()
            && self.confirmation.is_none()
            && matches!(self.evidence, Evidence::TimePaired(_) | Evidence::TimeUnpaired(_))
    }

    /// The outcome that it gives the gate.
    pub fn outcome(&self) -> GateOutcome {
        if !self.gates() {
            return GateOutcome::Ok;
        }
        match self.verdict {
            Verdict::Failed => GateOutcome::Failed,
            Verdict::Regressed => GateOutcome::Regressed,
            Verdict::Redefined => GateOutcome::Redefined,
            // With `NotWorse` it is open how good it is, but not that it is good enough.
            Verdict::Inconclusive if self.reason != Reason::NotWorse => GateOutcome::Undecided,
            Verdict::Inconclusive
            | Verdict::Improved
            | Verdict::Unchanged
            | Verdict::Placement
            | Verdict::NoBaseline => GateOutcome::Ok,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn plain(verdict: Verdict) -> Judgement {
        Judgement::new(verdict, Reason::BeyondThreshold, Evidence::None)
    }

    #[rstest]
    #[case::regressed(Verdict::Regressed, GateOutcome::Regressed, GateOutcome::Ok)]
    #[case::improved(Verdict::Improved, GateOutcome::Ok, GateOutcome::Ok)]
    #[case::unchanged(Verdict::Unchanged, GateOutcome::Ok, GateOutcome::Ok)]
    #[case::placement(Verdict::Placement, GateOutcome::Ok, GateOutcome::Ok)]
    #[case::inconclusive(Verdict::Inconclusive, GateOutcome::Undecided, GateOutcome::Ok)]
    #[case::no_baseline(Verdict::NoBaseline, GateOutcome::Ok, GateOutcome::Ok)]
    #[case::redefined(Verdict::Redefined, GateOutcome::Redefined, GateOutcome::Ok)]
    #[case::failed(Verdict::Failed, GateOutcome::Failed, GateOutcome::Failed)]
    fn an_advisory_judgement_fails_no_gate_unless_the_benchmark_failed(
        #[case] verdict: Verdict,
        #[case] outcome: GateOutcome,
        #[case] advisory: GateOutcome,
    ) {
        assert_eq!(plain(verdict).outcome(), outcome);
        assert_eq!(plain(verdict).advise(Advisory::OtherMachineClass).outcome(), advisory);
    }

    #[test]
    fn an_open_row_that_excludes_a_regression_is_good_enough() {
        let row = Judgement::new(Verdict::Inconclusive, Reason::NotWorse, Evidence::None);
        assert_eq!(row.outcome(), GateOutcome::Ok);
    }

    #[test]
    fn advice_is_given_once() {
        let advice = || Advisory::FewRuns { runs: 2, needed: 5 };
        let row = plain(Verdict::Unchanged).advise(advice()).advise(advice()).advise(Advisory::Exhibit);
        assert_eq!(row.advisory, [advice(), Advisory::Exhibit]);
    }

    #[test]
    fn names_in_json_are_stable() {
        let all = [
            Verdict::Regressed,
            Verdict::Improved,
            Verdict::Unchanged,
            Verdict::Placement,
            Verdict::Inconclusive,
            Verdict::NoBaseline,
            Verdict::Redefined,
            Verdict::Failed,
        ];
        assert_eq!(
            serde_json::to_string(&all).unwrap(),
            r#"["regressed","improved","unchanged","placement","inconclusive","no-baseline","redefined","failed"]"#
        );
        assert_eq!(
            serde_json::to_string(&all.map(Verdict::name)).unwrap(),
            serde_json::to_string(&all).unwrap()
        );
        let row = Judgement::unusable("no samples").advise(Advisory::FewRuns { runs: 2, needed: 5 });
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            concat!(
                r#"{"verdict":"inconclusive","reason":{"because":"unusable","why":"no samples"},"#,
                r#""evidence":{"by":"none"},"advisory":[{"because":"few-runs","runs":2,"needed":5}]}"#
            )
        );
    }
}
