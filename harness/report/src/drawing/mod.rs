//! A canvas for plots as SVG.
//!
//! Colours stand for names: the style sheet replaces each colour of [`color`] by one that suits the reader's scheme,
//! so that a plot is legible on light, on dark and on paper. A test compares the two lists.

pub(crate) mod color;
mod scale;

pub(crate) use scale::AxisScale;

use plotters::coord::Shift;
use plotters::prelude::{
    Circle, DrawingArea, IntoDrawingArea as _, PathElement, Polygon, Rectangle, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontStyle, RGBColor, ShapeStyle, TextStyle};

/// Failure to draw a plot, which would be a bug.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw a plot: {0}")]
pub struct PlotError(String);

/// A point in pixels from the upper left corner.
pub(crate) type Point = (i32, i32);

/// The surface of a plot.
pub(crate) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Position of a text relative to its point.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Center,
    Right,
}

pub(crate) fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError(error.to_string())
}

impl Canvas<'_> {
    pub(crate) fn rect(
        &self,
        from: Point,
        to: Point,
        color: RGBColor,
        opacity: f64,
    ) -> Result<(), PlotError> {
        let style = ShapeStyle { color: color.mix(opacity), filled: true, stroke_width: 0 };
        self.area.draw(&Rectangle::new([from, to], style)).map_err(failed)
    }

    pub(crate) fn line(&self, points: &[Point], color: RGBColor, width: u32) -> Result<(), PlotError> {
        let style = ShapeStyle { color: color.to_rgba(), filled: false, stroke_width: width };
        self.area.draw(&PathElement::new(points.to_vec(), style)).map_err(failed)
    }

    pub(crate) fn shape(&self, points: &[Point], color: RGBColor) -> Result<(), PlotError> {
        self.area.draw(&Polygon::new(points.to_vec(), color.filled())).map_err(failed)
    }

    pub(crate) fn dot(&self, at: Point, radius: i32, color: RGBColor, opacity: f64) -> Result<(), PlotError> {
        let style = ShapeStyle { color: color.mix(opacity), filled: true, stroke_width: 0 };
        self.area.draw(&Circle::new(at, radius, style)).map_err(failed)
    }

    pub(crate) fn text(
        &self,
        text: &str,
        at: Point,
        size: u32,
        align: Align,
        color: RGBColor,
    ) -> Result<(), PlotError> {
        let h_pos = match align {
            Align::Left => HPos::Left,
            Align::Center => HPos::Center,
            Align::Right => HPos::Right,
        };
        let font = ("sans-serif", f64::from(size), FontStyle::Normal);
        let style = TextStyle::from(font).color(&color).pos(Pos::new(h_pos, VPos::Center));
        self.area.draw(&Text::new(text, at, style)).map_err(failed)
    }
}

/// Draws on a new canvas and returns the SVG.
pub(crate) fn draw(
    size: (u32, u32),
    drawing: impl FnOnce(&Canvas<'_>) -> Result<(), PlotError>,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    {
        let canvas = Canvas { area: SVGBackend::with_string(&mut svg, size).into_drawing_area() };
        drawing(&canvas)?;
        canvas.area.present().map_err(failed)?;
    }
    Ok(svg)
}

/// Shortens a text to a number of characters.
pub(crate) fn fitting(text: &str, characters: usize) -> String {
    if text.chars().count() <= characters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(characters.saturating_sub(1)).collect();
    format!("{kept}…")
}
