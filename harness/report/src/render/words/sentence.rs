//! The sentence of a judgement.

use perfharness_record::compare::{Against, GateRow};
use perfharness_record::plain_text::plain;
use perfharness_record::units;
use perfharness_verdict::Interval;
use perfharness_verdict::judge::{Advisory, End, Evidence, Reason, SPEED_UP, Suspicion, Verdict, Why};

/// Words the finding of a row and its reference, without a full stop. A row from a file keeps the words of the file.
///
/// Shares are those of the baseline: a time that falls from 100 to 88 is "12 % faster". The interval follows the word
/// before it, so that it is negative where the change might be the other way.
pub(in crate::render) fn sentence(row: &GateRow) -> String {
    if let Some(sentence) = &row.sentence {
        return sentence.clone();
    }
    let judgement = &row.judgement;
    let unit = row.unit.as_deref().unwrap_or("");
    let mut parts = match &judgement.evidence {
        Evidence::None | Evidence::Identical { .. } => vec![because(row)],
        Evidence::Exact { baseline, candidate, slack } => {
            let any = *slack == 0.0;
            let slack = units::value(unit, *slack);
            let limit = if any { "any change counts".into() } else { format!("more than {slack} counts") };
            vec![amount(*baseline, *candidate, unit), limit]
        }
        Evidence::Size { baseline, candidate, relative, margin, demoted } => {
            let limit = match percent(*relative) {
                share if *margin == 0.0 => share,
                share => format!("both {share} and {}", units::value(unit, *margin)),
            };
            let mut parts =
                vec![amount(*baseline, *candidate, unit), format!("a change beyond {limit} counts")];
            if *demoted {
                parts.push("judged as a size, because it varied between launches".into());
            }
            parts
        }
        Evidence::TimePaired(time) => {
            let launches = time.estimate.launches;
            let over = if launches == 1 { "1 launch".into() } else { format!("{launches} launches") };
            let found = format!("{} over {over}", effect(row, time.ratio, time.ratio_interval));
            let mut parts = timed(row, found, time.threshold, time.could_see);
            let if_kept = |verdict: Verdict| format!("{} if the disturbed blocks counted", verdict.name());
            parts.extend(time.verdict_if_kept.map(if_kept));
            parts
        }
        Evidence::TimeUnpaired(time) => {
            let runs = |count: usize| units::counted(count, "run");
            let (ours, theirs) = (runs(time.candidate_runs), runs(time.baseline_runs));
            let found = effect(row, time.ratio, Some(time.ratio_interval));
            let found = format!("{found} by {ours} against {theirs}");
            timed(row, found, time.threshold, time.could_see)
        }
    };
    if judgement.beyond_acknowledged {
        let names_version = matches!(judgement.reason, Reason::Redefined { .. });
        let hint = if names_version { ": `bound` names the version" } else { "" };
        parts.push(format!("beyond what was acknowledged{hint}"));
    }
    parts.extend(judgement.advisory.iter().map(|advisory| format!("advisory: {}", advice(advisory))));
    parts.join("; ")
}

/// "3 more: 12 against 9".
fn amount(baseline: f64, candidate: f64, unit: &str) -> String {
    let figure = |value: f64| units::value(unit, value);
    if baseline == candidate {
        return format!("{}, as before", figure(candidate));
    }
    let word = match (candidate > baseline, unit) {
        (true, _) => "more",
        (false, "count") => "fewer",
        (false, _) => "less",
    };
    let change = figure((candidate - baseline).abs());
    format!("{change} {word}: {} against {}", figure(candidate), figure(baseline))
}

/// Adds threshold and conclusion to the finding of a time.
fn timed(row: &GateRow, found: String, threshold: f64, could_see: Option<f64>) -> Vec<String> {
    let mut parts = vec![found, format!("threshold {}", percent(threshold))];
    parts.extend(conclusion(row));
    parts.extend(could_see.filter(|_| tells_sight(&row.judgement.reason)).map(sight));
    parts
}

