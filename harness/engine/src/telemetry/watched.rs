//! What can be read of the machine while it is measured, as a process of its own finds out.

use std::time::Duration;

use super::{Tick, Watched};
use crate::ask::{ProbeError, ask, question};

const PATIENCE: Duration = Duration::from_secs(30);

/// Asks what can be read.
///
/// # Errors
/// Where the process crashed, hung, or answered what cannot be read.
pub fn watched() -> Result<Watched, ProbeError> {
    let (watched, _): (Watched, Tick) = ask(question(&["glance"])?, PATIENCE)?;
    Ok(watched)
}
