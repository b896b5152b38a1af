//! The top of a page: failures and regressions, the measured code and machine, and the limits of the run.

use std::collections::BTreeMap;

use jiff::Timestamp;
use perfharness_contract::{OutcomeKind, standard};
use perfharness_record::{ComparisonRecord, Outcome, RunEnd, RunRecord, SourceState, short_commit, units};
use perfharness_verdict::judge::{GateOutcome, Verdict};
use perfharness_verdict::{MIN_LAUNCHES_TO_DECIDE, median};
use serde::Serialize;

use super::{Badge, Material, Tone, fragment};
use crate::render::words;

/// Number of problems at the top; the page counts further ones.
const PROBLEMS: usize = 12;

/// The top of a page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Head {
    pub verdict: Badge,
    /// The verdict in a sentence.
    pub sentence: String,
    /// Failures and regressions, worst first.
    pub problems: Vec<Problem>,
    pub more_problems: usize,
    /// The measured code, the machine and the time.
    pub facts: Vec<Fact>,
    /// Limits of the run: undetectable changes, left-out benchmarks and other remarks.
    pub limits: Vec<String>,
}

/// A failure or a regression.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Problem {
    pub badge: Badge,
    pub name: String,
    pub text: String,
    /// The fragment identifier of the details.
    pub fragment: Option<String>,
}

/// A fact with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Fact {
    pub name: String,
    pub value: String,
}

pub(super) fn title(record: &RunRecord) -> String {
    match &record.source {
        SourceState::Git { commit, dirty, .. } => {
            format!("perfharness {}{}", short_commit(commit), if *dirty { " with changes" } else { "" })
        }
        SourceState::Absent { .. } => format!("perfharness {}", record.run.id),
    }
}

pub(super) fn head(material: &Material<'_>) -> Head {
    let record = material.record;
    let mut problems = problems(material);
    let more_problems = problems.len().saturating_sub(PROBLEMS);
    problems.truncate(PROBLEMS);
    let (verdict, sentence) = verdict(material);
    Head { verdict, sentence, problems, more_problems, facts: facts(record), limits: limits(material) }
}

/// Returns the verdict of the gate, or that of the run alone if there is no gate.
fn verdict(material: &Material<'_>) -> (Badge, String) {
    let record = material.record;
    let failed = record.benchmarks.iter().filter(|b| b.failed()).count();
    let all = record.benchmarks.len();
    let of_run = if all == 0 {
        "nothing was measured".to_owned()
    } else if failed > 0 {
        format!("{} of {} failed", units::count(failed as f64), units::counted(all, "benchmark"))
    } else {
        let ok = record.benchmarks.iter().filter(|b| b.succeeded()).count();
        format!("{} of {} ended as expected", units::count(ok as f64), units::counted(all, "benchmark"))
    };
    if let Some(gate) = material.gate {
        let (sign, tone) = match gate.outcome {
            GateOutcome::Ok => ("✔", Tone::Good),
            GateOutcome::Undecided | GateOutcome::NothingCompared | GateOutcome::Redefined => {
                ("?", Tone::Open)
            }
            GateOutcome::Regressed | GateOutcome::Failed => ("✖", Tone::Bad),
        };
        let badge = Badge::new(sign, words::outcome(gate.outcome), tone);
        let (held, tally) = (words::held_against(gate), words::tally(gate.tally()));
        let sentence = format!("{}. Judged {held}: {tally}.", first_upper(&of_run));
        return (badge, sentence);
    }
    let badge = match (all, failed, record.run.ended) {
        (_, 1.., _) => Badge::new("✖", "failed", Tone::Bad),
        (0, ..) => Badge::new("?", "nothing measured", Tone::Open),
        (.., RunEnd::Interrupted) => Badge::new("?", "interrupted", Tone::Open),
        (.., RunEnd::Complete) => Badge::new("✔", "measured", Tone::Good),
    };
    (badge, first_upper(&format!("{of_run}. Not judged: there are no accepted figures.")))
}

