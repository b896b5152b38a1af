//! Tests of machines that are not at hand.

use perfharness_engine::probe::{Nvidia, NvidiaDevice, NvidiaProcess};
use perfharness_gpu::{AdapterFacts, AdapterKind, Timestamps, choose_adapter};
use perfharness_record::{Machine, SourceState};

use super::*;

fn adapter(name: &str, kind: AdapterKind) -> AdapterReport {
    let facts = AdapterFacts {
        name: name.into(),
        kind,
        backend: "vulkan".into(),
        driver: "driver 1.0".into(),
        features: Vec::new(),
        bus_id: None,
        max_buffer_bytes: 1 << 40,
        max_binding_bytes: 1 << 31,
        binding_alignment: 256,
        max_workgroups: 65_535,
        max_invocations: 1024,
        workgroup_bytes: 32_768,
    };
    AdapterReport { facts, timestamps: Timestamps::Work { period_ns: 1.0 }, fault: None }
}

/// A machine with these adapters and without any finding besides `ok`.
fn machine(asked: &str, adapters: Vec<AdapterReport>) -> Facts {
    let facts: Vec<AdapterFacts> = adapters.iter().map(|adapter| adapter.facts.clone()).collect();
    let chosen = choose_adapter(&facts, asked);
    Facts {
        machine: Machine {
            class: "a-machine".into(),
            class_is_set: false,
            facts: [("os".to_owned(), "linux".to_owned())].into(),
        },
        conditions: MachineState {
            clock_resolution_ns: 30,
            logical_cores: Some(8),
            physical_cores: Some(4),
            load_average: Some(0.5),
            governor: Some("performance".into()),
            turbo: Some(false),
            aslr: Some(true),
            cpu_hz: Some(3_000_000_000),
            memory_total_bytes: Some(64 << 30),
            memory_available_bytes: Some(48 << 30),
            memory_limit_enforced: true,
        },
        gpu: GpuReport {
            asked: asked.into(),
            chosen: chosen.as_ref().ok().copied(),
            not_chosen: chosen.err().map(|error| error.to_string()),
            adapters,
            fault: None,
        },
        nvidia: Nvidia::Absent { absent: "its library is not installed".into() },
        insight: Insight::default(),
        source: SourceState::Git { commit: "0".repeat(40), branch: None, dirty: false },
        records: RecordPlace { folder: "reports".into(), fault: None },
    }
}

fn hardware() -> Facts {
    machine("auto", vec![adapter("Radeon", AdapterKind::Discrete)])
}

fn nvidia(processes: Vec<NvidiaProcess>) -> Nvidia {
    let device = NvidiaDevice {
        name: "NVIDIA H200".into(),
        memory_total_bytes: Some(150_000_000_000),
        memory_used_bytes: Some(2_000_000_000),
        processes: Some(processes),
    };
    Nvidia::Present { driver: "550.1".into(), devices: vec![device] }
}

