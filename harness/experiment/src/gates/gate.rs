//! One gate: a row for each kernel, judged at the looks, with its flags confirmed in fresh launches.

use anyhow::Context as _;
use perfharness_verdict::judge::{
    Direction, Ended, FALSE_DISCOVERY_RATE, GateOutcome, Judgement, Limit, PairedRun, Recheck, TimePolicy,
    Verdict, confirm, confirmation_launches, judge_paired,
};
use perfharness_verdict::{Estimate, Looks, Paired, estimate, launch_values};
use serde::{Deserialize, Serialize};

use super::pair::{Conditions, Pair};

/// Alpha of all looks at one row together.
const ALPHA: f64 = 0.01;
/// Offset of the seeds of fresh launches from those of the first ones.
const FRESH: u64 = 1 << 32;

/// Result of one row at one threshold.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) threshold: f64,
    /// Number of launches at the look that decided, or at the last look.
    pub(super) launches: usize,
    pub(super) theta: f64,
    pub(super) sd: f64,
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// The verdict before confirmation.
    pub(super) first: Verdict,
    /// Fresh launches that a flag needed, and their estimate.
    pub(super) fresh_launches: usize,
    pub(super) p_value: Option<f64>,
    /// Final verdict.
    pub(super) verdict: Verdict,
}

/// One row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PairRow {
    pub(super) kernel: String,
    /// One value per launch, for trying other rules on them, and the seconds that it took.
    pub(super) values: Vec<f64>,
    pub(super) seconds: Vec<f64>,
    pub(super) dropped_blocks: usize,
    pub(super) blocks: usize,
    pub(super) fresh_values: Vec<f64>,
    pub(super) fresh_seconds: Vec<f64>,
    pub(super) judged: Vec<Judged>,
}

/// State of a row at one threshold after its looks.
struct First {
    estimate: Estimate,
    judgement: Judgement,
    launches: usize,
}