/// Capitalizes the beginning of a sentence.
fn first_upper(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn problems(material: &Material<'_>) -> Vec<Problem> {
    let record = material.record;
    let failure = |outcome: &Outcome, name, fragment| Problem {
        badge: Badge::new("✖", outcome.kind.as_str(), Tone::Bad),
        name,
        text: outcome.reason.clone().unwrap_or_default(),
        fragment,
    };
    let mut problems = Vec::new();
    for worker in record.workers.iter().filter(|w| w.outcome.kind != OutcomeKind::Ok) {
        problems.push(failure(&worker.outcome, format!("worker {}", worker.name), None));
    }
    for benchmark in record.benchmarks.iter().filter(|b| b.failed()) {
        let id = &benchmark.id;
        let place = fragment("case", &format!("{}/{}", id.workload, id.case));
        problems.push(failure(&benchmark.outcome, id.to_string(), Some(place)));
    }
    let rows = material.gate.iter().flat_map(|gate| &gate.rows);
    // The failures of this run are already in the list.
    let known = |name: &str| record.benchmarks.iter().any(|b| b.failed() && b.id.to_string() == name);
    for row in rows.filter(|row| row.judgement.outcome() > GateOutcome::Undecided) {
        if row.judgement.verdict != Verdict::Failed || !known(&row.benchmark) {
            problems.push(Problem {
                badge: super::comparison::badge(row),
                name: row.name(),
                text: words::sentence(row),
                fragment: Some("comparison".into()),
            });
        }
    }
    problems
}

fn facts(record: &RunRecord) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push(Fact { name: name.into(), value });
    match &record.source {
        SourceState::Git { commit, branch, dirty } => {
            let state = if *dirty { ", with uncommitted changes" } else { "" };
            fact("commit", format!("{}{state}", short_commit(commit)));
            fact("branch", branch.clone().unwrap_or_else(|| "none (detached)".into()));
        }
        SourceState::Absent { absent } => fact("commit", absent.clone()),
    }
    if let Some(base) = &record.base {
        let commit = match &base.source {
            SourceState::Git { commit, .. } => short_commit(commit).to_owned(),
            SourceState::Absent { absent } => absent.clone(),
        };
        let same = if base.identical { ", with byte-identical programs" } else { "" };
        fact("base", format!("{commit}{same}"));
    }
    fact("begun", units::minute(&record.run.started));
    fact("took", took(record));
    fact("effort", record.run.effort.as_str().to_owned());
    fact("machine class", record.machine.class.clone());
    let of_machine = |key: &str| record.machine.facts.get(key);
    let cpu = of_machine("cpu").map(|cpu| match of_machine("logical-cores") {
        Some(cores) => format!("{cpu}, {cores} logical cores"),
        None => cpu.clone(),
    });
    fact("processor", cpu.unwrap_or_else(|| "unknown".into()));
    let gpu = match (of_machine("gpu"), of_machine("gpu-fault")) {
        (Some(gpu), _) => {
            let kind = of_machine("gpu-kind").map_or_else(String::new, |kind| format!(" ({kind})"));
            let backend = of_machine("gpu-backend").map_or_else(String::new, |b| format!(", {b}"));
            format!("{gpu}{kind}{backend}")
        }
        (None, Some(fault)) => format!("unknown: {fault}"),
        (None, None) => "none used".into(),
    };
    fact("GPU", gpu);
    fact("system", of_machine("os-version").or(of_machine("os")).cloned().unwrap_or_default());
    fact("harness", record.run.harness.clone());
    facts.retain(|fact| !fact.value.is_empty());
    facts
}

