//! A trend in the cell of a table: a line over runs, with shapes at acceptances and regressions.

use super::super::view::TrendPoint;
use crate::drawing::color::{self, BAD, INK, MUTED};
use crate::drawing::{AxisScale, PlotError, draw};

const WIDTH: u32 = 260;
const HEIGHT: u32 = 44;

/// Draws a trend; `None` if no value is positive.
pub(in crate::render::page) fn trend(points: &[TrendPoint]) -> Result<Option<String>, PlotError> {
    let Some(y) = AxisScale::fit(points.iter().map(|point| point.wall), HEIGHT as i32 - 9, 11) else {
        return Ok(None);
    };
    let steps = (points.len().max(2) - 1) as f64;
    let x = |at: usize| 8 + (at as f64 / steps * f64::from(WIDTH as i32 - 16)).round() as i32;
    let svg = draw((WIDTH, HEIGHT), |canvas| {
        for (at, _) in points.iter().enumerate().filter(|(_, point)| point.accepted) {
            canvas.line(&[(x(at), 2), (x(at), HEIGHT as i32 - 2)], MUTED, 1)?;
        }
        let pixels: Vec<(i32, i32)> =
            points.iter().enumerate().map(|(at, point)| (x(at), y.at(point.wall))).collect();
        if pixels.len() > 1 {
            canvas.line(&pixels, color::hue(1), 2)?;
        }
        for (pixel, _) in pixels.iter().zip(points).filter(|(_, point)| point.regressed) {
            let (x, y) = *pixel;
            canvas.shape(&[(x - 6, y - 2), (x, y - 11), (x + 6, y - 2)], BAD)?;
        }
        match pixels.last() {
            Some(last) => canvas.dot(*last, 3, INK, 1.0),
            None => Ok(()),
        }
    })?;
    Ok(Some(svg))
}
