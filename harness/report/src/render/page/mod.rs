//! Reports: one self-contained HTML page for each run, and one over all runs.
//!
//! [`view`] makes the contents of a page, as a pure function; `plot` draws its plots; the templates in
//! `templates/report` define its look. The templates and the SVG backend escape everything from outside, and a
//! content-security policy forbids all styles and scripts but the page's own.

mod html;
mod plot;
#[cfg(test)]
mod tests;
pub mod view;

pub use html::{PageError, render_index, render_page};
