//! From estimates and policy to verdicts: the rules of the gate, without the gate.

mod discovery;

pub use discovery::{FALSE_DISCOVERY_RATE, benjamini_hochberg};
