//! The telemetry process.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use perfharness_platform::{clock, exit_at_once, self_usage, take_stdout};
use perfharness_record::telemetry::quantity;

use super::gpus::OtherGpus;
use super::host::Host;
use super::measured::MeasuredGpu;
use super::nvml::NvidiaGpus;
use super::reading::{News, Tick, Watched};
use crate::ask::write_json;

/// Shortest time between two readings; closer ones would say less, as systems count processor time in ticks of 1 to 16 ms.
const SHORTEST: Duration = Duration::from_millis(200);

/// Quantities that no other source reports.
const NVIDIAS_OWN: [&str; 6] = [
    quantity::GPU_CLOCK,
    quantity::GPU_MEMORY_CLOCK,
    quantity::GPU_POWER,
    quantity::GPU_ENERGY,
    quantity::GPU_TEMPERATURE,
    quantity::GPU_THROTTLING,
];

/// Sources of all readings.
struct Sources {
    host: Option<Host>,
    nvidia: Option<NvidiaGpus>,
    others: Option<OtherGpus>,
}

impl Sources {
    fn open(interval: Duration, adapter: Option<&MeasuredGpu>) -> (Self, Watched) {
        let mut watched = Watched { interval_ms: interval.as_millis() as u64, ..Watched::default() };
        let host = Host::open(&mut watched);
        let nvidia = NvidiaGpus::open(adapter, &mut watched);
        // Beside an NVIDIA GPU the other source would load NVIDIA's library again for every reading.
        let others = if nvidia.is_ok() { None } else { OtherGpus::open(&mut watched) };
        let nvidia = match nvidia {
            Ok(nvidia) => Some(nvidia),
            Err(reason) => {
                watched.lack(&NVIDIAS_OWN, &reason);
                None
            }
        };
        (Self { host, nvidia, others }, watched)
    }

    fn read(&mut self, pids: &BTreeSet<u32>) -> Tick {
        let mut tick = Tick { at_ns: clock::monotonic_ns(), ..Tick::default() };
        if let Some(host) = &mut self.host {
            host.read(pids, &mut tick);
        }
        if let Some(nvidia) = &mut self.nvidia {
            nvidia.read(&mut tick);
        }
        if let Some(others) = &mut self.others {
            others.read(&mut tick);
        }
        tick.cost_ns = self_usage().cpu_ns;
        tick
    }
}

/// Lists what can be watched, and reads it once.
pub fn glance() -> (Watched, Tick) {
    let (mut sources, watched) = Sources::open(SHORTEST, None);
    // Shares refer to the time since the previous reading.
    thread::sleep(SHORTEST);
    let tick = sources.read(&BTreeSet::from([std::process::id()]));
    (watched, tick)
}

/// Reads everything at an interval and writes each reading as a line of JSON to the real standard output, until standard
/// input is closed. Lines of standard input start and stop the watching of a process: `+PID`, `-PID`.
///
/// # Errors
/// When standard output is gone.
pub fn serve(interval: Duration, adapter: Option<&MeasuredGpu>) -> std::io::Result<()> {
    let mut out = take_stdout()?;
    let pids = Arc::new(Mutex::new(BTreeSet::new()));
    let listed = Arc::clone(&pids);
    thread::spawn(move || {
        follow(std::io::stdin(), &listed);
        // A driver that hangs must not keep this process alive once nobody listens.
        exit_at_once(0);
    });
    let interval = interval.max(SHORTEST);
    let (mut sources, watched) = Sources::open(interval, adapter);
    write_json(&mut out, &News::Began(watched))?;
    let mut next = clock::now() + interval;
    loop {
        thread::sleep(next.saturating_duration_since(clock::now()));
        // Readings that were missed during a suspend or a slow driver call are not made up for.
        next = (next + interval).max(clock::now());
        let pids = pids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        write_json(&mut out, &News::Tick(sources.read(&pids)))?;
    }
}

/// Updates the list of processes until the input ends.
fn follow(input: impl std::io::Read, pids: &Mutex<BTreeSet<u32>>) {
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        let mut pids = pids.lock().unwrap_or_else(PoisonError::into_inner);
        match (line.strip_prefix('+').map(str::parse), line.strip_prefix('-').map(str::parse)) {
            (Some(Ok(pid)), _) => _ = pids.insert(pid),
            (_, Some(Ok(pid))) => _ = pids.remove(&pid),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_come_and_go() {
        let pids = Mutex::new(BTreeSet::new());
        follow("+12\n+13\nnonsense\n-12\n-99\n+x\n".as_bytes(), &pids);
        assert_eq!(pids.into_inner().unwrap(), BTreeSet::from([13]));
    }

    #[test]
    fn a_glance_reads_what_it_says_that_it_reads() {
        let (watched, tick) = glance();
        assert!(watched.series.iter().any(|series| series.name == "cpu-busy"));
        for name in tick.values.keys() {
            assert!(watched.series.iter().any(|series| series.name == *name), "{name}");
        }
        let busy = tick.values["cpu-busy"].0;
        assert!((0.0..=1.0).contains(&busy), "{busy}");
        let own = tick.processes.iter().find(|process| process.pid == std::process::id()).unwrap();
        assert!(own.rss_bytes > 1 << 20, "{own:?}");
        assert!(tick.cost_ns.is_some());
    }
}
