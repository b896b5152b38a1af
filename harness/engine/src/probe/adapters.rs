//! Adapters of this machine, from the side of the program that asks.

use perfharness_gpu::{AdapterFacts, ProbedAdapter, Timestamps, choose_adapter};

use crate::ask::{DRIVER_TIMEOUT, ProbeError, ask, question};

/// Lists the adapters, in order of preference, without using any.
fn list() -> Result<Vec<AdapterFacts>, ProbeError> {
    ask(question(&["adapters"])?, DRIVER_TIMEOUT)
}

/// Adapter, and whether its timestamps work or why that could not be found out.
pub type Tried = (AdapterFacts, Result<Timestamps, ProbeError>);

/// Lists the adapters and tries each in a process of its own.
///
/// # Errors
/// When the adapters could not be listed.
pub fn probed_adapters() -> Result<Vec<Tried>, ProbeError> {
    let listed = list()?;
    let tried = listed.into_iter().enumerate().map(|(at, facts)| {
        let timestamps = probed(at, &facts);
        (facts, timestamps)
    });
    Ok(tried.collect())
}

fn probed(at: usize, facts: &AdapterFacts) -> Result<Timestamps, ProbeError> {
    let answer: Option<ProbedAdapter> = ask(question(&["adapter", &at.to_string()])?, DRIVER_TIMEOUT)?;
    match answer {
        Some(probed) if probed.facts == *facts => Ok(probed.timestamps),
        Some(_) | None => Err(ProbeError::Garbage("the adapters changed while they were probed".into())),
    }
}

/// Returns the adapter that a run with this `--device` uses, or `None` if it uses none.
///
/// # Errors
/// When the adapters could not be listed.
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