/// Whether a time was judged for this reason, and the reason itself does not say what it could have seen.
fn tells_sight(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::BeyondThreshold
            | Reason::WithinThreshold
            | Reason::AcrossThreshold
            | Reason::WithinLayouts { .. }
            | Reason::MaybeLayout { .. }
            | Reason::NotConfirmed
    )
}

/// "it could have seen 5 %", of a log-ratio.
fn sight(could_see: f64) -> String {
    let only = if is_coarse(could_see) { "only " } else { "" };
    format!("it could {only}have seen {}", percent(could_see.exp_m1()))
}

/// Share of a slowdown beyond which a row that could not have seen it is pointed out.
const COARSE: f64 = 0.1;

/// Whether a row that could have seen this slowdown, a log-ratio, says little by passing.
pub(super) fn is_coarse(could_see: f64) -> bool {
    // The steps of what a row could have seen are far apart.
    could_see.exp_m1() > COARSE * 1.01
}

/// "12.3 % slower [10.1 %, 14.6 %]".
fn effect(row: &GateRow, ratio: f64, interval: Option<Interval>) -> String {
    let (more, less) = if row.metric.as_deref() == Some(SPEED_UP) {
        ("faster against its reference", "less fast against its reference")
    } else {
        ("slower", "faster")
    };
    let slower = ratio >= 1.0;
    let change = |ratio: f64| if slower { ratio - 1.0 } else { 1.0 - ratio };
    let found = format!("{} {}", percent(change(ratio)), if slower { more } else { less });
    match interval {
        Some(interval) => {
            let (near, far) =
                if slower { (interval.lower, interval.upper) } else { (interval.upper, interval.lower) };
            format!("{found} [{}, {}]", percent(change(near)), percent(change(far)))
        }
        None => found,
    }
}

/// The conclusion that the figures of a time do not show by themselves.
fn conclusion(row: &GateRow) -> Option<String> {
    let judgement = &row.judgement;
    match &judgement.reason {
        Reason::BeyondThreshold if judgement.verdict == Verdict::Regressed => {
            let stands = judgement.confirmation.is_some_and(|confirmation| confirmation.stands);
            Some(if stands { "confirmed by fresh launches" } else { "not confirmed yet" }.into())
        }
        Reason::BeyondThreshold => None,
        Reason::WithinThreshold => Some("no change".into()),
        Reason::AcrossThreshold => Some("it may be worse, or not".into()),
        _ => Some(because(row)),
    }
}

/// Returns the reason in words, if no figure shows it.
fn because(row: &GateRow) -> String {
    let holder = if row.against == Against::Base { "the base" } else { "the baseline" };
    match &row.judgement.reason {
        Reason::BeyondThreshold => "beyond the threshold".into(),
        Reason::WithinThreshold => "within the threshold".into(),
        Reason::AcrossThreshold => "it may be worse, or not".into(),
        Reason::CouldNotSee { could_see, must_see } => format!(
            "it could only have seen {}, and must be able to see {}",
            percent(could_see.exp_m1()),
            percent(must_see.exp_m1())
        ),
        Reason::WithinLayouts { spread } => {
            format!("within the {} by which layouts of the same code differ", percent(spread.exp_m1()))
        }
        Reason::SameInstructions => "the time cannot tell, and the instructions did not change".into(),
        Reason::MaybeLayout { spread } => format!(
            "the instructions are the same, and the layout of code, which could not be varied here, may change a time by {}",
            percent(spread.exp_m1())
        ),
        Reason::NotWorse => "not worse by that, and perhaps better".into(),
        Reason::TooFewLaunches { launches, needed } => {
            format!("{launches} of the {needed} launches that a verdict needs")
        }
        Reason::TooMuchDropped { dropped, blocks } => {
            format!("{dropped} of {blocks} blocks were disturbed, too many to judge by the rest")
        }
        Reason::NoSpread => "no spread between launches: the clock is too coarse".into(),
        Reason::NotConfirmed => "flagged at first, but not confirmed by fresh launches".into(),
        Reason::Unusable { why } if row.judgement.is_suspect() => format!("suspect: {}", said(why)),
        Reason::Unusable { why } => format!("cannot be judged: {}", said(why)),
        Reason::Missing => format!("gone: {holder} has it"),
        Reason::Renamed { to } => format!("renamed: {holder} has it, and its name is now {to}"),
        Reason::Skipped { why } => format!("not judged: {}", said(why)),
        Reason::NoSamples => "not judged: it has no samples".into(),
        Reason::Failed { why } => format!("failed: {}", said(why)),
        Reason::New => format!("new: {holder} does not have it yet"),
        Reason::Changed { what } => {
            let what: Vec<String> = what.iter().map(said).collect();
            format!("this change measures or judges it in another way: {}", what.join("; "))
        }
        Reason::Redefined { from, to } => {
            format!("redefined: version {to} here cannot be compared with version {from} of {holder}")
        }
        Reason::Identical => "the programs are byte for byte the same".into(),
    }
}

