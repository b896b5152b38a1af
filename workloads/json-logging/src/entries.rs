//! Entries of a batched log: a tree of values for each step, collected 50 at a time.

use std::io;

use serde_json::Value;

use crate::logging::{BATCH, Meters};
use crate::record::{Input, Step, Tensor};

/// Converts the steps of iteration `index` one by one and passes them to `flush` in batches of 50; the last batch may
/// be smaller.
///
/// # Errors
/// Returns the first error of `flush`.
pub(crate) fn in_batches(
    meters: &Meters,
    input: &Input,
    index: u64,
    mut flush: impl FnMut(&mut Vec<Value>) -> io::Result<()>,
) -> io::Result<()> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut write = |batch: &mut Vec<Value>| {
        let count = batch.len() as u64;
        flush(batch)?;
        meters.records.add(count);
        batch.clear();
        Ok(())
    };
    for step in input.steps(index) {
        batch.push(entry(&step, meters));
        if batch.len() == BATCH {
            write(&mut batch)?;
        }
    }
    if batch.is_empty() { Ok(()) } else { write(&mut batch) }
}

/// Memory of a full batch of entries and of their text, in bytes.
pub(crate) fn batch_bytes() -> u64 {
    // Measured with the counting allocator: 1142.
    const BYTES_PER_ENTRY: u64 = 1150;
    BATCH as u64 * BYTES_PER_ENTRY
}

/// Value that a training loop passes to its logger in a language without types.
enum Loose<'a> {
    Integer(u64),
    Float(f32),
    Text(&'static str),
    Tensor(&'a Tensor),
    Dict(Vec<(&'static str, Loose<'a>)>),
}

/// The shared conversion of 003, 2.3: walks a tree of loose values and builds a tree of JSON values.
fn ensure_json_serializable(value: &Loose<'_>, meters: &Meters) -> Value {
    match value {
        Loose::Integer(value) => Value::from(*value),
        Loose::Float(value) => Value::from(f64::from(*value)),
        Loose::Text(text) => Value::from(*text),
        Loose::Tensor(tensor) => Value::from(tensor.to_list(&meters.conversions)),
        Loose::Dict(entries) => entries
            .iter()
            .map(|(key, value)| ((*key).to_owned(), ensure_json_serializable(value, meters)))
            .collect(),
    }
}

fn entry(step: &Step<'_>, meters: &Meters) -> Value {
    let metrics = step.metrics;
    let mut entry = vec![
        ("step", Loose::Integer(step.number)),
        ("epoch", Loose::Integer(step.epoch)),
        ("mode", Loose::Text(step.mode.as_str())),
        ("loss", Loose::Float(metrics.loss)),
        ("load_balance_loss", Loose::Float(metrics.load_balance_loss)),
        ("grad_norm", Loose::Float(metrics.grad_norm)),
        ("learning_rate", Loose::Float(metrics.learning_rate)),
        ("tokens_per_second", Loose::Float(metrics.tokens_per_second)),
        ("step_seconds", Loose::Float(metrics.step_seconds)),
    ];
    if step.wants_tensors() {
        entry.push(("expert_loads", Loose::Tensor(&metrics.expert_loads)));
        entry.push(("ghost_activations", Loose::Tensor(&metrics.ghost_activations)));
    }
    ensure_json_serializable(&Loose::Dict(entry), meters)
}
