//! Times of repeated commands.

use std::time::Duration;

use perfharness_contract::Reading;
use perfharness_platform::clock;

use crate::{Commands, Gpu, GpuError, metric};

/// Duration of the tries of each figure, long enough to outlast moments in which other programs keep the machine busy.
pub(super) const TRYING: Duration = Duration::from_millis(600);

/// Duration of a try, which repeats its commands so often that one wait is a small part.
const TRY: Duration = Duration::from_millis(40);

/// Returns the shortest time in ns of one repetition, over tries with enough repetitions to fill their time. `time`
/// takes a number of repetitions and returns the time in ns of all of them.
pub(super) fn shortest(
    trying: Duration,
    mut time: impl FnMut(u64) -> Result<f64, GpuError>,
) -> Result<f64, GpuError> {
    // Touches the buffers and triggers late compilation.
    time(1)?;
    let mut repetitions = 1;
    while time(repetitions)? < TRY.as_nanos() as f64 && repetitions < 1 << 16 {
        repetitions *= 2;
    }
    let begin = clock::now();
    let mut best = f64::INFINITY;
    while begin.elapsed() < trying || best.is_infinite() {
        best = best.min(time(repetitions)? / repetitions as f64);
    }
    Ok(best)
}

/// Returns the shortest times of each of these, taken in turns, so that a disturbance of some length meets all of them.
pub(super) fn shortest_of<T: Copy, const N: usize>(
    trying: Duration,
    all: [T; N],
    mut time: impl FnMut(T) -> Result<f64, GpuError>,
) -> Result<[f64; N], GpuError> {
    let mut best = [f64::INFINITY; N];
    for each in all {
        time(each)?;
    }
    let begin = clock::now();
    while begin.elapsed() < trying || best.iter().any(|ns| ns.is_infinite()) {
        for (best, each) in best.iter_mut().zip(all) {
            *best = best.min(time(each)?);
        }
    }
    Ok(best)
}

/// Returns the time in ns on the clock of the host.
pub(super) fn on_host(run: impl FnOnce() -> Result<(), GpuError>) -> Result<f64, GpuError> {
    let start = clock::now();
    run()?;
    Ok(start.elapsed().as_nanos() as f64)
}

/// Returns the time in ns in which the device executes the commands that `add` records in one submit: that of its own
/// timestamps, which leave out what the host does. Where it cannot time such commands, the host times submit and wait.
pub(super) fn on_device(
    gpu: &Gpu,
    label: &str,
    add: impl FnOnce(&mut Commands) -> Result<(), GpuError>,
) -> Result<f64, GpuError> {
    let mut commands = gpu.commands(label);
    let mut meter = gpu.meter();
    let mut readings = std::collections::BTreeMap::new();
    meter.start();
    let ns = add(&mut commands).and_then(|()| {
        on_host(|| {
            commands.submit()?;
            gpu.fence()
        })
    });
    meter.stop(&mut readings);
    let busy = readings.get(metric::GPU_BUSY).and_then(Reading::value).filter(|busy| *busy > 0.0);
    ns.map(|ns| busy.unwrap_or(ns))
}
