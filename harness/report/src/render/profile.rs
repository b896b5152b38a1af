//! Profiles as text: the hottest functions of each benchmark, and the files to open.

use std::fmt::Write as _;

use perfharness_contract::protocol::ProfileClock;
use perfharness_record::plain_text::plain;
use perfharness_record::{INSTRUCTIONS, Origin, units};

use super::table::case_heading;
use crate::profile::{DifferenceGraph, FlameIndex, ProfileFacts, ProfileState, Shot};

/// Number of functions to name for each benchmark.
const NAMED: usize = 3;
/// Share of CPU time below which a CPU profile misses most of the time of a process.
const MOSTLY_WAITING: f64 = 0.5;

/// Renders the profiles of all requested benchmarks.
pub fn render_profiles(index: &FlameIndex, shots: &[Shot]) -> String {
    let mut text = String::new();
    let mut case = String::new();
    for shot in shots {
        let id = &shot.side.benchmark;
        let Some(entry) = index.benchmarks.iter().find(|b| b.id == *id && b.origin == shot.side.origin)
        else {
            continue;
        };
        case_heading(&mut text, &mut case, id);
        let base = if entry.origin == Origin::Base { " (base)" } else { "" };
        match &entry.profile {
            ProfileState::Taken(facts) => {
                let _ = writeln!(text, " {}{base}  {}", id.variant, figures(facts));
                for line in details(facts) {
                    let _ = writeln!(text, "   {line}");
                }
            }
            ProfileState::Absent { absent } => {
                let _ = writeln!(text, " {}{base}  no profile: {}", id.variant, plain(absent));
            }
        }
        for difference in index.differences.iter().filter(|d| d.candidate == *id) {
            if entry.origin == Origin::Head {
                let _ = writeln!(text, "   {}", against(difference));
            }
        }
    }
    text
}

fn figures(facts: &ProfileFacts) -> String {
    let quantity = match (facts.unit.as_str(), facts.clock) {
        ("ns", ProfileClock::Cpu) => " of CPU time",
        ("ns", ProfileClock::Wall) => " of wall-clock time",
        _ => "",
    };
    let amount = units::value(&facts.unit, facts.per_iteration);
    if facts.unit == INSTRUCTIONS {
        return format!("{amount} per iteration");
    }
    format!("{amount}{quantity} per iteration, {}", units::counted(facts.samples as usize, "sample"))
}

fn details(facts: &ProfileFacts) -> Vec<String> {
    let mut lines = Vec::new();
    let hottest = facts.hottest.iter().take(NAMED);
    lines.extend(hottest.map(|hot| format!("{:>6} in {}", units::percent(hot.share), plain(&hot.function))));
    let on_cpu = facts.cpu_ns.map(|cpu| cpu as f64 / facts.wall_ns.max(1) as f64);
    if let Some(share) = on_cpu.filter(|share| *share < MOSTLY_WAITING) {
        let share = units::percent(share);
        lines.push(format!(
            "on the CPU for {share} of the time; a CPU profile excludes waiting, including waiting for a busy processor"
        ));
    }
    lines.extend(facts.files.iter().map(|file| plain(&file.file)));
    lines
}

fn against(difference: &DifferenceGraph) -> String {
    let reference = match difference.reference_origin {
        Origin::Base => "the base",
        Origin::Head => difference.reference.variant.as_str(),
    };
    format!("against {reference}: {}", plain(&difference.file.file))
}