/// Measures and judges a gate at each of the thresholds, from the same launches.
pub(super) fn gate(
    kernels: &[String],
    seed: u64,
    thresholds: &[f64],
    conditions: &Conditions,
) -> anyhow::Result<(Vec<PairRow>, Vec<GateOutcome>, Option<f64>)> {
    let policies = thresholds
        .iter()
        .map(|threshold| Ok(TimePolicy { threshold: Limit::new(*threshold)?, ..TimePolicy::HARDWARE }))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut load = None;
    let mut measured = Vec::new();
    for kernel in kernels {
        let mut pair = Pair::new(kernel, seed, conditions)?;
        let first = looks(&mut pair, &policies)?;
        load = load.or(pair.load_average()?);
        measured.push((kernel, pair, first));
    }
    // Every flag needs as many fresh launches as its own threshold requires.
    let needed = |first: &First, policy: TimePolicy| {
        let flagged = first.judgement.needs_confirmation();
        flagged.then(|| confirmation_launches(&first.estimate, policy.delta(), Direction::Lower)).flatten()
    };
    let mut fresh: Vec<Option<Pair>> = Vec::new();
    for (kernel, _, first) in &measured {
        let most = first.iter().zip(&policies).filter_map(|(first, policy)| needed(first, *policy)).max();
        fresh.push(match most {
            Some(launches) => {
                let mut pair = Pair::new(kernel, seed + FRESH, conditions)?;
                pair.extend(launches)?;
                Some(pair)
            }
            None => None,
        });
    }
    let mut outcomes = Vec::new();
    let mut judged: Vec<Vec<Judged>> = vec![Vec::new(); measured.len()];
    for (at, policy) in policies.iter().enumerate() {
        let mut rechecks = Vec::new();
        let mut flags = Vec::new();
        for (row, (_, _, first)) in measured.iter().enumerate() {
            let (Some(launches), Some(pair)) = (needed(&first[at], *policy), &fresh[row]) else { continue };
            let (_, judgement) = judge(pair, launches, 1.0 - ALPHA, *policy)?;
            rechecks.push(Recheck { first: first[at].judgement.clone(), fresh: judgement });
            flags.push((row, launches));
        }
        let mut rows: Vec<Judgement> =
            measured.iter().map(|(_, _, first)| first[at].judgement.clone()).collect();
        let mut confirmed = vec![(0, None); rows.len()];
        for ((row, launches), judgement) in flags.into_iter().zip(confirm(rechecks, FALSE_DISCOVERY_RATE)) {
            confirmed[row] = (launches, judgement.confirmation.and_then(|c| c.p_value));
            rows[row] = judgement;
        }
        outcomes.push(GateOutcome::of(&rows));
        for (row, judgement) in rows.iter().enumerate() {
            let First { estimate, judgement: before, launches } = &measured[row].2[at];
            let interval = estimate.interval.context("too few launches for an interval")?;
            let (fresh_launches, p_value) = confirmed[row];
            judged[row].push(Judged {
                threshold: policy.threshold.get(),
                launches: *launches,
                theta: estimate.theta,
                sd: estimate.sd.unwrap_or(f64::NAN),
                lower: interval.lower,
                upper: interval.upper,
                first: before.verdict,
                fresh_launches,
                p_value,
                verdict: judgement.verdict,
            });
        }
    }
    let rows = measured
        .into_iter()
        .zip(fresh)
        .zip(judged)
        .map(|(((kernel, pair, _), fresh), judged)| {
            let (dropped_blocks, blocks) = pair.blocks();
            Ok(PairRow {
                kernel: kernel.clone(),
                values: launch_values(&pair.paired())?,
                seconds: pair.seconds(),
                dropped_blocks,
                blocks,
                fresh_values: fresh
                    .as_ref()
                    .map(|f| launch_values(&f.paired()))
                    .transpose()?
                    .unwrap_or_default(),
                fresh_seconds: fresh.as_ref().map(Pair::seconds).unwrap_or_default(),
                judged,
            })
        })
        .collect::<anyhow::Result<Vec<PairRow>>>()?;
    Ok((rows, outcomes, load))
}

/// Measures from look to look until each threshold has a verdict or the last look is reached.
fn looks(pair: &mut Pair, policies: &[TimePolicy]) -> anyhow::Result<Vec<First>> {
    let looks = Looks::default();
    let mut found: Vec<Option<First>> = policies.iter().map(|_| None).collect();
    for look in looks.as_slice() {
        pair.extend(look.launches)?;
        let confidence = looks.confidence_at(look.launches, ALPHA).context("no look")?;
        let last = looks.next_look(look.launches).is_none();
        for (slot, policy) in found.iter_mut().zip(policies).filter(|(slot, _)| slot.is_none()) {
            let (estimate, judgement) = judge(pair, look.launches, confidence, *policy)?;
            if last || judgement.verdict != Verdict::Inconclusive {
                *slot = Some(First { estimate, judgement, launches: look.launches });
            }
        }
        if found.iter().all(Option::is_some) {
            break;
        }
    }
    Ok(found.into_iter().flatten().collect())
}

/// Judges the first launches of a pair.
fn judge(
    pair: &Pair,
    launches: usize,
    confidence: f64,
    policy: TimePolicy,
) -> anyhow::Result<(Estimate, Judgement)> {
    let paired: Paired = pair.paired().launches.into_iter().take(launches).collect();
    let estimate = estimate(&paired, confidence)?;
    let (dropped_blocks, blocks) = pair.blocks();
    let run = PairedRun {
        estimate: &estimate,
        if_kept: None,
        dropped_blocks,
        blocks,
        ended: Ended::Look { launches },
        terms: policy.terms(),
    };
    let judgement = judge_paired(&run, Direction::Lower).context("a time has a direction")?;
    Ok((estimate, judgement))
}