fn said(why: &Why) -> String {
    match why {
        Why::NotFinite => "a figure is not a finite number".into(),
        Why::NotPositive => "a time or its anchor is not a positive number".into(),
        Why::NoInterval => "there is no interval".into(),
        Why::UnknownSpread => "too few runs to estimate how much runs differ".into(),
        Why::Varied { least, largest, before } => {
            format!("it varied from {least} to {largest} between launches, and had been {before}")
        }
        Why::Duplicate { id } => format!("`{id}` is there twice"),
        Why::NotMeasured => "it was not measured".into(),
        Why::NotCompared => "it was not compared".into(),
        Why::NoSharedRound => "no round has it on both sides".into(),
        Why::BaseNotMeasured => "the base was not measured".into(),
        Why::NoChange => "the code here is the base itself: there is no change to judge".into(),
        Why::NoMetric { metric } => format!("the worker does not report `{metric}` any more"),
        Why::NoWork { metric } => format!("it does not report its work counter `{metric}` any more"),
        Why::NoInputDigest => "its worker gives no digest of its input any more".into(),
        Why::OtherWork { metric, now, accepted } => {
            format!("its work counter `{metric}` is {}, and {} was accepted", now.0, accepted.0)
        }
        Why::OtherExpectation { now, accepted } => {
            format!("it is now expected to end as {}, and {} was accepted", now.as_str(), accepted.as_str())
        }
        Why::OtherRole { now, accepted } => {
            format!("the role: {} when accepted, {} here", accepted.as_str(), now.as_str())
        }
        Why::OtherMetric => {
            "figures were accepted with another unit, kind, direction or use as a work counter".into()
        }
        Why::CountedUnder { name, accepted, now } => {
            let told = |fact: &Option<String>| fact.as_deref().map_or("not known".into(), plain);
            format!(
                "instructions depend on `{}`, which was {} when they were accepted, and is {} now",
                plain(name),
                told(accepted),
                told(now)
            )
        }
        Why::Ended(end) => ended(end),
        Why::LeftOut(end) => format!("it was measured before, and is left out now: {}", ended(end)),
        Why::BaseEnded(end) => format!("the base ended as {}", ended(end)),
        Why::FreshEnded(end) => format!("the fresh launches ended as {}", ended(end)),
        Why::NoWorkloads(end) => format!("it gave no workloads: {}", ended(end)),
        Why::NotSeen { planted, effect: None } => {
            format!("a planted slowdown of {} was not measured", percent(planted.0))
        }
        Why::NotSeen { planted, effect: Some(effect) } => format!(
            "a planted slowdown of {} was not seen: {} was measured",
            percent(planted.0),
            percent(effect.0.exp_m1())
        ),
        Why::Suspect(suspicion) => suspected(suspicion),
        Why::BaseSuspect(suspicion) => format!("of the base, {}", suspected(suspicion)),
        Why::Told(told) => told.clone(),
    }
}

