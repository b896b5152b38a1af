//! From run records to a baseline.

use std::collections::{BTreeMap, BTreeSet};

use perfharness_contract::{
    BenchmarkId, CaseDef, Digest, Direction, Effort, MetricDef, MetricKind, Number, Portability, Role,
    VariantDef, WorkloadDef, standard,
};

use super::{Acceptance, Baseline, Before, Conditions, Entry, Figures, Former, SPEED_UP};
use crate::counted::found_under;
use crate::{BenchmarkRecord, Pattern, RunEnd, RunRecord, Section, SourceState};

/// Terms of an acceptance, beside the records.
#[derive(Clone, Debug)]
pub struct AcceptTerms<'a> {
    /// Only benchmarks that match one of these; all where there are none.
    pub only: &'a [Pattern],
    /// Why.
    pub reason: &'a str,
    /// When, RFC 3339, UTC.
    pub when: String,
}

/// Why records cannot be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// There is no record.
    #[error("there is no record to accept")]
    NoRecord,
    /// A run was stopped before its end.
    #[error("run {run} was stopped before its end; measure again, or go on with `perfharness run --resume`")]
    Interrupted {
        /// The run.
        run: String,
    },
    /// The same run is given twice, which would look like less noise than there is.
    #[error("run {run} is given twice")]
    Twice {
        /// The run.
        run: String,
    },
    /// Runs do not belong together.
    #[error("the runs {first} and {second} differ in their {what}; accept runs of one kind only")]
    Mixed {
        /// A run.
        first: String,
        /// Another one.
        second: String,
        /// In what they differ.
        what: &'static str,
    },
    /// The baseline was measured under other conditions.
    #[error(
        "the baseline of {class} was measured with another {what}; use the same, or remove its file to begin anew"
    )]
    Conditions {
        /// The machine class.
        class: String,
        /// In what they differ.
        what: &'static str,
    },
    /// A benchmark failed.
    #[error("{id} ended as {outcome} in run {run}; what fails cannot be accepted")]
    Failed {
        /// The benchmark.
        id: BenchmarkId,
        /// Outcome of the benchmark.
        outcome: &'static str,
        /// The run.
        run: String,
    },
    /// Nothing matches.
    #[error("nothing that was measured matches --only")]
    NothingMatches,
}

/// A new baseline, and what was left out or dropped, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// The baseline.
    pub baseline: Baseline,
    /// Benchmarks that were accepted.
    pub accepted: Vec<BenchmarkId>,
    /// Remarks for the user.
    pub remarks: Vec<String>,
}

