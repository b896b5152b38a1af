//! Derives findings from the facts, as a pure function, so that one machine can test findings about every other.

use perfharness_engine::measure::MIN_CLOCK_STEPS;
use perfharness_engine::probe::{Nvidia, NvidiaDevice, executes_nothing};
use perfharness_gpu::{AdapterKind, Timestamps};
use perfharness_record::{SourceState, units};
use serde::{Deserialize, Serialize};

use super::{AdapterReport, Facts, MachineState};

/// Load per core above which other programs probably run on the core of a worker. Half of the cores are then
/// taken, and a comparison needs two for itself: one for the harness, one for the worker.
const BUSY: f64 = 0.5;
/// The binding limit that the WebGPU standard guarantees.
const USUAL_BINDING_BYTES: u64 = 128 << 20;
/// Resolution of the clock above which it makes samples longer.
const COARSE_CLOCK_NS: u64 = 1_000;
/// Share of available memory below which systems start to swap.
const LITTLE_MEMORY: f64 = 0.1;

/// Severity of a finding, in descending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// It distorts figures, or prevents a measurement that this machine could make.
    Warning,
    /// It is useful to know.
    Note,
    /// Everything is fine.
    Ok,
}

/// A conclusion from the facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The problem.
    pub what: String,
    /// The reason that it matters.
    pub why: String,
    /// The next step; absent if none is needed.
    pub next: Option<String>,
}

impl Finding {
    fn warning(what: impl Into<String>, why: &str, next: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, what: what.into(), why: why.into(), next: Some(next.into()) }
    }

    fn note(what: impl Into<String>, why: &str, next: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::warning(what, why, next) }
    }

    fn ok(what: impl Into<String>, why: &str) -> Self {
        Self { severity: Severity::Ok, what: what.into(), why: why.into(), next: None }
    }
}

/// Derives all findings, most severe first.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let mut all = Vec::new();
    adapters(facts, &mut all);
    nvidia(facts, &mut all);
    processor(&facts.conditions, &mut all);
    memory(&facts.conditions, &mut all);
    places(facts, &mut all);
    counting(facts, &mut all);
    all.sort_by_key(|finding| finding.severity);
    all
}

const SKIPPED: &str = "workloads that need a GPU are skipped";

fn adapters(facts: &Facts, all: &mut Vec<Finding>) {
    let gpu = &facts.gpu;
    if let Some(fault) = &gpu.fault {
        all.push(Finding::warning(
            format!("a GPU driver failed while its adapters were listed: it {fault}"),
            "finding the adapters loads every driver, so workloads that need a GPU fail in the same way",
            "update or remove the driver; with the Vulkan loader, VK_DRIVER_FILES=<file of one driver> finds out which one fails",
        ));
    }
    for adapter in &gpu.adapters {
        if let Some(fault) = &adapter.fault {
            all.push(Finding::warning(
                format!("the driver of {} failed while it was probed: it {fault}", adapter.facts.name),
                "workloads that use this adapter are likely to fail in the same way",
                "update the driver, or choose another adapter with --device",
            ));
        }
    }
    if executes_nothing(&gpu.asked) {
        let what = format!("runs with --device {} use no GPU", gpu.asked);
        all.push(Finding::note(what, SKIPPED, "leave --device out, or name an adapter with it"));
        return;
    }
    match gpu.chosen_adapter() {
        Some(chosen) => chosen_adapter(facts, chosen, all),
        None if gpu.fault.is_some() => {}
        None if gpu.adapters.is_empty() => {
            let next = match facts.machine.facts.get("os").map_or("", String::as_str) {
                "windows" => {
                    "install the driver of the GPU; without a GPU, Windows brings the software adapter WARP"
                }
                "macos" => "run on a machine whose GPU has Metal",
                _ => {
                    "install the Vulkan driver of the GPU (`vulkaninfo --summary` lists the adapters), or the software \
                     adapter lavapipe for counts alone (package mesa-vulkan-drivers)"
                }
            };
            all.push(Finding::warning("this machine has no GPU adapter", SKIPPED, next));
        }
        None => {
            let name = |a: &AdapterReport| format!("{} ({})", a.facts.name, a.facts.kind.as_str());
            let names: Vec<String> = gpu.adapters.iter().map(name).collect();
            let what = format!("--device {} matches no adapter", gpu.asked);
            let next =
                format!("leave --device out, or pass a part of one of these names: {}", names.join(", "));
            all.push(Finding::warning(what, SKIPPED, next));
        }
    }
}

