//! Summary of gates, from their data alone.

use super::line::Gate;
use crate::{SuiteOpts, say};

pub(super) fn print(gates: &[Gate], _opts: &SuiteOpts) -> anyhow::Result<()> {
    say(&format!("{} gates", gates.len()));
    Ok(())
}
