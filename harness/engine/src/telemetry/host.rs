//! Processor, memory and processes, as the operating system reports them.

use std::collections::BTreeSet;

use perfharness_contract::Number;
use perfharness_record::telemetry::quantity;
use sysinfo::{
    CpuRefreshKind, MemoryRefreshKind, Pid, ProcessRefreshKind, ProcessesToUpdate, RefreshKind, System,
};

use super::reading::{ProcessReading, Tick, Watched};

/// Processors and memory of this machine, and the processes that are watched.
pub(super) struct Host {
    system: System,
    has_frequency: bool,
}

impl Host {
    /// Finds out what the system reports, and adds it to `watched`.
    pub(super) fn open(watched: &mut Watched) -> Option<Self> {
        let kind = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing().with_usage().with_frequency())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = match System::new_with_specifics(kind) {
            Ok(system) => system,
            Err(error) => {
                let reason = format!("the system does not report its state: {error:?}");
                watched.lack(&[quantity::CPU_BUSY, quantity::CPU_FREQUENCY, quantity::MEMORY_USED], &reason);
                return None;
            }
        };
        let has_frequency = system.cpus().iter().any(|cpu| cpu.frequency() > 0);
        let mut add = |name: &str, unit: &str| watched.add(name, unit, "sysinfo", None);
        add(quantity::CPU_BUSY, "share");
        add(quantity::MEMORY_USED, "bytes");
        if has_frequency {
            add(quantity::CPU_FREQUENCY, "Hz");
        } else {
            let reason = "the system does not report the frequency of its processors";
            watched.lack(&[quantity::CPU_FREQUENCY], reason);
        }
        Some(Self { system, has_frequency })
    }

    /// Reads everything.
    pub(super) fn read(&mut self, pids: &BTreeSet<u32>, tick: &mut Tick) {
        let mut kind = CpuRefreshKind::nothing().with_usage();
        if self.has_frequency {
            kind = kind.with_frequency();
        }
        self.system.refresh_cpu_specifics(kind);
        self.system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
        let mut put = |name: &str, value: f64| tick.values.insert(name.into(), Number(value));
        put(quantity::CPU_BUSY, f64::from(self.system.global_cpu_usage()) / 100.0);
        put(quantity::MEMORY_USED, self.system.used_memory() as f64);
        let cpus = self.system.cpus();
        if self.has_frequency && !cpus.is_empty() {
            let mhz: u64 = cpus.iter().map(sysinfo::Cpu::frequency).sum();
            put(quantity::CPU_FREQUENCY, mhz as f64 * 1e6 / cpus.len() as f64);
        }
        tick.processes = self.processes(pids);
    }

    fn processes(&mut self, pids: &BTreeSet<u32>) -> Vec<ProcessReading> {
        let wanted: Vec<Pid> = pids.iter().map(|pid| Pid::from_u32(*pid)).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let kind = ProcessRefreshKind::nothing().with_cpu().with_memory().with_disk_usage().without_tasks();
        self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&wanted), true, kind);
        let reading = |pid: &Pid| {
            // A process that has ended is listed until somebody has waited for it, and holds no memory.
            let process = self.system.process(*pid).filter(|process| process.memory() > 0)?;
            let disk = process.disk_usage();
            Some(ProcessReading {
                pid: pid.as_u32(),
                rss_bytes: process.memory(),
                cpu_ms: process.accumulated_cpu_time(),
                read_bytes: disk.total_read_bytes,
                written_bytes: disk.total_written_bytes,
            })
        };
        wanted.iter().filter_map(reading).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::Duration;

    use perfharness_platform::clock;

    use super::*;

    #[test]
    fn a_process_that_has_ended_is_not_read_even_if_nobody_has_waited_for_it() {
        let mut host = Host::open(&mut Watched::default()).unwrap();
        let program = std::env::current_exe().unwrap();
        let own = std::process::id();
        let read = host.processes(&BTreeSet::from([own]));
        assert!(read.iter().any(|process| process.pid == own && process.rss_bytes > 0), "{read:?}");
        let mut child = Command::new(program).arg("--list").stdout(Stdio::null()).spawn().unwrap();
        let pids = BTreeSet::from([child.id()]);
        let start = clock::now();
        while !host.processes(&pids).is_empty() {
            assert!(start.elapsed() < Duration::from_secs(30), "it is still read");
            thread::sleep(Duration::from_millis(1));
        }
        assert!(child.wait().unwrap().success());
    }
}
