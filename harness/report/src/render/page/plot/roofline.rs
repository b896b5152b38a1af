//! Roofline plot: rates of arithmetic below the ceilings of memory bandwidth (left) and arithmetic (right), on
//! logarithmic axes.

use perfharness_record::units;

use super::super::view::Roofline;
use crate::drawing::color::{self, GRID, INK, MUTED};
use crate::drawing::{Align, AxisScale, PlotError, draw, fitting};

const WIDTH: u32 = 760;
const HEIGHT: u32 = 380;
const LEFT: i32 = 104;
const RIGHT: i32 = 740;
const TOP: i32 = 18;
const BOTTOM: i32 = 316;
const FONT: u32 = 20;

/// Draws the roof and the points below it.
pub(in crate::render::page) fn roofline(of: &Roofline) -> Result<String, PlotError> {
    let points: Vec<(f64, f64, usize)> =
        of.points.iter().filter_map(|p| Some((p.intensity.value?, p.rate.value?, p.hue))).collect();
    let intensities = || points.iter().map(|(intensity, ..)| *intensity);
    // The intensities at which the limit changes from memory to arithmetic.
    let ridges: Vec<f64> =
        of.operations.iter().flat_map(|ops| of.memories.iter().map(move |(_, bytes)| ops / bytes)).collect();
    let least = intensities().chain(ridges.iter().copied()).fold(f64::INFINITY, f64::min) / 4.0;
    let most = intensities().chain(ridges.iter().copied()).fold(0.0, f64::max) * 4.0;
    let x = AxisScale::log(least, most, LEFT, RIGHT);
    let roof = |bytes: f64, intensity: f64| of.operations.unwrap_or(f64::INFINITY).min(bytes * intensity);
    let roofs = of.memories.iter().flat_map(|(_, bytes)| [roof(*bytes, least), roof(*bytes, most)]);
    let rates = points.iter().map(|(_, rate, _)| *rate).chain(roofs);
    let (low, high) =
        rates.fold((f64::INFINITY, 0.0_f64), |(low, high), rate| (low.min(rate), high.max(rate)));
    let y = AxisScale::log(low / 2.0, high * 2.0, BOTTOM, TOP);
    draw((WIDTH, HEIGHT), |canvas| {
        for tick in x.ticks(6) {
            canvas.line(&[(x.at(tick), TOP), (x.at(tick), BOTTOM)], GRID, 1)?;
            canvas.text(&units::digits(tick), (x.at(tick), BOTTOM + 16), FONT, Align::Center, MUTED)?;
        }
        for tick in y.ticks(6) {
            canvas.line(&[(LEFT, y.at(tick)), (RIGHT, y.at(tick))], GRID, 1)?;
            let text = units::value("/s", tick);
            canvas.text(&text, (LEFT - 6, y.at(tick)), FONT, Align::Right, MUTED)?;
        }
        canvas.text("operations per byte", (RIGHT, BOTTOM + 42), FONT, Align::Right, INK)?;
        for (at, (name, bytes)) in of.memories.iter().enumerate() {
            let ridge = of.operations.map_or(most, |operations| operations / bytes).max(least).min(most);
            let corners = [least, ridge, most].map(|i| (x.at(i), y.at(roof(*bytes, i))));
            canvas.line(&corners, if at == 0 { INK } else { MUTED }, 2)?;
            // Beside the slope, each label at a height of its own.
            let along = least * (ridge / least).powf(0.15 + 0.3 * at as f64);
            let place = (x.at(along) + 8, y.at(roof(*bytes, along)) + 12);
            canvas.text(&fitting(name, 24), place, FONT, Align::Left, INK)?;
        }
        for (intensity, rate, hue) in &points {
            canvas.dot((x.at(*intensity), y.at(*rate)), 5, color::hue(*hue), 0.8)?;
        }
        Ok(())
    })
}
