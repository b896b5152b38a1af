//! Profiles as call graphs: <https://valgrind.org/docs/manual/cl-format.html>. `KCachegrind`, `QCachegrind` and
//! `callgrind_annotate` read them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use perfharness_record::StackProfile;

/// The file of every function: a profile has no files.
const UNKNOWN: &str = "???";

/// Encodes one profile; `benchmark` is the root of all stacks. How often a function was called is not
/// known; readers take a call that was made 0 times for work of the caller, so that it is 1.
pub(super) fn callgrind(profile: &StackProfile, benchmark: &str) -> String {
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    let mut calls: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    let mut total = 0;
    for (frames, count) in &profile.stacks {
        let cost = (*count as f64 * profile.period()).round() as u64;
        total += cost;
        let names: Vec<&str> = std::iter::once(benchmark).chain(frames.iter().map(String::as_str)).collect();
        *own.entry(names[names.len() - 1]).or_default() += cost;
        // A recursive function calls itself once, however deep.
        let pairs: BTreeSet<(&str, &str)> = names.windows(2).map(|pair| (pair[0], pair[1])).collect();
        for (caller, callee) in pairs {
            *calls.entry(caller).or_default().entry(callee).or_default() += cost;
        }
    }
    let event: String =
        profile.unit.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let mut text = format!(
        "# callgrind format\nversion: 1\ncreator: perfharness {}\ncmd: {}\npositions: line\nevents: {event}\n\
         summary: {total}\n\n\
         fl={UNKNOWN}\n",
        env!("CARGO_PKG_VERSION"),
        in_a_line(benchmark),
    );
    let functions: BTreeSet<&str> = own.keys().chain(calls.keys()).copied().collect();
    let numbers: BTreeMap<&str, usize> =
        functions.iter().enumerate().map(|(at, name)| (*name, at + 1)).collect();
    let number = |name: &str| numbers.get(name).copied().unwrap_or(0);
    let mut named = BTreeSet::new();
    let mut reference = |name| {
        // A name is written once, and its number thereafter.
        if named.insert(name) {
            format!("({}) {}", number(name), in_a_line(name))
        } else {
            format!("({})", number(name))
        }
    };
    for function in &functions {
        let _ = write!(text, "\nfn={}\n0 {}\n", reference(function), own.get(function).copied().unwrap_or(0));
        for (callee, cost) in calls.get(function).into_iter().flatten() {
            let _ = write!(text, "cfn={}\ncalls=1 0\n0 {cost}\n", reference(callee));
        }
    }
    let _ = write!(text, "\ntotals: {total}\n");
    text
}

/// A name as it may stand in a line.
fn in_a_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(stacks: &[(&[&str], u64)]) -> StackProfile {
        let stacks: BTreeMap<Vec<String>, u64> = stacks
            .iter()
            .map(|(frames, count)| (frames.iter().map(|frame| (*frame).to_owned()).collect(), *count))
            .collect();
        let total = stacks.values().sum::<u64>() as f64;
        StackProfile { stacks, total, unit: "instructions".into(), iterations: 1, ..StackProfile::default() }
    }

    #[test]
    fn a_call_costs_what_the_stacks_through_it_have() {
        let profile = profile(&[
            (&["run"], 10),
            (&["run", "walk"], 100),
            (&["run", "walk", "walk"], 50),
            (&["run", "walk", "walk", "mem\ncpy"], 7),
            (&["run", "mem\ncpy"], 3),
        ]);
        let text = callgrind(&profile, "w/c/v");
        insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }
}
