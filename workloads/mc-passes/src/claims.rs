//! Claims of documents 002 and 001 about this hot path, in their own words.

mod experiment;
mod passes;
mod training;

use perfharness_contract::{ClaimDef, Promise};

/// Cases with the same numbers of passes and trials as the document's program.
const SOURCE_CASES: [&str; 3] = ["px224-n1-k10", "px224-n500-k10", "px384-n500-k10"];

/// Returns the claims, in the order of the documents.
pub(crate) fn claims() -> Vec<ClaimDef> {
    let mut claims = passes::of_the_passes();
    claims.extend(experiment::of_the_memory());
    claims.extend(experiment::of_the_whole_experiment());
    claims.extend(training::of_training());
    claims
}

/// Creates a claim of document 002.
fn claim(id: &str, section: &str, statement: &str, metric: &str, promise: Promise) -> ClaimDef {
    ClaimDef::new(id, &format!("002, {section}"), statement, metric, promise)
}

/// Creates a claim of document 002 that no measurement can decide.
fn open(id: &str, section: &str, statement: &str, metric: &str, reason: &str) -> ClaimDef {
    claim(id, section, statement, metric, Promise::NotMeasurable { reason: reason.into() })
}

fn factor(at_least: f64, at_most: f64) -> Promise {
    Promise::Factor { at_least, at_most: Some(at_most) }
}

fn reduction(at_least: f64) -> Promise {
    Promise::Reduction { at_least, at_most: None }
}
