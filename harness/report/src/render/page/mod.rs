//! The report: one self-contained HTML page for each run, and one over all of them.
//!
//! [`view`] makes what a page says, a pure function; `plot` draws its plots; the templates in `templates/report` say
//! what it looks like. Everything from outside is escaped by the templates and the SVG backend, and a content-security
//! policy forbids whatever is not the page's own style and script.

mod html;
mod plot;
#[cfg(test)]
mod tests;
pub mod view;

pub use html::{PageError, render_index, render_page};