/// Makes a baseline of run records, and of what the baseline before has beside them.
///
/// # Errors
/// When the records do not belong together, or something in them failed.
pub fn accept(
    records: &[RunRecord],
    before: Option<&Baseline>,
    terms: &AcceptTerms<'_>,
) -> Result<Accepted, AcceptError> {
    let first = records.first().ok_or(AcceptError::NoRecord)?;
    belong_together(records)?;
    let conditions = conditions_of(first);
    if let Some(before) = before
        && let Some(what) = difference(&before.conditions, &conditions)
    {
        return Err(AcceptError::Conditions { class: before.class.clone(), what });
    }
    let number = before.and_then(|b| b.acceptances.last()).map_or(1, |last| last.number + 1);
    let (commit, dirty) = match &first.source {
        SourceState::Git { commit, dirty, .. } => (Some(commit.clone()), *dirty),
        SourceState::Absent { .. } => (None, false),
    };
    let acceptance = Acceptance {
        number,
        when: terms.when.clone(),
        reason: terms.reason.to_owned(),
        commit,
        dirty,
        runs: records.iter().map(|record| record.run.id.clone()).collect(),
        harness: first.run.harness.clone(),
    };

    let matches = |id: &BenchmarkId| terms.only.is_empty() || terms.only.iter().any(|p| p.matches_id(id));
    let mut remarks = Vec::new();
    let mut entries: BTreeMap<BenchmarkId, Entry> = BTreeMap::new();
    let ids: BTreeSet<&BenchmarkId> =
        records.iter().flat_map(|r| &r.benchmarks).map(|b| &b.id).filter(|id| matches(id)).collect();
    if ids.is_empty() {
        return Err(AcceptError::NothingMatches);
    }
    for id in ids {
        let found: Vec<(&RunRecord, &BenchmarkRecord)> =
            records.iter().filter_map(|record| Some((record, record.section().benchmark(id)?))).collect();
        if let Some((record, failed)) = found.iter().find(|(_, b)| b.failed()) {
            return Err(AcceptError::Failed {
                id: id.clone(),
                outcome: failed.outcome.kind.as_str(),
                run: record.run.id.clone(),
            });
        }
        let measured: Vec<_> = found.into_iter().filter(|(_, b)| b.succeeded()).collect();
        match entry(id, number, &measured) {
            Some(entry) => drop(entries.insert(id.clone(), entry)),
            None => remarks.push(format!("{id} was not measured and is left out")),
        }
    }
    let accepted: Vec<BenchmarkId> = entries.keys().cloned().collect();
    let scope = Scope::of(first);
    for old in before.map(|b| b.benchmarks.as_slice()).unwrap_or_default() {
        match entries.get_mut(&old.id) {
            Some(entry) => {
                entry.before = Some(Before {
                    accepted: old.accepted,
                    metrics: old.metrics.iter().filter_map(|(k, f)| Some((k.clone(), f.middle()?))).collect(),
                });
            }
            // What these runs would have measured if it were still there.
            None if terms.only.is_empty() && scope.holds(old) => {
                remarks.push(format!("{} is not there any more and is dropped", old.id));
            }
            None => drop(entries.insert(old.id.clone(), old.clone())),
        }
    }
    if records.len() < perfharness_verdict::judge::MIN_BASELINE_RUNS {
        remarks.push(format!(
            "{} of the {} runs that times need: their verdicts will be advisory",
            records.len(),
            perfharness_verdict::judge::MIN_BASELINE_RUNS
        ));
    }
    let mut acceptances = before.map(|b| b.acceptances.clone()).unwrap_or_default();
    acceptances.push(acceptance);
    let baseline = Baseline {
        class: first.machine.class.clone(),
        facts: first.machine.facts.clone(),
        conditions,
        acceptances,
        benchmarks: entries.into_values().collect(),
    };
    Ok(Accepted { baseline, accepted, remarks })
}

/// The figures of one record as if they were accepted: the launches stand for the runs. What failed has none.
pub fn of_record(record: &RunRecord) -> Baseline {
    let entries = record.benchmarks.iter().filter(|b| b.succeeded()).filter_map(|benchmark| {
        let mut entry = entry(&benchmark.id, 1, &[(record, benchmark)])?;
        for (metric, figures) in entry.metrics.iter_mut().filter(|(_, f)| f.kind == MetricKind::Time) {
            let launches: Vec<f64> = benchmark.metrics.get(metric)?.launches.iter().map(|n| n.0).collect();
            let usable = launches.len() > 1 && launches.iter().all(|v| v.is_finite() && *v > 0.0);
            if usable {
                figures.anchors =
                    figures.anchors.first().map(|a| vec![*a; launches.len()]).unwrap_or_default();
                figures.values = launches;
            }
        }
        if let (Some(figures), Some(comparison)) =
            (entry.metrics.get_mut(SPEED_UP), record.section().comparison(&benchmark.id, standard::WALL_TIME))
        {
            figures.values = comparison.launches.iter().map(|theta| (-theta).exp()).collect();
        }
        Some(entry)
    });
    let mut benchmarks: Vec<Entry> = entries.collect();
    benchmarks.sort_by(|a, b| a.id.cmp(&b.id));
    Baseline {
        class: record.machine.class.clone(),
        facts: record.machine.facts.clone(),
        conditions: conditions_of(record),
        acceptances: vec![Acceptance {
            number: 1,
            when: record.run.finished.clone(),
            reason: "compared".into(),
            commit: None,
            dirty: false,
            runs: vec![record.run.id.clone()],
            harness: record.run.harness.clone(),
        }],
        benchmarks,
    }
}

/// Returns the conditions that the figures of a record depend on.
pub fn conditions_of(record: &RunRecord) -> Conditions {
    Conditions {
        seed: record.run.seed,
        device: record.run.device.clone(),
        settings: record.run.settings.clone(),
    }
}

