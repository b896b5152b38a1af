//! Shares of the time: a divided bar for each row.

use perfharness_record::units;

use super::super::view::SharePlot;
use crate::drawing::color::{self, INK, MUTED};
use crate::drawing::{Align, PlotError, draw, fitting};

const WIDTH: u32 = 760;
const ROW: i32 = 30;
const TOP: i32 = 36;
const LEFT: i32 = 248;
const RIGHT: i32 = 656;
const FONT: u32 = 21;

/// Draws the bars.
pub(in crate::render::page) fn shares(plot: &SharePlot) -> Result<String, PlotError> {
    let mut legend: Vec<(&str, usize)> = Vec::new();
    for part in plot.rows.iter().flat_map(|row| &row.parts) {
        if !legend.iter().any(|(label, _)| *label == part.label) {
            legend.push((&part.label, part.hue));
        }
    }
    let height = TOP + ROW * plot.rows.len() as i32 + 6;
    draw((WIDTH, height as u32), |canvas| {
        let mut x = 8;
        for (label, hue) in &legend {
            canvas.rect((x, 8), (x + 16, 24), color::hue(*hue), 1.0)?;
            canvas.text(label, (x + 22, 16), FONT - 1, Align::Left, INK)?;
            // The width of text is unknown here; this font size takes nine pixels a character at most.
            x += 42 + (label.chars().count() as f64 * 8.7) as i32;
        }
        for (at, row) in plot.rows.iter().enumerate() {
            let top = TOP + ROW * at as i32;
            let middle = top + (ROW - 6) / 2;
            canvas.text(&fitting(&row.label, 25), (LEFT - 10, middle), FONT, Align::Right, INK)?;
            let mut left = f64::from(LEFT);
            for part in &row.parts {
                let right = left + part.share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT);
                let (from, to) = (left.round() as i32, right.round() as i32);
                if to > from {
                    canvas.rect((from, top), (to, top + ROW - 6), color::hue(part.hue), 1.0)?;
                }
                left = right;
            }
            canvas.text(&units::duration(row.whole), (RIGHT + 10, middle), FONT, Align::Left, MUTED)?;
        }
        canvas.line(&[(LEFT, TOP - 3), (LEFT, height - 6)], MUTED, 1)
    })
}
