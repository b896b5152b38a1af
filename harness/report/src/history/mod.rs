//! The runs that are known: what of each is needed to show them side by side.
//!
//! A record of two hundred benchmarks has a megabyte; a thousand of them cannot be read whenever a page is made. So a
//! small [`Summary`] lies beside each, and is made again where it is missing or the record is another one.

mod folder;

pub use folder::{Found, Reports, SUMMARY_FILE, parse_gate, read_gate};

use std::collections::BTreeMap;

use perfharness_contract::standard;
use perfharness_verdict::judge::{GateOutcome, Verdict};
use serde::{Deserialize, Serialize};

use perfharness_record::baseline::Baseline;
use perfharness_record::compare::{GateReport, Tally};
use perfharness_record::{RunRecord, SourceState, short_commit};

/// Version of the form of a summary. One of another version is made again.
pub const SUMMARY_VERSION: u32 = 1;

/// What of a run is shown beside others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this form.
    pub format: u32,
    /// What it was made of: sizes and times of change of the files.
    pub of: String,
    /// Id of the run.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The commit, short, or the id of the run where there is none.
    pub name: String,
    /// The branch.
    pub branch: Option<String>,
    /// The machine class.
    pub class: String,
    /// Its page, relative to the folder of all reports.
    pub page: String,
    /// What came of it.
    pub standing: Standing,
    /// How often each verdict was reached, where it was judged.
    pub tally: Option<Tally>,
    /// Its benchmarks.
    pub benchmarks: BTreeMap<String, BenchmarkSummary>,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Held against something, and no regression.
    Ok,
    /// Held against nothing.
    Measured,
    /// Open.
    Undecided,
    /// A regression.
    Regressed,
    /// A benchmark failed.
    Failed,
}

/// One benchmark of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSummary {
    /// Wall time of an iteration in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall: Option<f64>,
    /// Whether a gate found a regression of it, in whatever metric.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub regressed: bool,
    /// Whether its figures are among those that were accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub accepted: bool,
}

impl Summary {
    /// The summary of a record and of what was found when it was judged.
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

/// Marks where figures were accepted: in the first run of the machine class that began no earlier, where the accepted
/// runs themselves are not known any more.
pub fn mark_accepted(summaries: &mut [Summary], baselines: &[Baseline]) {
    summaries.sort_by(|a, b| (&a.started, &a.run).cmp(&(&b.started, &b.run)));
    for baseline in baselines {
        for entry in &baseline.benchmarks {
            let Some(acceptance) = baseline.acceptance(entry) else { continue };
            let id = entry.id.to_string();
            let of_class =
                |run: &&mut Summary| run.class == baseline.class && run.benchmarks.contains_key(&id);
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
