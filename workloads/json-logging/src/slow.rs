//! The document's "before": it converts and serialises every record, and opens the file to write it.

use std::hint::black_box;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::file::CountedFile;
use crate::logging::Meters;
use crate::record::{Input, Step, Tensor};

pub(crate) fn log(path: &Path, meters: &Meters, input: &Input, index: u64) -> io::Result<()> {
    input.steps(index).try_for_each(|step| log_step(path, meters, &step))
}

fn log_step(path: &Path, meters: &Meters, step: &Step<'_>) -> io::Result<()> {
    // The source defines its conversion again for every entry (003, 2.3).
    let tensor = |tensor: &Tensor| Value::from(tensor.to_list(&meters.conversions));
    let number = |value: f32| Value::from(f64::from(value));
    let metrics = step.metrics;
    let mut entry = json!({
        "step": step.number,
        "epoch": step.epoch,
        "mode": step.mode.as_str(),
        "loss": number(metrics.loss),
        "load_balance_loss": number(metrics.load_balance_loss),
        "grad_norm": number(metrics.grad_norm),
        "learning_rate": number(metrics.learning_rate),
        "tokens_per_second": number(metrics.tokens_per_second),
        "step_seconds": number(metrics.step_seconds),
    });
    // Converted at every step, wanted or not: this is the work that 003, 2.2 removes. The compiler must not remove it.
    let expert_loads = black_box(tensor(&metrics.expert_loads));
    let ghost_activations = black_box(tensor(&metrics.ghost_activations));
    if step.wants_tensors() {
        entry["expert_loads"] = expert_loads;
        entry["ghost_activations"] = ghost_activations;
    }
    let mut line = entry.to_string();
    line.push('\n');
    CountedFile::append(path, &meters.files)?.write(line.as_bytes())?;
    meters.records.add(1);
    Ok(())
}
