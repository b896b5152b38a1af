//! The adapters of this machine, as this program asks for them.

use std::time::Duration;

use perfharness_gpu::{AdapterFacts, ProbedAdapter, Timestamps, choose_adapter};

use crate::ask::{ProbeError, ask, question};

/// How long drivers may take. Long, because the class under which a run is filed depends on what they say.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lists the adapters, in order of preference, without using any.
fn list() -> Result<Vec<AdapterFacts>, ProbeError> {
    ask(question(&["adapters"])?, PATIENCE)
}

/// An adapter, and whether its timestamps work or why that could not be found out.
pub type Tried = (AdapterFacts, Result<Timestamps, ProbeError>);

/// Lists the adapters and tries each in a process of its own.
///
/// # Errors
/// Where they could not even be listed.
pub fn probed_adapters() -> Result<Vec<Tried>, ProbeError> {
    let listed = list()?;
    let tried = listed.into_iter().enumerate().map(|(at, facts)| {
        let timestamps = probed(at, &facts);
        (facts, timestamps)
    });
    Ok(tried.collect())
}

fn probed(at: usize, facts: &AdapterFacts) -> Result<Timestamps, ProbeError> {
    let answer: Option<ProbedAdapter> = ask(question(&["adapter", &at.to_string()])?, PATIENCE)?;
    match answer {
        Some(probed) if probed.facts == *facts => Ok(probed.timestamps),
        Some(_) | None => Err(ProbeError::Garbage("the adapters changed while they were probed".into())),
    }
}

/// What is known of the adapter that a run with this `--device` uses; `None` where it uses none.
///
/// # Errors
/// Where the adapters could not be listed.
pub fn listed_adapter(device: &str) -> Result<Option<AdapterFacts>, ProbeError> {
    if executes_nothing(device) {
        return Ok(None);
    }
    let mut listed = list()?;
    Ok(choose_adapter(&listed, device).ok().map(|at| listed.swap_remove(at)))
}

/// Whether this `--device` is one of the two that stand for no GPU at all.
pub fn executes_nothing(device: &str) -> bool {
    matches!(device, "none" | "noop")
}