/// Findings about the adapter that a run uses.
fn chosen_adapter(facts: &Facts, chosen: &AdapterReport, all: &mut Vec<Finding>) {
    let name = &chosen.facts.name;
    if chosen.facts.kind == AdapterKind::Software {
        let why = "its times say nothing about a GPU; counts, such as submits and copied bytes, are correct";
        let others = facts.gpu.adapters.iter().any(|a| a.facts.kind != AdapterKind::Software);
        all.push(if others {
            let what = format!("--device {} selects {name}, which computes on the CPU", facts.gpu.asked);
            Finding::note(what, why, "leave --device out to use the GPU")
        } else {
            let what = format!("the only GPU adapter is {name}, which computes on the CPU");
            let next = "for times, run on a machine with a GPU, or install the driver of the GPU in this one";
            Finding::warning(what, why, next)
        });
    } else if matches!(chosen.timestamps, Timestamps::Work { .. }) {
        all.push(Finding::ok(
            format!("GPU workloads run on {name}"),
            "its timestamps work, so device time and copies are measured",
        ));
    }
    if let (Timestamps::Absent { reason }, None) = (&chosen.timestamps, &chosen.fault) {
        all.push(Finding::note(
            format!("device time cannot be measured on {name}: {reason}"),
            "gpu-busy and the times of copies are absent; wall time, counts and memory are measured",
            "update the driver, or choose another adapter with --device",
        ));
    }
    if chosen.facts.max_binding_bytes < USUAL_BINDING_BYTES {
        all.push(Finding::note(
            format!("{name} binds at most {} at a time", units::bytes(chosen.facts.max_binding_bytes as f64)),
            "workloads split larger buffers, or are skipped",
            "update the driver, or choose another adapter with --device",
        ));
    }
}

fn nvidia(facts: &Facts, all: &mut Vec<Finding>) {
    let of_nvidia = |adapter: &AdapterReport| {
        let facts = &adapter.facts;
        format!("{} {}", facts.name, facts.driver).to_lowercase().contains("nvidia")
    };
    let seen = facts.gpu.adapters.iter().any(of_nvidia);
    match &facts.nvidia {
        Nvidia::Absent { absent } if seen => all.push(Finding::note(
            format!("other processes on the NVIDIA GPU are not visible: {absent}"),
            "other processes on the GPU make times vary unnoticed",
            "install NVIDIA's management library, libnvidia-ml (nvml.dll on Windows), which comes with its driver",
        )),
        Nvidia::Absent { .. } => {}
        Nvidia::Present { devices, .. } => {
            if let (Some(device), false, None) = (devices.first(), seen, &facts.gpu.fault) {
                all.push(Finding::warning(
                    format!("NVIDIA's driver lists {}, but it is not among the adapters", device.name),
                    "workloads cannot use it",
                    "install the Vulkan part of the driver; in a container, NVIDIA_DRIVER_CAPABILITIES must hold \
                     `graphics`",
                ));
            }
            all.extend(devices.iter().filter_map(busy));
        }
    }
}

/// Finding about other processes on a GPU. A desktop always uses it; a process that computes distorts times.
fn busy(device: &NvidiaDevice) -> Option<Finding> {
    const SHOWN: usize = 5;
    let all = device.processes.as_ref()?;
    let (computing, drawing): (Vec<_>, Vec<_>) = all.iter().partition(|process| process.computes);
    let processes = if computing.is_empty() { drawing } else { computing };
    let first = processes.first()?;
    let shown = processes.iter().take(SHOWN).map(|process| {
        let name = process.name.as_deref().unwrap_or("unnamed");
        let memory = process.memory_bytes.map(|bytes| format!(" with {}", units::bytes(bytes as f64)));
        format!("{name} (process {}){}", process.pid, memory.unwrap_or_default())
    });
    let mut shown: Vec<String> = shown.collect();
    if processes.len() > SHOWN {
        shown.push(format!("and {} more", processes.len() - SHOWN));
    }
    let (shown, name) = (shown.join(", "), &device.name);
    Some(if first.computes {
        Finding::warning(
            format!("other processes compute on {name}: {shown}"),
            "they share its time and memory: times vary, and less memory is free for workloads",
            "end them or wait for them before measuring on this GPU",
        )
    } else {
        Finding::note(
            format!("other processes draw with {name}: {shown}"),
            "drawing takes a little of its time and memory",
            "keep the screen still while measuring, or use a GPU without a screen",
        )
    })
}

