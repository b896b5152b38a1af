//! Time over size: a line for each variant, on logarithmic axes.

use perfharness_record::units;

use super::super::view::ScalingPlot;
use super::samples::label;
use crate::drawing::color::{self, GRID, INK, MUTED};
use crate::drawing::{Align, AxisScale, PlotError, draw, fitting};

const WIDTH: u32 = 760;
const HEIGHT: u32 = 300;
const LEFT: i32 = 100;
const RIGHT: i32 = 580;
const TOP: i32 = 14;
const BOTTOM: i32 = 236;
const FONT: u32 = 22;
/// Smallest distance between the labels of lines, in pixels.
const LABEL: i32 = 23;

/// Draws the lines; `None` if no point is positive.
pub(in crate::render::page) fn scaling(plot: &ScalingPlot) -> Result<Option<String>, PlotError> {
    let points = || plot.lines.iter().flat_map(|line| &line.points);
    let (Some(x), Some(y)) =
        (log(points().map(|point| point.0), LEFT, RIGHT), log(points().map(|point| point.1), BOTTOM, TOP))
    else {
        return Ok(None);
    };
    let svg = draw((WIDTH, HEIGHT), |canvas| {
        for tick in x.ticks(6) {
            canvas.line(&[(x.at(tick), TOP), (x.at(tick), BOTTOM)], GRID, 1)?;
            canvas.text(&units::count(tick), (x.at(tick), BOTTOM + 18), FONT, Align::Center, MUTED)?;
        }
        for tick in y.ticks(5) {
            canvas.line(&[(LEFT, y.at(tick)), (RIGHT, y.at(tick))], GRID, 1)?;
            canvas.text(&label(tick), (LEFT - 8, y.at(tick)), FONT, Align::Right, MUTED)?;
        }
        canvas.text(&plot.size, (RIGHT, BOTTOM + 44), FONT, Align::Right, INK)?;
        let mut ends: Vec<(i32, i32, usize)> = Vec::new();
        for (at, line) in plot.lines.iter().enumerate() {
            let hue = color::hue(line.hue);
            let pixels: Vec<(i32, i32)> =
                line.points.iter().map(|(size, ns)| (x.at(*size), y.at(*ns))).collect();
            canvas.line(&pixels, hue, 2)?;
            for pixel in &pixels {
                canvas.dot(*pixel, 4, hue, 1.0)?;
            }
            if let Some((right, end)) = pixels.last() {
                ends.push((*end, *right, at));
            }
        }
        // From top to bottom, each label below the one before it.
        ends.sort_unstable();
        let mut free = TOP;
        for (end, right, at) in ends {
            let height = end.max(free);
            free = height + LABEL;
            let line = &plot.lines[at];
            canvas.line(&[(right + 5, end), (RIGHT + 14, height)], color::hue(line.hue), 1)?;
            canvas.text(&fitting(&line.label, 17), (RIGHT + 18, height), FONT, Align::Left, INK)?;
        }
        Ok(())
    })?;
    Ok(Some(svg))
}

fn log(values: impl Iterator<Item = f64>, first: i32, last: i32) -> Option<AxisScale> {
    let fitted = AxisScale::fit(values, first, last)?;
    let room = (fitted.to / fitted.from.max(f64::MIN_POSITIVE)).powf(0.04);
    let from = if fitted.from > 0.0 { fitted.from } else { fitted.to / 10.0 };
    Some(AxisScale::log(from / room, fitted.to * room, first, last))
}
