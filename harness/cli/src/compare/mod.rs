//! Judging what a record holds: pure functions of it.

mod claims;

pub use claims::judge_claims;
