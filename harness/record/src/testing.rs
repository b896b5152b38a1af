//! Values for tests of this crate and of those above it: a report in which everything occurs that a report can hold, and
//! profiles.

use perfharness_contract::protocol::{Profile, ProfileClock, SampleReply, Stack};
use perfharness_contract::{Direction, Number};
use perfharness_verdict::judge::{
    Advisory, Confirmation, Ended, Evidence, GateOutcome, Judgement, PairedEvidence, Reason,
    UnpairedEvidence, Verdict, Why,
};
use perfharness_verdict::{Estimate, Interval};

use crate::StackProfile;
use crate::compare::{Against, BaselineInfo, GateReport, GateRow, REPORT_VERSION, Remark};
use crate::samples::{self, Samples};

/// A metric: its id, title and unit.
#[derive(Debug)]
pub struct Metric(&'static str, &'static str, &'static str);

/// The wall time.
pub const WALL: Metric = Metric("wall-time", "wall time", "ns");
/// A count.
pub const SYNCS: Metric = Metric("syncs", "syncs", "count");
const PEAK: Metric = Metric("heap-peak", "peak heap", "bytes");

fn paired(ratio: f64, half_width: f64, launches: usize) -> Evidence {
    paired_that_saw(0.05, ratio, half_width, launches)
}

/// A time that could have seen a slowdown of `could_see`, a share.
fn paired_that_saw(could_see: f64, ratio: f64, half_width: f64, launches: usize) -> Evidence {
    let theta = ratio.ln();
    let interval =
        (launches > 1).then_some(Interval { lower: theta - half_width, upper: theta + half_width });
    Evidence::TimePaired(PairedEvidence {
        estimate: Estimate {
            theta,
            sd: (launches > 1).then_some(half_width),
            standard_error: (launches > 1).then_some(half_width / 3.0),
            df: (launches > 1).then_some(launches as f64 - 1.0),
            order_effect: None,
            interval,
            confidence: 0.99,
            launches,
            trimmed: 0,
            placements: launches * 4,
            rounds: launches * 16,
            empty_launches: 0,
            empty_placements: 0,
        },
        ratio,
        ratio_interval: interval.map(|interval| interval.map(f64::exp)),
        dropped_blocks: 3,
        blocks: launches * 8,
        verdict_if_kept: None,
        threshold: 0.03,
        could_see: Some(could_see.ln_1p()),
        layout_spread: 0.0,
        p_value: None,
        ended: Ended::Look { launches },
    })
}

fn unpaired(ratio: f64, half_width: f64) -> Evidence {
    let effect = ratio.ln();
    let interval = Interval { lower: effect - half_width, upper: effect + half_width };
    Evidence::TimeUnpaired(UnpairedEvidence {
        effect,
        interval,
        ratio,
        ratio_interval: interval.map(f64::exp),
        confidence: 0.99,
        baseline_runs: 5,
        candidate_runs: 1,
        sd: 0.01,
        df: 8.0,
        threshold: 0.03,
        could_see: Some(0.07_f64.ln_1p()),
        layout_spread: 0.0,
        p_value: None,
    })
}

fn exact(baseline: f64, candidate: f64) -> Evidence {
    Evidence::Exact { baseline, candidate, slack: 0.0 }
}

fn size(baseline: f64, candidate: f64, demoted: bool) -> Evidence {
    Evidence::Size { baseline, candidate, relative: 0.02, margin: 65_536.0, demoted }
}

fn judgement(verdict: Verdict, reason: Reason, evidence: Evidence) -> Judgement {
    Judgement {
        verdict,
        reason,
        evidence,
        advisory: Vec::new(),
        beyond_acknowledged: false,
        confirmation: None,
    }
}

fn confirmed(judgement: Judgement, stands: bool) -> Judgement {
    let confirmation = Confirmation {
        first_effect: Some(0.12),
        p_value: Some(0.0001),
        flags: 2,
        false_discovery_rate: 0.01,
        stands,
    };
    Judgement { confirmation: Some(confirmation), ..judgement }
}

/// Rows of one benchmark, each with a metric, or about the whole.
pub fn row(benchmark: &str, metric: Option<&Metric>, against: Against, judgement: Judgement) -> GateRow {
    GateRow {
        benchmark: benchmark.to_owned(),
        metric: metric.map(|metric| metric.0.to_owned()),
        title: metric.map(|metric| metric.1.to_owned()),
        unit: metric.map(|metric| metric.2.to_owned()),
        direction: metric.map(|_| Direction::Lower),
        items: None,
        against,
        judgement,
        sentence: None,
        diagnosis: None,
        functions: Vec::new(),
        reach: None,
        kernels: Vec::new(),
        reproduce: format!("perfharness gate --base origin/main {benchmark}"),
    }
}

/// Every verdict, reason, evidence and advisory.
pub fn rows() -> Vec<GateRow> {
    use Against::{Base, Baseline, Expectation};
    use Verdict::{Failed, Improved, Inconclusive, NoBaseline, Placement, Regressed, Unchanged};
    let crossing = || judgement(Inconclusive, Reason::AcrossThreshold, paired(1.02, 0.04, 12));
    let slower = || judgement(Regressed, Reason::BeyondThreshold, paired(1.12, 0.02, 12));
    let why = |text: &str| text.to_owned();
    vec![
        row(
            "spin/s/crashes",
            None,
            Expectation,
            judgement(Failed, Reason::Failed { why: "crashed: signal 11".into() }, Evidence::None),
        ),
        row("spin/s/gone", None, Baseline, judgement(Failed, Reason::Missing, Evidence::None)),
        row(
            "spin/s/old",
            None,
            Baseline,
            judgement(Failed, Reason::Renamed { to: why("spin/s/new") }, Evidence::None),
        ),
        row("spin/s/slower", Some(&WALL), Base, confirmed(slower(), true)),
        row(
            "spin/s/slower",
            Some(&WALL),
            Baseline,
            judgement(Regressed, Reason::BeyondThreshold, unpaired(25.0, 0.03)),
        ),
        row(
            "spin/s/waits",
            Some(&SYNCS),
            Base,
            judgement(Regressed, Reason::BeyondThreshold, exact(3.0, 150.0)),
        ),
        row(
            "spin/s/heavier",
            Some(&PEAK),
            Base,
            judgement(Regressed, Reason::BeyondThreshold, size(4.7e6, 9.4e6, false)),
        ),
        row("spin/s/open", Some(&WALL), Base, crossing()),
        row(
            "spin/s/few",
            Some(&WALL),
            Base,
            judgement(Inconclusive, Reason::TooFewLaunches { launches: 1, needed: 8 }, paired(1.2, 0.0, 1)),
        ),
        row(
            "spin/s/disturbed",
            Some(&WALL),
            Base,
            judgement(
                Inconclusive,
                Reason::TooMuchDropped { dropped: 60, blocks: 96 },
                paired(1.01, 0.01, 12),
            ),
        ),
        row(
            "spin/s/coarse",
            Some(&WALL),
            Base,
            judgement(Inconclusive, Reason::NoSpread, paired(1.0, 0.0, 12)),
        ),
        row(
            "spin/s/blind",
            Some(&WALL),
            Base,
            judgement(
                Inconclusive,
                Reason::CouldNotSee { could_see: 0.4_f64.ln_1p(), must_see: 0.25_f64.ln_1p() },
                paired_that_saw(0.4, 1.02, 0.2, 64),
            ),
        ),
        row(
            "spin/s/moved",
            Some(&WALL),
            Base,
            judgement(
                Placement,
                Reason::WithinLayouts { spread: 0.19_f64.ln_1p() },
                paired_that_saw(0.2, 1.12, 0.02, 32),
            ),
        ),
        row(
            "spin/s/foreign",
            Some(&WALL),
            Base,
            judgement(
                Placement,
                Reason::MaybeLayout { spread: 0.25_f64.ln_1p() },
                paired_that_saw(0.2, 1.12, 0.02, 32),
            ),
        ),
        row(
            "spin/s/vague",
            Some(&WALL),
            Base,
            judgement(Unchanged, Reason::WithinThreshold, paired_that_saw(0.2, 1.01, 0.1, 64)),
        ),
        row(
            "spin/s/luck",
            Some(&WALL),
            Base,
            confirmed(judgement(Inconclusive, Reason::NotConfirmed, paired(1.04, 0.02, 12)), false),
        ),
        row(
            "spin/s/damaged",
            Some(&WALL),
            Base,
            judgement(Inconclusive, Reason::Unusable { why: Why::NotPositive }, Evidence::None),
        ),
        row(
            "spin/s/skipped",
            None,
            Baseline,
            judgement(Inconclusive, Reason::Skipped { why: "needs a GPU".into() }, Evidence::None),
        ),
        row("spin/s/empty", None, Baseline, judgement(Inconclusive, Reason::NoSamples, Evidence::None)),
        row(
            "spin/s/faster",
            Some(&WALL),
            Base,
            judgement(Improved, Reason::BeyondThreshold, paired(0.8, 0.02, 12)),
        ),
        row(
            "spin/s/lighter",
            Some(&SYNCS),
            Baseline,
            judgement(Improved, Reason::BeyondThreshold, exact(9.0, 1.0)),
        ),
        row(
            "spin/s/known",
            Some(&SYNCS),
            Base,
            judgement(Regressed, Reason::BeyondThreshold, exact(3.0, 4.0))
                .advise(Advisory::Acknowledged { reason: why("the new check waits once more") }),
        ),
        row(
            "spin/s/noisy",
            Some(&WALL),
            Base,
            slower().advise(Advisory::TooNoisy { smallest_detectable: 0.4 }),
        ),
        row("spin/s/young", Some(&WALL), Baseline, slower().advise(Advisory::FewRuns { runs: 2, needed: 5 })),
        row("spin/s/elsewhere", Some(&WALL), Baseline, slower().advise(Advisory::OtherMachineClass)),
        row("spin/s/uneven", Some(&WALL), Baseline, slower().advise(Advisory::UnevenSides)),
        row("spin/s/llvmpipe", Some(&WALL), Base, crossing().advise(Advisory::SoftwareAdapter)),
        row("spin/s/waiting", Some(&WALL), Base, crossing().with_same_instructions()),
        row(
            "spin/s/busier",
            Some(&PEAK),
            Base,
            judgement(Regressed, Reason::BeyondThreshold, exact(3.0, 4.0)).advise(Advisory::NotSlower),
        ),
        row("spin/s/slow", Some(&WALL), Base, slower().advise(Advisory::Exhibit)),
        row("spin/s/explains", Some(&WALL), Base, crossing().advise(Advisory::Diagnosis)),
        row("spin/s/added", None, Baseline, judgement(NoBaseline, Reason::New, Evidence::None)),
        row("spin/s/added-too", None, Baseline, judgement(NoBaseline, Reason::New, Evidence::None)),
        row("spin/s/redone", None, Base, Judgement::redefined(1, 2)),
        row("spin/s/dated", None, Baseline, Judgement::outdated(1, 2)),
        row("spin", None, Base, Judgement::changed(["its role", "its kind"])),
        row(
            "spin/s/better",
            Some(&WALL),
            Base,
            judgement(Inconclusive, Reason::NotWorse, paired(0.96, 0.02, 12)),
        ),
        row(
            "spin/s/same",
            Some(&WALL),
            Base,
            judgement(Unchanged, Reason::WithinThreshold, paired(1.001, 0.004, 12)),
        ),
        row(
            "spin/s/same",
            Some(&SYNCS),
            Base,
            judgement(Unchanged, Reason::WithinThreshold, exact(3.0, 3.0)),
        ),
        row(
            "spin/s/varies",
            Some(&PEAK),
            Baseline,
            judgement(Unchanged, Reason::WithinThreshold, size(4.7e6, 4.71e6, true)),
        ),
        row(
            "spin/s/identical",
            None,
            Base,
            judgement(Unchanged, Reason::Identical, Evidence::Identical { digest: why("sha256:0123") }),
        ),
    ]
}

/// A report of these rows, sorted as a gate sorts them.
pub fn report(mut rows: Vec<GateRow>) -> GateReport {
    rows.sort_by(|a, b| a.key().cmp(&b.key()));
    GateReport {
        format: REPORT_VERSION,
        outcome: GateOutcome::of(rows.iter().map(|row| &row.judgement)),
        run: "20260301-120000-gate".into(),
        commit: Some("1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d".into()),
        base_commit: Some("9f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6c".into()),
        machine_class: "linux-x86_64-2cores".into(),
        baseline: Some(BaselineInfo {
            class: "linux-x86_64-2cores".into(),
            same_class: true,
            accepted: Some("2026-02-20T08:00:00Z".into()),
        }),
        rows,
        planted: Vec::new(),
        remarks: vec![Remark::Unneeded { metric: "syncs".into(), reason: "a reason".into() }],
    }
}

/// An answer with these stacks, as folded lines without their root.
pub fn reply(period: f64, stacks: &[(&str, u64)]) -> SampleReply {
    let stack = |(text, count): &(&str, u64)| Stack {
        frames: text.split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        count: *count,
    };
    let profile = Profile {
        period: Number(period),
        unit: "ns".into(),
        clock: ProfileClock::Cpu,
        stacks: stacks.iter().map(stack).collect(),
    };
    SampleReply { wall_ns: 1_000, cpu_ns: Some(900), profile: Some(profile), ..SampleReply::default() }
}

/// A profile of so many iterations.
#[expect(clippy::expect_used, reason = "a test is to fail there")]
pub fn profile(iterations: u64, period: f64, stacks: &[(&str, u64)]) -> StackProfile {
    let mut profile = StackProfile::default();
    profile.add(reply(period, stacks), iterations).expect("the answer has a profile");
    profile
}

/// Samples of these rows, by way of a file.
#[expect(clippy::expect_used, reason = "a test is to fail there")]
pub fn samples(rows: &[samples::SampleReading<'_>]) -> Samples {
    let content = samples::encode(rows).expect("rows can be encoded");
    samples::read(&content).expect("what was encoded can be read")
}
