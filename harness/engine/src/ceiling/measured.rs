//! What a machine can do at most, measured in a process of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ask::{ProbeError, ask, question};
use perfharness_record::ceilings::Ceiling;

/// How long measuring may take: some five seconds, and much more where others keep the machine busy.
const PATIENCE: Duration = Duration::from_mins(2);

/// Measures this machine, and the GPU of a run with this `--device`.
///
/// # Errors
/// Where the process crashed, hung, or answered what cannot be read.
pub(super) fn measured_ceilings(device: &str) -> Result<BTreeMap<String, Ceiling>, ProbeError> {
    ask(question(&["ceilings", device])?, PATIENCE)
}