fn processor(conditions: &MachineState, all: &mut Vec<Finding>) {
    if let Some(governor) = conditions.governor.as_deref().filter(|governor| *governor != "performance") {
        all.push(Finding::warning(
            format!("the frequency governor is `{governor}`"),
            "the clock of the CPU follows the load, so times depend on earlier load",
            "sudo cpupower frequency-set -g performance",
        ));
    }
    if conditions.turbo == Some(true) {
        all.push(Finding::note(
            "turbo is on: CPUs may run above their base frequency",
            "absolute times depend on heat and on the load of other cores; comparisons stay valid, because their sides are measured in turns",
            "for steady absolute times, switch it off in the firmware or in /sys/devices/system/cpu (intel_pstate/no_turbo \
             or cpufreq/boost)",
        ));
    }
    let unreported = [
        ("frequency", conditions.cpu_hz.is_none()),
        ("governor", conditions.governor.is_none()),
        ("turbo", conditions.turbo.is_none()),
        ("load", conditions.load_average.is_none()),
    ];
    let unreported: Vec<&str> =
        unreported.into_iter().filter(|(_, absent)| *absent).map(|(what, _)| what).collect();
    if !unreported.is_empty() {
        all.push(Finding::note(
            format!("this system does not report the CPU's {}", unreported.join(", ")),
            "changes go unnoticed; comparisons stay valid, because their sides are measured in turns",
            "in a virtual machine or a container, check them on its host",
        ));
    }
    if let (Some(load), Some(cores)) = (conditions.load_average, conditions.logical_cores) {
        let each = load / cores.max(1) as f64;
        if each > BUSY {
            let (load, cores) = (units::digits(load), units::counted(cores, "logical core"));
            all.push(Finding::warning(
                format!("the machine is busy: a load of {load} on {cores}"),
                "intervals get wider, and runs take longer to reach a decision",
                "close other programs, or wait until they finish",
            ));
        }
    }
    if conditions.clock_resolution_ns > COARSE_CLOCK_NS {
        let step = conditions.clock_resolution_ns as f64;
        all.push(Finding::warning(
            format!("the clock is coarse: its resolution is {}", units::duration(step)),
            "a sample lasts at least a thousand steps of the clock, so short iterations get fewer samples",
            format!(
                "samples last {} or more here; on Linux, /sys/devices/system/clocksource/clocksource0 shows and sets \
                 the source of the clock",
                units::duration(step * MIN_CLOCK_STEPS as f64)
            ),
        ));
    }
}

fn counting(facts: &Facts, all: &mut Vec<Finding>) {
    if let Some(why) = &facts.insight.no_counting {
        all.push(Finding::note(
            format!("instructions are not counted: {why}"),
            "times alone judge what computes on the CPU, and noise hides small changes of them",
            "on Linux, install Valgrind (package valgrind); elsewhere, do nothing",
        ));
    }
}

fn memory(conditions: &MachineState, all: &mut Vec<Finding>) {
    if let (Some(total), Some(available)) = (conditions.memory_total_bytes, conditions.memory_available_bytes)
        && (available as f64) < LITTLE_MEMORY * total as f64
    {
        all.push(Finding::warning(
            format!("only {} of memory is available", units::bytes(available as f64)),
            "workers get swapped out or run out of memory, and large cases fail",
            "close other programs",
        ));
    }
    if !conditions.memory_limit_enforced {
        all.push(Finding::note(
            "this system does not enforce memory limits",
            "the harness ends a worker that exceeds its limit, slightly later and without a message of the worker",
            "if memory is short, lower --memory-limit; otherwise do nothing",
        ));
    }
}

fn places(facts: &Facts, all: &mut Vec<Finding>) {
    if let SourceState::Absent { absent } = &facts.source {
        all.push(Finding::note(
            format!("records contain no commit: {absent}"),
            "a record does not identify the measured code",
            "install git and run in the git repository of the code that you measure",
        ));
    }
    if let Some(fault) = &facts.records.fault {
        all.push(Finding::warning(
            format!("cannot write to {}/: {fault}", facts.records.folder),
            "a run writes its record there, and stops at once if it cannot",
            "run in another folder, or name a file with --output",
        ));
    }
}
