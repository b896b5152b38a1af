//! The golden data, the ends of what is allowed, and what lies beyond.

mod edges;
mod fast;
mod golden;
mod gpu;