fn took(record: &RunRecord) -> String {
    let (Ok(from), Ok(to)) =
        (record.run.started.parse::<Timestamp>(), record.run.finished.parse::<Timestamp>())
    else {
        return String::new();
    };
    let seconds = (to.as_nanosecond() - from.as_nanosecond()) as f64 / 1e9;
    let text = if seconds < 120.0 { units::duration(seconds * 1e9) } else { minutes(seconds) };
    if record.run.resumed > 0 {
        format!("{text}, with {}", units::counted(record.run.resumed as usize, "break"))
    } else {
        text
    }
}

fn minutes(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole / 3600 {
        0 => format!("{} min {} s", whole / 60, whole % 60),
        hours => format!("{hours} h {} min", whole % 3600 / 60),
    }
}

fn limits(material: &Material<'_>) -> Vec<String> {
    let record = material.record;
    let mut limits = Vec::new();
    limits.extend(smallest_detectable(record));
    limits.extend(dropped(record));
    for (kind, word) in [(OutcomeKind::Skipped, "skipped"), (OutcomeKind::NotRun, "not run")] {
        let those = record.benchmarks.iter().filter(|b| b.outcome.kind == kind && !b.succeeded());
        let names: Vec<String> = those.map(|b| b.id.to_string()).collect();
        if !names.is_empty() {
            limits.push(format!("{word}: {}", some(&names)));
        }
    }
    let few: Vec<String> = walls(record)
        .filter(|c| c.estimate.launches < MIN_LAUNCHES_TO_DECIDE)
        .map(|c| c.candidate.to_string())
        .collect();
    if !few.is_empty() {
        limits.push(format!("too few launches for an interval: {}", some(&few)));
    }
    if record.run.ended == RunEnd::Interrupted {
        limits.push("the run was interrupted; later benchmarks are missing".into());
    }
    limits.extend(record.machine.no_gpu_times().map(|why| format!("times say nothing about a GPU: {why}")));
    if let Err(why) = material.samples {
        limits.push(format!("plots show launches instead of samples: {why}"));
    }
    limits.extend(material.gate.iter().flat_map(|gate| words::remarks(gate)));
    limits.extend(material.remarks.iter().cloned());
    limits
}

fn walls(record: &RunRecord) -> impl Iterator<Item = &ComparisonRecord> {
    let base = record.base.iter().flat_map(|base| &base.comparisons);
    base.chain(&record.comparisons).filter(|c| c.metric.as_str() == standard::WALL_TIME)
}

fn smallest_detectable(record: &RunRecord) -> Option<String> {
    // Two launches say next to nothing about their spread.
    let mut found: Vec<(f64, String)> = walls(record)
        .filter(|c| c.estimate.launches >= MIN_LAUNCHES_TO_DECIDE)
        .filter_map(|c| Some((c.smallest_detectable.filter(|d| d.is_finite())?, c.candidate.to_string())))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let effects: Vec<f64> = found.iter().map(|(effect, _)| *effect).collect();
    let middle = median(&effects)?;
    let (worst, of) = found.last()?;
    let share = |effect: f64| match effect.exp() {
        ratio if ratio < 3.0 => units::percent(ratio - 1.0),
        ratio => units::factor(ratio),
    };
    Some(format!(
        "nine of ten such runs detect changes of wall time of {} or more in half of the comparisons, and of {} or more in \
         the least precise one, {of}",
        share(middle),
        share(*worst)
    ))
}

fn dropped(record: &RunRecord) -> Option<String> {
    let blocks: u64 = record.cases.iter().map(|case| case.blocks).sum();
    let mut causes: BTreeMap<&str, u64> = BTreeMap::new();
    for (cause, count) in record.cases.iter().flat_map(|case| &case.dropped_blocks) {
        *causes.entry(cause).or_default() += count;
    }
    let all: u64 = causes.values().sum();
    (all > 0).then(|| {
        let causes: Vec<String> = causes.iter().map(|(cause, n)| format!("{cause} {n}")).collect();
        format!(
            "{} of {} dropped as contaminated ({})",
            units::count(all as f64),
            units::counted(blocks as usize, "block"),
            causes.join(", ")
        )
    })
}

/// Joins the first few names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