/// Returns in words why times are not believed, with both figures.
pub(in crate::render) fn suspected(suspicion: &Suspicion) -> String {
    let time = |ns: u64| units::duration(ns as f64);
    match suspicion {
        Suspicion::SameTime { few, few_ns, many, many_ns } => format!(
            "its time does not follow its iterations: {many} take {}, and {few} take {}",
            time(*many_ns),
            time(*few_ns)
        ),
        Suspicion::BelowFloor { ns, least_ns, ceiling } => format!(
            "it takes {}, and its least work takes {} at ten times the ceiling `{ceiling}` of this machine",
            units::duration(ns.0),
            units::duration(least_ns.0)
        ),
        Suspicion::OtherPace { worker_ns, harness_ns } => format!(
            "its worker's clock passed {} between two samples, and the harness's {}",
            time(*worker_ns),
            time(*harness_ns)
        ),
        Suspicion::Unaccounted { reported_ns, elapsed_ns } => format!(
            "its worker accounts for {} of the {} from request to answer, and for no larger share of any other sample",
            time(*reported_ns),
            time(*elapsed_ns)
        ),
        Suspicion::CannotVary { planted, effect } => format!(
            "it cannot vary: {} more work changed its time by {}",
            percent(planted.0),
            percent(effect.0.exp_m1())
        ),
    }
}

/// "crashed: signal 11".
fn ended(End { kind, reason }: &End) -> String {
    let kind = kind.as_str();
    reason.as_ref().map_or_else(|| kind.to_owned(), |reason| format!("{kind}: {reason}"))
}

fn advice(advisory: &Advisory) -> String {
    match advisory {
        Advisory::TooNoisy { smallest_detectable } => {
            format!("this machine sees changes from {} on", percent(smallest_detectable.exp_m1()))
        }
        Advisory::FewRuns { runs, needed } => {
            format!("the baseline has {runs} of the {needed} runs that it needs")
        }
        Advisory::OtherMachineClass => "the baseline is of another machine class".into(),
        Advisory::Exhibit => "it is kept slow on purpose".into(),
        Advisory::Diagnosis => "another metric counts".into(),
        Advisory::UnevenSides => {
            "one side computes on all cores and the other does not, so that other processes weigh on them differently"
                .into()
        }
        Advisory::NotSlower => "more work, and surely not slower here".into(),
        Advisory::SoftwareAdapter => "no GPU computed it, and the counts of the benchmark decide".into(),
        Advisory::Acknowledged { reason } => format!("acknowledged: {reason}"),
    }
}

/// Largest percentage that is written out; beyond it, digits carry no information.
const MOST_PERCENT: f64 = 9999.0;

