//! Summaries of the known runs, for pages that show many runs side by side.
//!
//! The record of two hundred benchmarks takes a megabyte, so that a page cannot read a thousand of them. A small
//! [`RunSummary`] therefore lies beside each record, and is replaced if it is missing or the record changed.

mod folder;

pub use folder::{FoundRun, Reports, SUMMARY_FILE, parse_gate, read_gate};

use std::collections::BTreeMap;

use perfharness_contract::standard;
use perfharness_record::baseline::Baseline;
use perfharness_record::compare::{GateReport, Tally};
use perfharness_record::{RunRecord, SourceState, short_commit};
use perfharness_verdict::judge::{GateOutcome, Verdict};
use serde::{Deserialize, Serialize};

/// Version of the format of a summary. A summary of another version is replaced.
pub const SUMMARY_VERSION: u32 = 1;

/// The facts of a run that are shown beside those of other runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Version of this format.
    pub format: u32,
    /// State of the files that it was made from: their sizes and modification times.
    pub of: String,
    /// Id of the run.
    pub run: String,
    /// Start of the run, RFC 3339, UTC.
    pub started: String,
    /// The commit, shortened, or the id of the run if there is no commit.
    pub name: String,
    /// The branch.
    pub branch: Option<String>,
    /// The machine class.
    pub class: String,
    /// Path of its page, relative to the folder of all reports.
    pub page: String,
    /// Result of the run.
    pub standing: Standing,
    /// Number of rows with each verdict, if the run was judged.
    pub tally: Option<Tally>,
    /// Its benchmarks.
    pub benchmarks: BTreeMap<String, BenchmarkSummary>,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Judged without a regression.
    Ok,
    /// Not judged.
    Measured,
    /// Judged without a decision.
    Undecided,
    /// Judged with a regression.
    Regressed,
    /// At least one benchmark failed.
    Failed,
}

/// One benchmark of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSummary {
    /// Wall time of an iteration in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<f64>,
    /// Whether a gate found a regression in any of its metrics.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub regressed: bool,
    /// Whether its figures were accepted as a baseline.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

impl RunSummary {
    /// Summarizes a record and the report of a gate on it.
    pub fn new(record: &RunRecord, gate: Option<&GateReport>, page: String, of: String) -> Self {
        let failed = record.benchmarks.iter().filter(|b| b.failed()).count();
        let standing = match gate.map(|gate| gate.outcome) {
            _ if failed > 0 => Standing::Failed,
            None => Standing::Measured,
            Some(GateOutcome::Ok) => Standing::Ok,
            Some(GateOutcome::Undecided | GateOutcome::NothingCompared | GateOutcome::Redefined) => {
                Standing::Undecided
            }
            Some(GateOutcome::Regressed) => Standing::Regressed,
            Some(GateOutcome::Failed) => Standing::Failed,
        };
        let (name, branch) = match &record.source {
            SourceState::Git { commit, branch, dirty } => {
                let short = short_commit(commit);
                (if *dirty { format!("{short} with changes") } else { short.into() }, branch.clone())
            }
            SourceState::Absent { .. } => (record.run.id.clone(), None),
        };
        let mut benchmarks: BTreeMap<String, BenchmarkSummary> = BTreeMap::new();
        for benchmark in &record.benchmarks {
            let wall = benchmark.metrics.get(standard::WALL_TIME).and_then(|m| m.value.value());
            let wall = wall.filter(|ns| ns.is_finite());
            benchmarks
                .insert(benchmark.id.to_string(), BenchmarkSummary { wall, ..BenchmarkSummary::default() });
        }
        for row in gate.iter().flat_map(|gate| &gate.rows) {
            if row.judgement.verdict == Verdict::Regressed
                && row.judgement.gates()
                && let Some(benchmark) = benchmarks.get_mut(&row.benchmark)
            {
                benchmark.regressed = true;
            }
        }
        Self {
            format: SUMMARY_VERSION,
            of,
            run: record.run.id.clone(),
            started: record.run.started.clone(),
            name,
            branch,
            class: record.machine.class.clone(),
            page,
            standing,
            tally: gate.map(GateReport::tally),
            benchmarks,
        }
    }
}

/// Marks the run whose figures were accepted. If the accepted run is unknown, marks the first run of the machine
/// class that started at the acceptance or later.
pub fn mark_accepted(summaries: &mut [RunSummary], baselines: &[Baseline]) {
    summaries.sort_by(|a, b| (&a.started, &a.run).cmp(&(&b.started, &b.run)));
    for baseline in baselines {
        for entry in &baseline.benchmarks {
            let Some(acceptance) = baseline.acceptance(entry) else { continue };
            let id = entry.id.to_string();
            let of_class =
                |run: &&mut RunSummary| run.class == baseline.class && run.benchmarks.contains_key(&id);
            let last = acceptance.runs.last();
            let accepted = summaries.iter_mut().filter(of_class).find(|run| last == Some(&run.run));
            let accepted = match accepted {
                Some(run) => Some(run),
                None => summaries.iter_mut().filter(of_class).find(|run| run.started >= acceptance.when),
            };
            if let Some(figures) = accepted.and_then(|run| run.benchmarks.get_mut(&id)) {
                figures.accepted = true;
            }
        }
    }
}