/// In what conditions differ, so that exact figures of both mean different things. The device is a matter of the
/// machine class.
pub fn difference(one: &Conditions, other: &Conditions) -> Option<&'static str> {
    let Conditions { seed, device: _, settings } = one;
    if *seed != other.seed {
        return Some("seed");
    }
    (*settings != other.settings).then_some("settings")
}

/// The scope of a run: what was asked for.
#[derive(Debug)]
pub struct Scope {
    patterns: Vec<Pattern>,
    effort: Effort,
}

impl Scope {
    /// Returns the scope of a record.
    pub fn of(record: &RunRecord) -> Self {
        let patterns = record.run.patterns.iter().filter_map(|text| text.parse().ok()).collect();
        Self { patterns, effort: record.run.effort }
    }

    /// Whether it holds what an entry stands for.
    pub fn holds(&self, entry: &Entry) -> bool {
        self.patterns.iter().any(|pattern| pattern.selects(&entry.id, &entry.efforts, self.effort))
    }
}

fn digests(record: &RunRecord) -> Vec<&Option<String>> {
    record.workers.iter().map(|worker| &worker.digest).collect()
}

fn belong_together(records: &[RunRecord]) -> Result<(), AcceptError> {
    let first = &records[0];
    for (at, record) in records.iter().enumerate() {
        let run = || record.run.id.clone();
        if record.run.ended == RunEnd::Interrupted {
            return Err(AcceptError::Interrupted { run: run() });
        }
        if records[..at].iter().any(|other| other.run.id == record.run.id) {
            return Err(AcceptError::Twice { run: run() });
        }
        let versions = |r: &RunRecord| -> BTreeMap<String, u32> {
            r.workloads.iter().map(|w| (w.id.to_string(), w.version)).collect()
        };
        let (ours, theirs) = (versions(record), versions(first));
        let redefined = ours.iter().any(|(id, version)| theirs.get(id).is_some_and(|other| other != version));
        let what = if record.machine.class != first.machine.class {
            Some("machine class")
        } else if !record.source.is_same_code(&first.source) {
            Some("commit")
        } else if redefined {
            Some("definitions")
        } else if digests(record) != digests(first) {
            Some("worker programs")
        } else {
            difference(&conditions_of(record), &conditions_of(first))
        };
        if let Some(what) = what {
            return Err(AcceptError::Mixed { first: first.run.id.clone(), second: run(), what });
        }
    }
    Ok(())
}

/// An entry from the runs that measured a benchmark; `None` without any.
fn entry(id: &BenchmarkId, number: u32, measured: &[(&RunRecord, &BenchmarkRecord)]) -> Option<Entry> {
    let (record, benchmark) = measured.first()?;
    let workload = record.workload(&id.workload)?;
    let (case, variant) = (workload.case(&id.case)?, workload.variant(&id.variant)?);
    let definitions = record.metrics.iter().chain(&workload.metrics).filter(|m| m.id != standard::RATE);
    let of_metric =
        |definition: &MetricDef| Some((definition.id.to_string(), figures(definition, measured)?));
    let speed_up = speed_up(measured).map(|figures| (SPEED_UP.to_owned(), figures));
    let metrics = definitions.filter_map(of_metric).chain(speed_up).collect();
    Some(Entry {
        id: id.clone(),
        accepted: number,
        definition: benchmark.definition,
        identity: identity(workload, case, variant),
        efforts: efforts(case, variant),
        role: benchmark.role,
        expected: benchmark.expected,
        calibrated: Former::default(),
        metrics,
        before: None,
    })
}

fn efforts(case: &CaseDef, variant: &VariantDef) -> Vec<Effort> {
    Effort::ALL.into_iter().filter(|e| case.efforts.contains(e) && variant.efforts.contains(e)).collect()
}

/// A digest of what makes a benchmark what it is, beside its names: two benchmarks with the same one do the same.
pub fn identity(workload: &WorkloadDef, case: &CaseDef, variant: &VariantDef) -> Digest {
    let params = serde_json::to_string(&case.params).unwrap_or_default();
    let version = workload.version.to_string();
    let parts = [&workload.summary, &version, &params, &variant.summary, identity_word(variant.role)];
    Digest::of_parts(parts.map(str::as_bytes))
}

