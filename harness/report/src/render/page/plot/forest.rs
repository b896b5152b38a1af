//! A forest plot in the cells of a table: each ratio with its interval, all cells on one axis.

use perfharness_record::units;

use super::super::view::{Span, Tone};
use crate::drawing::color::{BAD, GOOD, GRID, INK, MUTED, OPEN};
use crate::drawing::{Align, AxisScale, PlotError, draw};

const WIDTH: u32 = 280;
const HEIGHT: u32 = 22;
const FIRST: i32 = 12;
const LAST: i32 = 268;

fn scale(reach: f64) -> AxisScale {
    AxisScale::log(1.0 / reach, reach, FIRST, LAST)
}

/// Draws the axis for the head of the table.
pub(in crate::render::page) fn axis(reach: f64) -> Result<String, PlotError> {
    let scale = scale(reach);
    draw((WIDTH, 34), |canvas| {
        for tick in marks(reach) {
            let x = scale.at(tick);
            canvas.line(&[(x, 24), (x, 33)], MUTED, 1)?;
            let text = if tick == 1.0 { "=".to_owned() } else { relative(tick) };
            canvas.text(&text, (x, 12), 20, Align::Center, INK)?;
        }
        Ok(())
    })
}

/// Returns the ticks: no change, and one round change to either side.
fn marks(reach: f64) -> [f64; 3] {
    let round =
        [3.0, 2.0, 1.5, 1.25, 1.1, 1.05].into_iter().find(|mark| *mark < reach * 0.97).unwrap_or(1.05);
    [1.0 / round, 1.0, round]
}

fn relative(ratio: f64) -> String {
    if ratio >= 2.0 {
        return units::factor(ratio).replace(".00", "");
    }
    if ratio <= 0.5 {
        return format!("1/{:.0}×", 1.0 / ratio);
    }
    format!("{}{:.0} %", if ratio > 1.0 { "+" } else { "−" }, (ratio - 1.0).abs() * 100.0)
}

/// Draws one cell.
pub(in crate::render::page) fn cell(span: &Span, reach: f64) -> Result<String, PlotError> {
    let scale = scale(reach);
    let color = match span.tone {
        Tone::Good => GOOD,
        Tone::Bad => BAD,
        Tone::Open => OPEN,
        Tone::Placement | Tone::Plain => MUTED,
    };
    let inside = |ratio: f64| ratio.max(1.0 / reach).min(reach);
    let middle = HEIGHT as i32 / 2;
    draw((WIDTH, HEIGHT), |canvas| {
        let band = 1.0 + span.threshold;
        canvas.rect((scale.at(inside(1.0 / band)), 0), (scale.at(inside(band)), HEIGHT as i32), GRID, 0.6)?;
        canvas.line(&[(scale.at(1.0), 0), (scale.at(1.0), HEIGHT as i32)], MUTED, 1)?;
        if let Some((lower, upper)) = span.interval.filter(|(lower, upper)| *lower > 0.0 && *upper > 0.0) {
            canvas.line(&[(scale.at(inside(lower)), middle), (scale.at(inside(upper)), middle)], color, 2)?;
        }
        let at = scale.at(inside(span.ratio));
        // A ratio outside of the axis becomes an arrow at its end.
        if span.ratio > reach {
            canvas.shape(&[(at - 2, middle - 6), (at + 9, middle), (at - 2, middle + 6)], color)
        } else if span.ratio < 1.0 / reach {
            canvas.shape(&[(at + 2, middle - 6), (at - 9, middle), (at + 2, middle + 6)], color)
        } else {
            canvas.dot((at, middle), 4, color, 1.0)
        }
    })
}
