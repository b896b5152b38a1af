//! Memory stories as text: the verdict on each benchmark and the figures of each series.

use std::fmt::Write as _;

use comfy_table::{Table, presets};
use perfharness_record::memory::SeriesFinding;
use perfharness_record::plain_text::plain;
use perfharness_record::{MemoryPoint, units};

use super::Layout;
use super::table::{case_heading, paragraph, trimmed};
use crate::memory::{Course, MemoryFacts, MemoryIndex, MemoryState, word};

/// Renders the memory of all requested benchmarks.
pub fn render_memory(index: &MemoryIndex, courses: &[Course], layout: Layout) -> String {
    let mut text = String::new();
    let mut case = String::new();
    for course in courses {
        let id = &course.side.benchmark;
        let Some(entry) = index.benchmark(id) else { continue };
        case_heading(&mut text, &mut case, id);
        match &entry.memory {
            MemoryState::Taken(facts) => {
                paragraph(&mut text, &format!("{}  {}", id.variant, facts.sentence), layout, 1);
                text += &figures(facts, layout);
                for (metric, why) in &facts.absent {
                    paragraph(&mut text, &format!("{metric}: {why}"), layout, 3);
                }
            }
            MemoryState::Absent { absent } => {
                let _ = writeln!(text, " {}  not measured: {}", id.variant, plain(absent));
            }
        }
    }
    text
}

/// Renders a table of the series.
fn figures(facts: &MemoryFacts, layout: Layout) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_width(layout.width);
    table.set_header(["  memory", "at first", "at last", "per iteration", "detects leaks from", "verdict"]);
    for SeriesFinding { series, test } in &facts.series {
        let at = |point: Option<&MemoryPoint>| {
            point.and_then(|point| series.of(point)).map_or_else(String::new, units::bytes)
        };
        table.add_row([
            format!("  {}", plain(series.label())),
            at(facts.points.first()),
            at(facts.points.last()),
            units::bytes(test.per_iteration),
            test.smallest.map_or_else(String::new, units::bytes),
            word(test.verdict).to_owned(),
        ]);
    }
    trimmed(&table)
}
