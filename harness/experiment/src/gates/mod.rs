//! Whole gates with known truth, run by the engine and the rules of the program, and compared with other methods.

mod gate;
mod pair;
mod rivals;
mod summary;

use std::fs::File;
use std::time::Duration;

use gate::PairRow;
use pair::Conditions;
use perfharness_platform::clock;
use perfharness_verdict::judge::GateOutcome;
use rivals::Rival;
use serde::{Deserialize, Serialize};

use crate::neighbour::Neighbour;
use crate::{GatesOpts, rows, say};
pub(crate) use rivals::side;

/// One gate: a line of the output.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Gate {
    number: u64,
    planted: f64,
    neighbour: bool,
    launch_ms: u64,
    sample_ms: f64,
    thresholds: Vec<f64>,
    optimized: bool,
    unix_ms: u64,
    load_average: Option<f64>,
    rows: Vec<PairRow>,
    /// Outcome at each threshold.
    outcomes: Vec<GateOutcome>,
    rival: Option<Rival>,
}

impl Gate {
    /// Whether it was measured with these options.
    fn is_of(&self, opts: &GatesOpts) -> bool {
        let kernels: Vec<&str> = self.rows.iter().map(|row| row.kernel.as_str()).collect();
        kernels == opts.kernels
            && (self.planted, self.neighbour) == (opts.planted, opts.neighbour)
            && (self.launch_ms, self.sample_ms) == (opts.launch_ms, opts.sample_ms)
            && self.thresholds == opts.threshold
    }
}

/// Runs the gates that the output does not have yet, and prints a summary.
pub(crate) fn run(opts: &GatesOpts) -> anyhow::Result<()> {
    let mut gates = rows::read(&opts.output, |gate: &Gate| gate.is_of(opts))?;
    let neighbour = (opts.neighbour && !opts.summary).then(Neighbour::start).transpose()?;
    let mut output = File::options().create(true).append(true).open(&opts.output)?;
    let conditions = Conditions {
        planted: opts.planted,
        launch: Duration::from_millis(opts.launch_ms),
        sample: Duration::from_secs_f64(opts.sample_ms / 1e3),
    };
    for number in (1..=opts.gates).filter(|_| !opts.summary) {
        if gates.iter().any(|gate| gate.number == number) {
            continue;
        }
        let unix_ms = clock::unix_ms();
        let (rows, outcomes, load_average) = gate::gate(&opts.kernels, number, &opts.threshold, &conditions)?;
        // The rivals get one kernel of a gate, in rotation, and the time that its row took.
        let rival = number.is_multiple_of(opts.rivals).then(|| {
            let row = &rows[(number / opts.rivals) as usize % rows.len()];
            let seconds = row.seconds.iter().sum();
            Rival::measure(&row.kernel, seconds, number, &conditions)
        });
        let gate = Gate {
            number,
            planted: opts.planted,
            neighbour: opts.neighbour,
            launch_ms: opts.launch_ms,
            sample_ms: opts.sample_ms,
            thresholds: opts.threshold.clone(),
            optimized: !cfg!(debug_assertions),
            unix_ms,
            load_average,
            rival: rival.transpose()?,
            rows,
            outcomes,
        };
        rows::append(&mut output, std::slice::from_ref(&gate))?;
        say(&format!("gate {number} of {}: {:?}", opts.gates, gate.outcomes));
        gates.push(gate);
    }
    drop(neighbour);
    summary::print(&gates, &opts.threshold);
    Ok(())
}