/// The one finding that is not `ok`.
#[track_caller]
fn only(facts: &Facts) -> Finding {
    let mut all = findings(facts);
    all.retain(|finding| finding.severity != Severity::Ok);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

#[track_caller]
fn says(finding: &Finding, severity: Severity, words: &[&str]) {
    assert_eq!(finding.severity, severity, "{finding:#?}");
    let text =
        format!("{} / {} / {}", finding.what, finding.why, finding.next.as_deref().unwrap_or_default());
    for word in words {
        assert!(text.contains(word), "{word:?} is not in {text}");
    }
}

#[test]
fn a_machine_that_is_as_it_should_be_has_no_warning() {
    let all = findings(&hardware());
    assert_eq!(all.len(), 1, "{all:#?}");
    says(&all[0], Severity::Ok, &["Radeon", "device time"]);
}

#[test]
fn without_an_adapter_gpu_workloads_are_skipped() {
    let mut facts = machine("auto", Vec::new());
    says(&only(&facts), Severity::Warning, &["no GPU adapter", "skipped", "mesa-vulkan-drivers"]);
    facts.machine.facts.insert("os".into(), "windows".into());
    says(&only(&facts), Severity::Warning, &["WARP"]);
}

#[test]
fn times_of_a_software_adapter_say_nothing_of_a_gpu() {
    let software = adapter("llvmpipe", AdapterKind::Software);
    let alone = machine("auto", vec![software.clone()]);
    says(&only(&alone), Severity::Warning, &["llvmpipe", "counts", "install the driver"]);
    let chosen = machine("llvmpipe", vec![adapter("Radeon", AdapterKind::Discrete), software]);
    says(&only(&chosen), Severity::Note, &["--device llvmpipe", "leave --device out"]);
}

#[test]
fn a_device_that_is_none_or_unknown_is_a_finding_with_the_known_adapters() {
    let none = machine("none", vec![adapter("Radeon", AdapterKind::Discrete)]);
    says(&only(&none), Severity::Note, &["--device none", "skipped"]);
    let unknown = machine("GeForce", vec![adapter("Radeon", AdapterKind::Discrete)]);
    says(&only(&unknown), Severity::Warning, &["--device GeForce", "Radeon (discrete)"]);
}

#[test]
fn absent_timestamps_and_small_bindings_are_notes() {
    let mut facts = hardware();
    facts.gpu.adapters[0].timestamps = Timestamps::Absent { reason: "no queries".into() };
    says(&only(&facts), Severity::Note, &["no queries", "gpu-busy"]);

    let mut facts = hardware();
    facts.gpu.adapters[0].facts.max_binding_bytes = (128 << 20) - 1;
    says(&only(&facts), Severity::Note, &["134 MB at a time"]);
    facts.gpu.adapters[0].facts.max_binding_bytes += 1;
    assert_eq!(findings(&facts).len(), 1);
}

#[test]
fn a_driver_that_crashes_or_hangs_is_a_finding() {
    let mut facts = hardware();
    let chosen = &mut facts.gpu.adapters[0];
    chosen.fault = Some("crashed with signal 11 (SIGSEGV)".into());
    chosen.timestamps = Timestamps::Absent { reason: "no answer".into() };
    says(&only(&facts), Severity::Warning, &["driver of Radeon", "SIGSEGV", "another adapter"]);

    let mut facts = machine("auto", Vec::new());
    facts.gpu.fault = Some("did not answer within 30 s".into());
    says(&only(&facts), Severity::Warning, &["while its adapters were listed", "30 s", "VK_DRIVER_FILES"]);
}

#[test]
fn another_process_on_the_gpu_is_a_warning() {
    let mut facts = machine("auto", vec![adapter("NVIDIA H200", AdapterKind::Discrete)]);
    facts.nvidia = nvidia(Vec::new());
    assert_eq!(findings(&facts).len(), 1);
    let known = NvidiaProcess {
        pid: 7,
        name: Some("python3".into()),
        memory_bytes: Some(2_000_000_000),
        computes: true,
    };
    let unknown = NvidiaProcess { pid: 8, name: None, memory_bytes: None, computes: true };
    facts.nvidia = nvidia(vec![known, unknown]);
    let words = ["NVIDIA H200", "python3 (process 7) with 2.00 GB", "unnamed (process 8)"];
    says(&only(&facts), Severity::Warning, &words);
}

#[test]
fn a_desktop_on_the_gpu_is_a_note_that_does_not_name_everybody() {
    let mut facts = machine("auto", vec![adapter("NVIDIA H200", AdapterKind::Discrete)]);
    let draws = |pid| NvidiaProcess { pid, name: Some("window".into()), memory_bytes: None, computes: false };
    facts.nvidia = nvidia((1..=8).map(draws).collect());
    says(&only(&facts), Severity::Note, &["draw with NVIDIA H200", "window (process 5)", "and 3 more"]);
    let computes = NvidiaProcess { computes: true, ..draws(9) };
    facts.nvidia = nvidia(vec![draws(1), computes]);
    let finding = only(&facts);
    says(&finding, Severity::Warning, &["compute on NVIDIA H200", "(process 9)"]);
    assert!(!finding.what.contains("(process 1)"), "{finding:#?}");
}

#[test]
fn an_nvidia_gpu_that_vulkan_does_not_offer_is_a_finding() {
    let mut facts = hardware();
    facts.nvidia = nvidia(Vec::new());
    says(&only(&facts), Severity::Warning, &["NVIDIA H200", "not among the adapters", "graphics"]);
}

#[test]
fn an_nvidia_gpu_without_its_library_hides_other_processes() {
    let facts = machine("auto", vec![adapter("NVIDIA H200", AdapterKind::Discrete)]);
    says(&only(&facts), Severity::Note, &["not installed", "libnvidia-ml"]);
}

#[test]
fn a_loaded_machine_widens_intervals() {
    let mut facts = hardware();
    facts.conditions.load_average = Some(4.1);
    says(&only(&facts), Severity::Warning, &["a load of 4.10 on 8 logical cores", "intervals", "close"]);
    facts.conditions.load_average = Some(4.0);
    assert_eq!(findings(&facts).len(), 1);
    facts.conditions.load_average = None;
    says(&only(&facts), Severity::Note, &["does not report the CPU's load"]);
}

#[test]
fn clock_settings_that_affect_times_are_findings() {
    let mut facts = hardware();
    facts.conditions.governor = Some("powersave".into());
    says(&only(&facts), Severity::Warning, &["`powersave`", "cpupower"]);

    let mut facts = hardware();
    facts.conditions.turbo = Some(true);
    says(&only(&facts), Severity::Note, &["turbo", "no_turbo"]);

    let mut facts = hardware();
    facts.conditions.clock_resolution_ns = 15_600_000;
    says(&only(&facts), Severity::Warning, &["15.6 ms", "15.6 s"]);
}

#[test]
fn unreported_values_are_a_note_with_a_next_step() {
    let mut facts = hardware();
    let MachineState { clock_resolution_ns, memory_limit_enforced, .. } = facts.conditions;
    facts.conditions = MachineState { clock_resolution_ns, memory_limit_enforced, ..MachineState::default() };
    says(&only(&facts), Severity::Note, &["frequency, governor, turbo, load", "on its host"]);
}

#[test]
fn memory_commit_and_place_have_their_findings() {
    let mut facts = hardware();
    facts.conditions.memory_available_bytes = Some(4 << 30);
    says(&only(&facts), Severity::Warning, &["4.29 GB"]);

    let mut facts = hardware();
    facts.conditions.memory_limit_enforced = false;
    says(&only(&facts), Severity::Note, &["memory limits"]);

    let mut facts = hardware();
    facts.source = SourceState::Absent { absent: "git is not installed".into() };
    says(&only(&facts), Severity::Note, &["no commit", "git is not installed"]);

    let mut facts = hardware();
    facts.records.fault = Some("permission denied".into());
    says(&only(&facts), Severity::Warning, &["reports/", "permission denied", "--output"]);
}

#[test]
fn the_gravest_findings_come_first() {
    let mut facts = hardware();
    facts.conditions.turbo = Some(true);
    facts.records.fault = Some("it is full".into());
    let severities: Vec<Severity> = findings(&facts).iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::Warning, Severity::Note, Severity::Ok]);
}
