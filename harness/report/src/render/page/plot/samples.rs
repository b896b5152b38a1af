//! The samples of a case: a row for each variant, a dot for each sample, launches above each other.

use perfharness_record::units;

use super::super::view::{PlotRow, SamplePlot};
use crate::drawing::color::{self, GRID, INK, MUTED};
use crate::drawing::{Align, AxisScale, Canvas, PlotError, draw, fitting};

const WIDTH: u32 = 760;
const ROW: i32 = 50;
const TOP: i32 = 8;
const AXIS: i32 = 50;
const LEFT: i32 = 176;
const RIGHT: i32 = 744;
const FONT: u32 = 23;

/// Draws the samples of a case, and returns the horizontal axis as well; `None` if no sample is positive.
pub(in crate::render::page) fn samples(plot: &SamplePlot) -> Result<Option<(String, AxisScale)>, PlotError> {
    let values = plot.rows.iter().flat_map(|row| {
        let bounds = row.interval.map(|(lower, upper)| [lower, upper]);
        let levels = row.level.into_iter().chain(bounds.into_iter().flatten());
        row.points.iter().map(|(_, ns)| *ns).chain(levels)
    });
    let Some(scale) = AxisScale::fit(values, LEFT, RIGHT) else { return Ok(None) };
    let bottom = TOP + ROW * plot.rows.len() as i32;
    let svg = draw((WIDTH, (bottom + AXIS) as u32), |canvas| {
        axis(canvas, &scale, bottom)?;
        for (at, row) in plot.rows.iter().enumerate() {
            draw_row(canvas, &scale, row, TOP + ROW * at as i32)?;
        }
        Ok(())
    })?;
    Ok(Some((svg, scale)))
}

fn axis(canvas: &Canvas<'_>, scale: &AxisScale, bottom: i32) -> Result<(), PlotError> {
    for tick in scale.ticks(6) {
        let x = scale.at(tick);
        canvas.line(&[(x, TOP), (x, bottom)], GRID, 1)?;
        canvas.text(&label(tick), (x, bottom + 15), FONT, Align::Center, MUTED)?;
    }
    let kind = if scale.log { "equal distances mean equal ratios" } else { "the axis does not begin at 0" };
    let kind = if !scale.log && scale.from == 0.0 { "" } else { kind };
    canvas.text(kind, (RIGHT, bottom + 38), FONT - 3, Align::Right, MUTED)
}

/// Formats a value without trailing zeros.
pub(super) fn label(ns: f64) -> String {
    let text = units::duration(ns);
    let Some((digits, unit)) = text.split_once(' ') else { return text };
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits} {unit}")
}

fn draw_row(canvas: &Canvas<'_>, scale: &AxisScale, row: &PlotRow, top: i32) -> Result<(), PlotError> {
    let (upper, lower) = (top + 5, top + ROW - 7);
    let middle = i32::midpoint(upper, lower);
    let hue = color::hue(row.hue);
    canvas.text(&fitting(&row.label, 16), (LEFT - 12, middle), FONT, Align::Right, INK)?;
    canvas.line(&[(LEFT, top + ROW - 1), (RIGHT, top + ROW - 1)], GRID, 1)?;
    if let Some((from, to)) = row.interval {
        canvas.rect(
            (scale.at(from), upper - 2),
            (scale.at(to).max(scale.at(from) + 1), lower + 2),
            hue,
            0.22,
        )?;
    }
    for (launch, ns) in &row.points {
        let share = if row.launches > 1 { *launch as f64 / (row.launches - 1) as f64 } else { 0.5 };
        let y = upper + (share * f64::from(lower - upper)).round() as i32;
        canvas.dot((scale.at(*ns), y), 3, hue, 0.6)?;
    }
    if let Some(level) = row.level.filter(|level| *level > 0.0) {
        let x = scale.at(level);
        canvas.line(&[(x, upper - 3), (x, lower + 3)], INK, 2)?;
    }
    Ok(())
}
