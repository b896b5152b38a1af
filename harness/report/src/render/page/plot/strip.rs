//! A value over the time of a run: a line above a band for each workload.

use perfharness_record::units;

use super::super::view::Strip;
use crate::drawing::color::{self, GRID, INK, MUTED};
use crate::drawing::{Align, PlotError, draw, fitting};

const WIDTH: u32 = 760;
const LEFT: i32 = 92;
const RIGHT: i32 = 750;
const TOP: i32 = 12;
const BOTTOM: i32 = 62;
const FONT: u32 = 20;
/// Largest width of a character at this size, in pixels.
const CHARACTER: i32 = 10;
/// Largest distance of a point outside of the axis, in lengths of the axis.
const FAR: f64 = 10.0;

/// Draws a strip. `bands` states when each workload was measured; only the last strip names them.
pub(in crate::render::page) fn strip(
    strip: &Strip,
    bands: &[(String, f64, f64)],
    is_last: bool,
) -> Result<String, PlotError> {
    let end = strip.points.last().map_or(1.0, |(at, _)| at.max(f64::MIN_POSITIVE));
    let pixels = |share: f64, length: i32| (share.clamp(-FAR, FAR) * f64::from(length)).round() as i32;
    let x = |s: f64| LEFT + pixels(s / end, RIGHT - LEFT);
    let top = if strip.top > 0.0 { strip.top } else { 1.0 };
    let y = |value: f64| BOTTOM - pixels(value / top, BOTTOM - TOP);
    let height = if is_last { BOTTOM + 56 } else { BOTTOM + 10 };
    draw((WIDTH, height as u32), |canvas| {
        for (at, (_, from, to)) in bands.iter().enumerate() {
            if at % 2 == 0 {
                canvas.rect((x(*from), TOP), (x(*to), BOTTOM), GRID, 0.5)?;
            }
        }
        canvas.line(&[(LEFT, BOTTOM), (RIGHT, BOTTOM)], GRID, 1)?;
        canvas.text(&strip.top_text, (LEFT - 6, TOP + 4), FONT, Align::Right, MUTED)?;
        canvas.text("0", (LEFT - 6, BOTTOM - 4), FONT, Align::Right, MUTED)?;
        // A reading without a value leaves a gap.
        for run in strip.points.split(|(_, value)| value.is_none()) {
            let pixels: Vec<(i32, i32)> =
                run.iter().filter_map(|(at, value)| Some((x(*at), y((*value)?)))).collect();
            match pixels[..] {
                [] => {}
                [alone] => canvas.dot(alone, 2, color::hue(1), 1.0)?,
                _ => canvas.line(&pixels, color::hue(1), 2)?,
            }
        }
        if is_last {
            canvas.text("0 s", (LEFT, BOTTOM + 14), FONT, Align::Left, MUTED)?;
            canvas.text(&units::duration(end * 1e9), (RIGHT, BOTTOM + 14), FONT, Align::Right, MUTED)?;
            for (name, from, to) in bands {
                let room = (x(*to) - x(*from)) / CHARACTER;
                // A name of which only the beginning fits says less than none.
                if room >= 4 {
                    let middle = i32::midpoint(x(*from), x(*to));
                    canvas.text(
                        &fitting(name, room as usize),
                        (middle, BOTTOM + 38),
                        FONT,
                        Align::Center,
                        INK,
                    )?;
                }
            }
        }
        Ok(())
    })
}
