//! The plots of a page, drawn from the numbers of its view.

mod forest;
mod roofline;
mod samples;
mod scaling;
mod shares;
mod strip;
mod trend;

pub(super) use forest::{axis, cell};
pub(super) use roofline::roofline;
pub(super) use samples::samples;
pub(super) use scaling::scaling;
pub(super) use shares::shares;
pub(super) use strip::strip;
pub(super) use trend::trend;
