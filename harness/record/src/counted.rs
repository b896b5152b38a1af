//! Conditions of the instructions and the compiled kernels of a benchmark beside its code. Where all of them are the same, figures that were counted on
//! one machine hold on another.

use std::collections::BTreeMap;

use perfharness_contract::gpu_metric::code_statistic;
use perfharness_contract::standard;

use crate::{BenchmarkRecord, Compiler, Counting, RunRecord};

/// Facts of the machine that decide which instructions the same program has: the system's release stands for its libraries.
const OF_MACHINE: [&str; 3] = ["os-version", "arch", "cpu-features"];

/// Returns what the instructions of a benchmark were counted under: the tool, facts of the machine, and what its worker
/// says of its compiler or interpreter.
fn counted_under(record: &RunRecord, benchmark: &BenchmarkRecord) -> BTreeMap<String, String> {
    let environment = benchmark.environment.and_then(|at| record.environments.get(at));
    let mut under = environment.map(|environment| environment.facts.clone()).unwrap_or_default();
    for fact in OF_MACHINE {
        under.extend(record.machine.facts.get(fact).map(|value| (fact.to_owned(), value.clone())));
    }
    if let Some(Counting::By { tool, .. }) = &record.counting {
        under.insert("tool".into(), without_corrections(tool));
    }
    under
}

/// Returns the conditions under which a figure that stands on something beside the code was found: `None` for all others. Code of
/// kernels is a matter of the compiler alone, which comes with the driver, and of the translator, which comes with the harness.
pub(crate) fn found_under(
    record: &RunRecord,
    benchmark: &BenchmarkRecord,
    metric: &str,
) -> Option<BTreeMap<String, String>> {
    if metric == standard::INSTRUCTIONS {
        return Some(counted_under(record, benchmark));
    }
    let (_, family) = code_statistic(metric)?;
    let mut under = BTreeMap::from([("harness".to_owned(), record.run.harness.clone())]);
    if let Some(Compiler::By { driver, .. }) = record.compilers.get(family) {
        under.insert("tool".into(), driver.clone());
    }
    Some(under)
}

/// Returns `valgrind 3.19` for `valgrind 3.19.0`: the last part of a version counts corrections.
fn without_corrections(tool: &str) -> String {
    let mut parts = tool.splitn(3, '.');
    let kept: Vec<&str> = parts.by_ref().take(2).collect();
    kept.join(".")
}

/// A fact that is not as it was when figures were accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OtherFact {
    pub(crate) name: String,
    pub(crate) accepted: Option<String>,
    pub(crate) now: Option<String>,
}

/// Returns the first fact that differs, the tool before all others.
pub(crate) fn first_other(
    accepted: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Option<OtherFact> {
    let differs = |name: &&String| accepted.get(*name) != now.get(*name);
    let mut names: Vec<&String> = accepted.keys().chain(now.keys()).filter(differs).collect();
    names.sort_by_key(|name| (name.as_str() != "tool", name.as_str()));
    let name = names.first()?;
    Some(OtherFact {
        name: (*name).clone(),
        accepted: accepted.get(*name).cloned(),
        now: now.get(*name).cloned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_correction_of_the_tool_counts_as_before() {
        assert_eq!(without_corrections("valgrind 3.19.0"), "valgrind 3.19");
        assert_eq!(without_corrections("valgrind 3.26.1.GIT"), "valgrind 3.26");
        assert_eq!(without_corrections("valgrind"), "valgrind");
    }

    #[test]
    fn the_tool_is_named_before_what_else_differs() {
        let accepted = facts(&[("arch", "x86_64"), ("rustc", "1.80"), ("tool", "valgrind 3.19")]);
        assert_eq!(first_other(&accepted, &accepted), None);
        let now = facts(&[("arch", "x86_64"), ("rustc", "1.81"), ("tool", "valgrind 3.20")]);
        assert_eq!(first_other(&accepted, &now).unwrap().name, "tool");
        let now = facts(&[("arch", "x86_64"), ("tool", "valgrind 3.19")]);
        let other = first_other(&accepted, &now).unwrap();
        assert_eq!(
            (other.name.as_str(), other.accepted.as_deref(), other.now),
            ("rustc", Some("1.80"), None)
        );
        assert_eq!(first_other(&BTreeMap::new(), &accepted).unwrap().accepted, None);
    }
}
