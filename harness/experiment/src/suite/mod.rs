//! Whole gates of twenty benchmarks with known truth, measured and judged as users get them.

mod again;
mod line;
mod measure;
mod programs;
mod rivals;
mod statistics;
mod summary;
mod tango;

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::Path;

pub(crate) use line::Pair;
use line::{Conditions, Gate};
use measure::Sides;
use rivals::Rival;

use crate::neighbour::Neighbour;
use crate::{SuiteOpts, rows, say};

/// Benchmarks of a kernel in the suite.
const KERNELS: [(&str, u64); 6] =
    [("spin", 4), ("gather", 4), ("append", 4), ("copy", 4), ("gpu", 2), ("sweep", 2)];

/// The kernel of a benchmark of the suite.
fn kernel_of(case: &str) -> &str {
    case.split_once('-').map_or(case, |(kernel, _)| kernel)
}

/// Runs the gates that the output does not have yet, or only summarises.
pub(crate) fn run(opts: &SuiteOpts) -> anyhow::Result<()> {
    if opts.summary {
        let mut gates = Vec::new();
        for path in &opts.output {
            gates.extend(rows::read(path, |_: &Gate| true)?);
        }
        if let Some((low, high)) = opts.load {
            gates.retain(|gate| gate.load[1].is_some_and(|load| (low..high).contains(&load)));
        }
        return summary::print(&gates);
    }
    let [path] = opts.output.as_slice() else {
        anyhow::bail!("name one --output to measure into; several are for --summary");
    };
    let conditions = Conditions {
        pair: opts.pair,
        layouts: if opts.program.is_some() { 1 } else { opts.layouts },
        planted: opts.planted,
        threshold: opts.threshold,
        budget_s: opts.time_budget,
        sample_ms: opts.sample_ms,
        neighbours: opts.neighbours,
        instructions: !opts.no_instructions,
        kernels: if opts.planted > 1.0 { opts.kernels.clone() } else { Vec::new() },
        benchmarks: opts.benchmarks.clone(),
    };
    let known = rows::read(path, |gate: &Gate| gate.conditions == conditions)?;
    if opts.program.is_none() {
        programs::build(opts.rebuild)?;
    }
    let neighbours = (0..opts.neighbours).map(|_| Neighbour::start()).collect::<Result<Vec<_>, _>>()?;
    let mut output = File::options().create(true).append(true).open(path)?;
    let waiting = opts.gates.clone().filter(|number| known.iter().all(|gate| gate.number != *number));
    for number in waiting.take(opts.count.unwrap_or(usize::MAX)) {
        if opts.stop.as_deref().is_some_and(Path::exists) {
            break;
        }
        let gate = one(number, &conditions, opts)?;
        rows::append(&mut output, std::slice::from_ref(&gate))?;
        say(&gate.told());
    }
    drop(neighbours);
    Ok(())
}

fn one(number: u64, conditions: &Conditions, opts: &SuiteOpts) -> anyhow::Result<Gate> {
    let planted_in = planted_in(number, conditions);
    let sides = Sides::of(number, conditions, planted_in, opts.program.as_deref());
    let mut gate = measure::measure(number, conditions, &sides)?;
    if opts.rivals > 0 && number.is_multiple_of(opts.rivals) {
        // They get the planted benchmark, or else one in turn, and the time that it took here.
        let case = gate.planted_in.clone().unwrap_or_else(|| case_of(number / opts.rivals));
        let seconds = gate.rows.iter().filter(|row| row.case == case).map(line::Row::seconds).sum();
        gate.rival = Some(Rival::measure(&sides.workers, &case, seconds, number)?);
    }
    Ok(gate)
}

/// The benchmark with the planted work: the kernels take turns, and the sizes of a kernel.
fn planted_in(number: u64, conditions: &Conditions) -> Option<String> {
    let kernels = conditions.kernels.len() as u64;
    if kernels == 0 {
        return None;
    }
    let kernel = conditions.kernels[(number % kernels) as usize].as_str();
    let sizes = KERNELS.iter().find(|(name, _)| *name == kernel).map_or(1, |(_, sizes)| *sizes);
    Some(format!("{kernel}-{}", (number / kernels) % sizes + 1))
}

/// Every benchmark in turn.
fn case_of(number: u64) -> String {
    let all: Vec<String> = KERNELS
        .iter()
        .flat_map(|(kernel, sizes)| (1..=*sizes).map(move |size| format!("{kernel}-{size}")))
        .collect();
    // A step that visits all of them, but not one kernel after the other.
    all[(number * 7) as usize % all.len()].clone()
}

/// Parses `20..40`, the gates from 20 to 39, or `100`, the first hundred.
pub(crate) fn gates(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|error| format!("`{text}`: {error}"));
    let (first, end) = match text.split_once("..") {
        Some((first, end)) => (number(first)?, number(end)?),
        None => (1, number(text)? + 1),
    };
    if first == 0 || end <= first {
        return Err("gates are numbered from 1, and a range has at least one".into());
    }
    Ok(first..=end - 1)
}

/// Parses `0..3`, load averages from 0 to below 3.
pub(crate) fn loads(text: &str) -> Result<(f64, f64), String> {
    let (low, high) = text.split_once("..").ok_or("it needs two figures, such as 0..3")?;
    let figure = |text: &str| text.parse::<f64>().map_err(|error| format!("`{text}`: {error}"));
    Ok((figure(low)?, figure(high)?))
}

impl Gate {
    fn told(&self) -> String {
        let open = |verdict: &str| {
            let of = |row: &&line::Row| row.verdict.is_some_and(|v| v.name() == verdict);
            self.rows.iter().filter(of).map(|row| row.case.as_str()).collect::<Vec<_>>().join(" ")
        };
        format!(
            "gate {}: {:?}, {:.1} s of launches, {:.1} s in all, load {:.1}; planted in {}; regressed: {}; inconclusive: {}",
            self.number,
            self.outcome,
            self.launches_s,
            self.whole_s,
            self.load[1].unwrap_or(f64::NAN),
            self.planted_in.as_deref().unwrap_or("nothing"),
            open("regressed"),
            open("inconclusive"),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_range_of_gates_excludes_its_end() {
        assert_eq!(gates("20..40"), Ok(20..=39));
        assert_eq!(gates("100"), Ok(1..=100));
        for wrong in ["", "0..4", "5..5", "a", "3..b", "0"] {
            assert!(gates(wrong).is_err(), "{wrong}");
        }
        assert_eq!(loads("0..3.5"), Ok((0.0, 3.5)));
        assert!(loads("3").is_err() && loads("a..b").is_err());
    }

    #[test]
    fn every_benchmark_has_its_turn() {
        let suite: BTreeSet<String> = perfharness_known_work::suite()
            .definition()
            .cases
            .iter()
            .map(|case| case.id.to_string())
            .collect();
        assert_eq!((1..=20).map(case_of).collect::<BTreeSet<_>>(), suite);
        let conditions = Conditions {
            pair: Pair::Relinked,
            layouts: 1,
            planted: 1.05,
            threshold: 0.03,
            budget_s: 1.0,
            sample_ms: None,
            neighbours: 0,
            instructions: false,
            kernels: ["spin", "gather", "append", "copy"].map(str::to_owned).into(),
            benchmarks: Vec::new(),
        };
        let planted: BTreeSet<String> =
            (1..=16).filter_map(|number| planted_in(number, &conditions)).collect();
        assert_eq!(planted.len(), 16);
        assert!(planted.is_subset(&suite));
        assert_eq!(planted_in(1, &Conditions { kernels: Vec::new(), ..conditions }), None);
    }
}
