//! Tests of the golden data, of the limits, and of the errors beyond them.

mod edges;
mod fast;
mod golden;
mod gpu;
