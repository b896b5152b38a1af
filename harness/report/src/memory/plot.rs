//! Plot of the memory of a benchmark over its iterations: a standalone SVG with a panel for each series.

use askama::filters::{Html, escape};
use perfharness_record::memory::Series;
use perfharness_record::{MemoryPoint, units};
use perfharness_verdict::GrowthVerdict;
use plotters::style::RGBColor;

use super::{MemoryFacts, word};
use crate::drawing::color::{self, BAD, GRID, INK, MUTED};
use crate::drawing::{Align, AxisScale, Canvas, PlotError, draw, failed};

const WIDTH: i32 = 760;
const LEFT: i32 = 92;
const RIGHT: i32 = 16;
const TOP: i32 = 12;
const BOTTOM: i32 = 34;
/// Height of a panel, of its title and of the gap below it.
const PANEL: i32 = 116;
const TITLE: i32 = 22;
const GAP: i32 = 14;
const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// One series to draw.
struct Panel {
    title: String,
    points: Vec<(f64, f64)>,
    grows: bool,
    figure: fn(f64) -> String,
}

/// Draws the series of a benchmark over its iterations, as an SVG with a description in words.
///
/// # Errors
/// Returns an error if drawing fails, which would be a bug.
pub(crate) fn memory_plot(benchmark: &str, facts: &MemoryFacts) -> Result<String, PlotError> {
    let panels = panels(facts);
    let height = TOP + panels.len() as i32 * PANEL + BOTTOM;
    let x = AxisScale {
        from: 0.0,
        to: (facts.iterations as f64).max(1.0),
        first: LEFT,
        last: WIDTH - RIGHT,
        log: false,
    };
    let svg = draw((WIDTH as u32, height as u32), |canvas| {
        canvas.rect((0, 0), (WIDTH, height), PAPER, 1.0)?;
        for (at, panel) in panels.iter().enumerate() {
            draw_panel(canvas, panel, &x, TOP + at as i32 * PANEL)?;
        }
        let base = height - BOTTOM;
        for tick in x.ticks(8) {
            canvas.text(&units::count(tick), (x.at(tick), base + 8), 11, Align::Center, MUTED)?;
        }
        canvas.text("iterations", ((LEFT + WIDTH - RIGHT) / 2, base + 24), 11, Align::Center, MUTED)
    })?;
    in_words(&svg, &format!("Memory of {benchmark} over its iterations"), &facts.sentence)
}

fn panels(facts: &MemoryFacts) -> Vec<Panel> {
    let points_of = |value: &dyn Fn(&MemoryPoint) -> Option<f64>| {
        let points = facts.points.iter().filter_map(|p| Some((p.iterations as f64, value(p)?)));
        points.filter(|(_, value)| value.is_finite()).collect::<Vec<_>>()
    };
    let mut panels: Vec<Panel> = Vec::new();
    for series in Series::ALL {
        let finding = facts.series.iter().find(|finding| finding.series == series);
        let more = if series == Series::Heap { " since the first point" } else { "" };
        let verdict = finding.map_or_else(String::new, |finding| format!(": {}", word(finding.test.verdict)));
        panels.push(Panel {
            title: format!("{}{more}{verdict}", series.label()),
            points: points_of(&|point| series.of(point)),
            grows: finding.is_some_and(|finding| finding.test.verdict == GrowthVerdict::Grows),
            figure: units::bytes,
        });
    }
    panels.push(Panel {
        title: "device memory reserved that no buffer uses".into(),
        points: points_of(&|point| point.fragmentation),
        grows: false,
        figure: units::percent,
    });
    panels.retain(|panel| !panel.points.is_empty());
    panels
}

fn draw_panel(canvas: &Canvas<'_>, panel: &Panel, x: &AxisScale, top: i32) -> Result<(), PlotError> {
    let (upper, lower) = (top + TITLE, top + PANEL - GAP);
    let values = || panel.points.iter().map(|(_, value)| *value);
    let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    // A series that hardly changes gets an axis that does not exaggerate the change.
    let room = ((most - least) * 0.05).max(most.abs() * 0.005).max(1e-3);
    let y = AxisScale { from: least - room, to: most + room, first: lower, last: upper, log: false };
    canvas.text(
        &panel.title,
        (LEFT, top + TITLE / 2),
        13,
        Align::Left,
        if panel.grows { BAD } else { INK },
    )?;
    for tick in y.ticks(3) {
        let at = y.at(tick);
        canvas.line(&[(LEFT, at), (WIDTH - RIGHT, at)], GRID, 1)?;
        canvas.text(&(panel.figure)(tick), (LEFT - 6, at), 11, Align::Right, MUTED)?;
    }
    let color = if panel.grows { BAD } else { color::hue(1) };
    let pixels: Vec<(i32, i32)> = panel.points.iter().map(|(at, value)| (x.at(*at), y.at(*value))).collect();
    if pixels.len() > 1 {
        canvas.line(&pixels, color, 2)?;
    }
    pixels.iter().try_for_each(|at| canvas.dot(*at, 2, color, 1.0))
}

/// Adds a title and a description for readers who cannot see the picture.
fn in_words(svg: &str, title: &str, description: &str) -> Result<String, PlotError> {
    let (head, body) = svg.split_once('>').ok_or_else(|| failed("an SVG without an element"))?;
    let title = escape(title, Html).map_err(failed)?;
    let description = escape(description, Html).map_err(failed)?;
    Ok(format!(
        "{head} role=\"img\" aria-labelledby=\"title description\"><title id=\"title\">{title}</title><desc \
         id=\"description\">{description}</desc>{body}"
    ))
}
