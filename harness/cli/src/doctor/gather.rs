//! Gathers the facts about the machine.

use std::collections::BTreeMap;
use std::path::Path;

use perfharness_engine::ask::ProbeError;
use perfharness_engine::ceiling::kept_ceilings;
use perfharness_engine::measure::Callgrind;
use perfharness_engine::probe::Tried;
use perfharness_engine::telemetry::watched;
use perfharness_engine::{probe, read_machine, source_state};
use perfharness_gpu::{AdapterFacts, Timestamps, choose_adapter};
use perfharness_platform::{self as platform, clock};
use perfharness_record::plain_text::plain;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::{AdapterReport, Facts, GpuReport, Insight, MachineState, RecordPlace};

/// The default folder of the records.
const REPORTS: &str = "reports";

impl Facts {
    /// Gathers the facts about this machine for runs with this `--device` and this machine class.
    pub fn gather(device: &str, class: Option<&str>) -> Self {
        // Read the load first, because asking drivers adds to it.
        let conditions = MachineState::now();
        let gpu = GpuReport::new(device, probe::probed_adapters());
        let machine = read_machine(class, gpu.known_adapter());
        Self {
            insight: Insight::read(&machine.class, device),
            machine,
            conditions,
            nvidia: probe::nvidia(),
            source: source_state(),
            records: RecordPlace::read(),
            gpu,
        }
    }
}

impl MachineState {
    fn now() -> Self {
        let kind = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        // A system that does not report a value returns 0.
        let reported = |figure: fn(&System) -> u64| system.as_ref().map(figure).filter(|n| *n > 0);
        Self {
            clock_resolution_ns: clock::resolution_ns(),
            logical_cores: reported(|system| system.cpus().len() as u64).map(|cores| cores as usize),
            physical_cores: System::physical_core_count().ok(),
            load_average: System::load_average().ok().map(|load| load.one),
            governor: platform::governor(),
            turbo: platform::turbo(),
            aslr: platform::aslr(),
            cpu_hz: platform::cpu_frequency_hz(),
            memory_total_bytes: reported(System::total_memory),
            memory_available_bytes: reported(System::available_memory),
            memory_limit_enforced: platform::can_limit_memory(),
        }
    }
}

impl GpuReport {
    fn new(asked: &str, tried: Result<Vec<Tried>, ProbeError>) -> Self {
        let (tried, fault) = match tried {
            Ok(tried) => (tried, None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let adapters: Vec<AdapterReport> = tried.into_iter().map(AdapterReport::from).collect();
        let facts: Vec<AdapterFacts> = adapters.iter().map(|adapter| adapter.facts.clone()).collect();
        let (chosen, not_chosen) = match choose_adapter(&facts, asked) {
            Ok(at) => (Some(at), None),
            Err(_) if asked == "noop" => (None, Some("the device `noop` executes no work".into())),
            Err(_) if fault.is_some() => (None, Some("listing the adapters failed".into())),
            Err(error) => (None, Some(plain(&error.to_string()))),
        };
        Self { asked: plain(asked), chosen, not_chosen, adapters, fault }
    }

    /// Returns the adapter that a run uses, or the reason that it is unknown.
    fn known_adapter(&self) -> Result<Option<&AdapterFacts>, &String> {
        match &self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.chosen_adapter().map(|adapter| &adapter.facts)),
        }
    }
}

impl From<Tried> for AdapterReport {
    fn from((facts, tried): Tried) -> Self {
        let fault = tried.as_ref().err().map(ToString::to_string);
        let no_answer = |_| Timestamps::Absent { reason: "the driver gave no answer".into() };
        Self { facts, timestamps: tried.unwrap_or_else(no_answer), fault }
    }
}

impl Insight {
    fn read(class: &str, device: &str) -> Self {
        let (telemetry, no_telemetry) = match watched() {
            Ok(watched) => (watched.series, watched.absent),
            Err(error) => {
                let reason = format!("the process that watches the machine {error}");
                (Vec::new(), BTreeMap::from([("everything".to_owned(), reason)]))
            }
        };
        let callgrind = Callgrind::find();
        Self {
            counting: callgrind.as_ref().ok().map(|tool| format!("valgrind {}", tool.version)),
            no_counting: callgrind.err(),
            telemetry,
            no_telemetry,
            no_profiles: platform::profile::absence().map(ToOwned::to_owned),
            ceilings: kept_ceilings(class, device).map(|ceilings| ceilings.measured),
        }
    }
}

impl RecordPlace {
    fn read() -> Self {
        let reports = Path::new(REPORTS);
        // If the folder does not exist, a run creates it here.
        let folder = if reports.exists() { reports } else { Path::new(".") };
        let fault = tempfile::tempfile_in(folder).err().map(|error| error.to_string());
        Self { folder: REPORTS.into(), fault }
    }
}