/// Formats a share as "12.3 %": one decimal, two below 1 %, none from 100 % on, and no trailing zeros.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let size = percent.abs();
    if size > MOST_PERCENT {
        return format!("more than {MOST_PERCENT} %");
    }
    // Compare the rounded value, so that 99.97 becomes 100 and not 100.0.
    let decimals = match size {
        _ if size >= 99.95 => 0,
        _ if size >= 0.995 => 1,
        _ => 2,
    };
    let text = format!("{percent:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{} %", if text == "-0" { "0" } else { text })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use perfharness_verdict::Estimate;
    use perfharness_verdict::judge::{
        Confirmation, Direction, Ended, ExactFigure, ExactPolicy, Judgement, PairedRun, SizePolicy,
        TimePolicy, judge_exact, judge_paired, judge_size,
    };

    use super::*;
    use perfharness_record::compare::Against;
    use perfharness_record::testing::{SYNCS, WALL, row};

    /// The sentence of a judgement about the wall time.
    fn of_time(judgement: Judgement) -> String {
        sentence(&row("spin/s/v", Some(&WALL), Against::Base, judgement))
    }

    /// The sentence of a judgement about a count.
    fn of_count(judgement: Judgement) -> String {
        sentence(&row("spin/s/v", Some(&SYNCS), Against::Base, judgement))
    }

    /// An estimate whose ratio and bounds are the given ones.
    fn estimated(ratio: f64, lower: f64, upper: f64, launches: usize) -> Estimate {
        Estimate {
            theta: ratio.ln(),
            sd: Some(0.01),
            standard_error: Some((upper / lower).ln() / 6.0),
            df: Some(20.0),
            order_effect: None,
            interval: Some(Interval { lower: lower.ln(), upper: upper.ln() }),
            confidence: 0.99,
            launches,
            trimmed: 0,
            placements: launches,
            rounds: 2 * launches,
            empty_launches: 0,
            empty_placements: 0,
        }
    }

    fn run(estimate: &Estimate) -> PairedRun<'_> {
        PairedRun {
            estimate,
            if_kept: None,
            dropped_blocks: 0,
            blocks: 20,
            ended: Ended::Look { launches: estimate.launches },
            terms: TimePolicy::HARDWARE.terms(),
        }
    }

    fn judge(run: &PairedRun<'_>) -> Judgement {
        judge_paired(run, Direction::Lower).unwrap()
    }

    #[rstest]
    #[case::slower(
        estimated(1.123, 1.101, 1.146, 16),
        "12.3 % slower [10.1 %, 14.6 %] over 16 launches; threshold 3 %; not confirmed yet; \
         it could have seen 5 %"
    )]
    #[case::faster(
        estimated(0.88, 0.86, 0.9, 16),
        "12 % faster [10 %, 14 %] over 16 launches; threshold 3 %; it could have seen 7 %"
    )]
    #[case::alike(
        estimated(1.004, 0.994, 1.014, 16),
        "0.4 % slower [-0.6 %, 1.4 %] over 16 launches; threshold 3 %; no change; \
         it could have seen 3 %"
    )]
    #[case::alike_as_far_as_it_can_see(
        estimated(1.02, 0.95, 1.09, 64),
        "2 % slower [-5 %, 9 %] over 64 launches; threshold 3 %; no change; \
         it could only have seen 20 %"
    )]
    #[case::open(
        estimated(1.027, 1.021, 1.033, 16),
        "2.7 % slower [2.1 %, 3.3 %] over 16 launches; threshold 3 %; it may be worse, or not; \
         it could have seen 3 %"
    )]
    #[case::not_able(
        estimated(1.0, 0.8, 1.25, 64),
        "0 % slower [-20 %, 25 %] over 64 launches; threshold 3 %; \
         it could only have seen 75 %, and must be able to see 25 %"
    )]
    #[case::few(
        estimated(2.0, 1.8, 2.2, 5),
        "100 % slower [80 %, 120 %] over 5 launches; threshold 3 %; 5 of the 8 launches that a verdict needs"
    )]
    #[case::beyond_reading(
        estimated(1e9, 1e8, f64::MAX, 16),
        "more than 9999 % slower [more than 9999 %, more than 9999 %] over 16 launches; threshold 3 %; \
         not confirmed yet"
    )]
    fn a_time_is_told_with_its_interval_and_its_threshold(
        #[case] estimate: Estimate,
        #[case] expected: &str,
    ) {
        assert_eq!(of_time(judge(&run(&estimate))), expected);
    }

    #[test]
    fn a_confirmed_flag_and_a_verdict_that_hangs_on_dropped_blocks_say_so() {
        let (estimate, kept) = (estimated(1.123, 1.101, 1.146, 16), estimated(1.0, 0.99, 1.01, 16));
        let run = PairedRun { if_kept: Some(&kept), dropped_blocks: 1, ..run(&estimate) };
        let confirmation = Confirmation {
            first_effect: None,
            p_value: Some(0.0),
            flags: 1,
            false_discovery_rate: 0.01,
            stands: true,
        };
        let row = Judgement { confirmation: Some(confirmation), ..judge(&run) };
        assert_eq!(
            of_time(row),
            "12.3 % slower [10.1 %, 14.6 %] over 16 launches; threshold 3 %; confirmed by fresh launches; \
             it could have seen 5 %; unchanged if the disturbed blocks counted"
        );
    }

    #[test]
    fn an_advisory_says_why() {
        let row = judge(&run(&estimated(1.0, 0.99, 1.01, 16)));
        let row = row.advise(Advisory::FewRuns { runs: 2, needed: 5 });
        assert!(of_time(row).ends_with("; advisory: the baseline has 2 of the 5 runs that it needs"));
    }

    #[rstest]
    #[case::more(9.0, 12.0, "3 more: 12 against 9; any change counts")]
    #[case::fewer(12.0, 9.0, "3 fewer: 9 against 12; any change counts")]
    #[case::the_same(9.0, 9.0, "9, as before; any change counts")]
    #[case::not_a_number(f64::NAN, 9.0, "cannot be judged: a figure is not a finite number")]
    fn a_count_is_told_by_both_figures(
        #[case] baseline: f64,
        #[case] candidate: f64,
        #[case] expected: &str,
    ) {
        let (baseline, candidate) = (ExactFigure::same(baseline), ExactFigure::same(candidate));
        let row = judge_exact(baseline, candidate, ExactPolicy::COUNTS, Direction::Lower).unwrap();
        assert_eq!(of_count(row), expected);
    }

    #[test]
    fn a_size_is_told_by_figures_share_and_margin() {
        let row = judge_size(100_000.0, 200_000.0, SizePolicy::BYTES, Direction::Lower).unwrap();
        assert_eq!(
            of_count(row),
            "100,000 more: 200,000 against 100,000; a change beyond both 2 % and 65,536 counts"
        );
        let row = judge_size(1_000.0, 1_020.0, SizePolicy::INSTRUCTIONS, Direction::Lower).unwrap();
        assert_eq!(of_count(row), "20 more: 1,020 against 1,000; a change beyond 1 % counts");
        let varied = ExactFigure { value: 10.0, varied: true };
        let row =
            judge_exact(varied, ExactFigure::same(20.0), ExactPolicy::COUNTS, Direction::Lower).unwrap();
        assert_eq!(
            of_count(row),
            "10 more: 20 against 10; a change beyond both 2 % and 1 counts; judged as a size, because it varied between launches"
        );
    }

    #[rstest]
    #[case::zero(0.0, "0 %")]
    #[case::negative_zero(-0.000_001, "0 %")]
    #[case::small(0.001_2, "0.12 %")]
    #[case::next_to_one(0.009_97, "1 %")]
    #[case::whole(0.03, "3 %")]
    #[case::negative(-0.0123, "-1.2 %")]
    #[case::next_to_a_hundred(0.999_7, "100 %")]
    #[case::round_hundreds(12.0, "1200 %")]
    #[case::infinite(f64::INFINITY, "more than 9999 %")]
    fn shares_are_written_short(#[case] share: f64, #[case] expected: &str) {
        assert_eq!(percent(share), expected);
    }

    proptest! {
        #[test]
        fn every_estimate_has_a_sentence(
            theta in -1e3..1e3_f64, half in 0.0..1e3_f64, launches in 0_usize..40,
        ) {
            let estimate = Estimate {
                theta,
                interval: Some(Interval { lower: theta - half, upper: theta + half }),
                ..estimated(1.0, 1.0, 1.0, launches)
            };
            let text = of_time(judge(&run(&estimate)));
            prop_assert!(text.contains("threshold 3 %"), "{}", text);
            prop_assert!(!text.contains("inf") && !text.contains("NaN"), "{}", text);
        }
    }
}
