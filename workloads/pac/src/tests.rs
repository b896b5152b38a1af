//! Tests of the golden data, of the limits, and of the errors beyond them.

pub(crate) mod edges;
mod fast;
mod golden;
mod gpu;
mod orders;