/// The word for a role in an identity. Accepted figures hold digests of it, so that it must stay as it is.
fn identity_word(role: Role) -> &'static str {
    match role {
        Role::Slow => "Slow",
        Role::Documented => "Documented",
        Role::Optimized => "Optimized",
        Role::Other => "Other",
    }
}

/// The figures of one metric; `None` where a run has none.
fn figures(definition: &MetricDef, measured: &[(&RunRecord, &BenchmarkRecord)]) -> Option<Figures> {
    let records: Vec<_> = measured.iter().map(|(_, b)| b.metrics.get(definition.id.as_str())).collect();
    let values: Option<Vec<f64>> = records.iter().map(|record| (*record)?.value.value()).collect();
    let values = values.filter(|values| values.iter().all(|value| value.is_finite()))?;
    let is_time = definition.kind == MetricKind::Time;
    let launches = records.iter().flatten().flat_map(|record| &record.launches).map(|Number(value)| *value);
    let range = launches.filter(|value| value.is_finite()).fold(None, |range: Option<[f64; 2]>, value| {
        let [low, high] = range.unwrap_or([value, value]);
        Some([low.min(value), high.max(value)])
    });
    let anchors: Option<Vec<f64>> =
        measured.iter().map(|(record, benchmark)| anchor(record.section(), &benchmark.id)).collect();
    Some(Figures {
        unit: definition.unit.clone(),
        kind: definition.kind,
        direction: definition.direction,
        portability: definition.portability,
        work: definition.work,
        version: definition.version,
        values,
        launches: records.iter().flatten().map(|record| record.launches.len()).min().unwrap_or(0),
        range: range.filter(|[low, high]| !is_time && low != high),
        anchors: anchors.filter(|_| is_time).unwrap_or_default(),
        under: match measured {
            [(record, benchmark), ..] => {
                found_under(record, benchmark, definition.id.as_str()).unwrap_or_default()
            }
            [] => BTreeMap::new(),
        },
    })
}

/// Returns the median time of the anchor in the launches of a benchmark's case, in ns.
pub fn anchor(section: Section<'_>, id: &BenchmarkId) -> Option<f64> {
    // Against a base, the first case of the size stands for all of its variants.
    let case = section.cases.iter().find(|case| case.workload == id.workload && case.case == id.case)?;
    let anchors: Vec<f64> = case.launches.iter().filter_map(|launch| launch.anchor_ns).collect();
    perfharness_verdict::median(&anchors).filter(|anchor| *anchor > 0.0)
}

fn speed_up(measured: &[(&RunRecord, &BenchmarkRecord)]) -> Option<Figures> {
    let comparisons = measured.iter().map(|(record, benchmark)| {
        let comparison = record.section().comparison(&benchmark.id, standard::WALL_TIME)?;
        Some((comparison.speed_up().0, comparison.launches.len()))
    });
    let (values, launches): (Vec<f64>, Vec<usize>) = comparisons.collect::<Option<_>>()?;
    Some(Figures {
        unit: "times".into(),
        kind: MetricKind::Derived,
        direction: Direction::Higher,
        portability: Portability::MachineClass,
        work: false,
        version: 1,
        values: Some(values).filter(|values| values.iter().all(|value| value.is_finite()))?,
        launches: launches.into_iter().min().unwrap_or(0),
        range: None,
        anchors: Vec::new(),
        under: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_identity_of_a_benchmark_stays_what_accepted_figures_hold() {
        let identity = |role: &str| {
            let workload = json!({
                "id": "w", "version": 3, "title": "W", "summary": "does it",
                "cases": [{"id": "c", "title": "C", "params": {"n": 1000}}],
                "variants": [{"id": "v", "title": "V", "summary": "fast", "role": role}],
            });
            let workload: WorkloadDef = serde_json::from_value(workload).unwrap();
            identity(&workload, &workload.cases[0], &workload.variants[0]).0
        };
        let accepted = [
            "ca7dae24f617d56e757f4ddad62d64b8",
            "618e3775aab355463f73a4f639dacd9f",
            "12afad3e76964c98db7abd50000f4978",
            "071bca34a73962f97b3779def96e7785",
        ];
        assert_eq!(["slow", "documented", "optimized", "other"].map(identity), accepted);
    }
}
