//! The output of `doctor` as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use perfharness_engine::probe::{Nvidia, NvidiaDevice};
use perfharness_gpu::Timestamps;
use perfharness_record::{SourceState, units};
use perfharness_report::render::{Layout, heading, wrap};

use super::{AdapterReport, Diagnosis, Facts, Finding, Insight, MachineState, Severity};

/// Column of the values.
const VALUES: usize = 16;
/// Column of the findings.
const FINDINGS: usize = 11;

/// Renders the facts by section, and the findings.
pub fn render_diagnosis(diagnosis: &Diagnosis, layout: Layout) -> String {
    let facts = &diagnosis.facts;
    let mut sections = Sections { text: String::new(), layout };
    sections.text.push_str(&heading("Machine"));
    machine(&mut sections, facts);
    sections.section("Clock");
    sections.row("resolution", &units::duration(facts.conditions.clock_resolution_ns as f64));
    sections.section("GPU");
    gpu(&mut sections, facts);
    sections.section("Besides times");
    insight(&mut sections, facts);
    sections.section("Records");
    records(&mut sections, facts);
    let count = |severity: Severity| diagnosis.findings.iter().filter(|f| f.severity == severity).count();
    let warnings = units::counted(count(Severity::Warning), "warning");
    let notes = units::counted(count(Severity::Note), "note");
    sections.section(&format!("Findings: {warnings}, {notes}"));
    for finding in &diagnosis.findings {
        sections.finding(finding);
    }
    sections.text
}

/// A text of rows under headings.
struct Sections {
    text: String,
    layout: Layout,
}

impl Sections {
    fn section(&mut self, title: &str) {
        let _ = write!(self.text, "\n{}", heading(title));
    }

    fn row(&mut self, label: &str, value: &str) {
        self.columns(label, value, VALUES);
    }

    fn columns(&mut self, label: &str, value: &str, at: usize) {
        let mut label = label;
        for line in wrap(value, self.layout.width, at) {
            let width = at - 2;
            let _ = writeln!(self.text, "  {label:<width$}{line}");
            label = "";
        }
    }

    fn finding(&mut self, finding: &Finding) {
        let (word, style) = match finding.severity {
            Severity::Warning => ("warning", anstyle::AnsiColor::Yellow.on_default()),
            Severity::Note => ("note", anstyle::Style::new()),
            Severity::Ok => ("ok", anstyle::AnsiColor::Green.on_default()),
        };
        let width = FINDINGS - 2;
        let lines = wrap(&finding.what, self.layout.width, FINDINGS);
        for (at, line) in lines.iter().enumerate() {
            let word = if at == 0 { word } else { "" };
            let _ = writeln!(self.text, "  {style}{word:<width$}{style:#}{line}");
        }
        self.columns("", &format!("why: {}", finding.why), FINDINGS);
        if let Some(next) = &finding.next {
            self.columns("", &format!("next: {next}"), FINDINGS);
        }
    }
}

const NOT_REPORTED: &str = "not reported by this system";

fn machine(sections: &mut Sections, facts: &Facts) {
    let MachineState { governor, turbo, aslr, cpu_hz, load_average, .. } = &facts.conditions;
    let fact = |key: &str| facts.machine.facts.get(key).map_or("unknown", String::as_str);
    let set = if facts.machine.class_is_set { " (set in the configuration)" } else { "" };
    sections.row("class", &format!("{}{set}", facts.machine.class));
    sections.row("system", &format!("{}, kernel {}, {}", fact("os-version"), fact("kernel"), fact("arch")));
    sections.row("processor", fact("cpu"));
    sections.row("cores", &cores(&facts.conditions));
    let gigahertz = |hz: u64| format!("{} GHz now", units::digits(hz as f64 / 1e9));
    sections.row("frequency", &cpu_hz.map_or(NOT_REPORTED.into(), gigahertz));
    sections.row("governor", governor.as_deref().unwrap_or(NOT_REPORTED));
    sections.row("turbo", switch(*turbo));
    sections.row("random layout", &format!("{} (ASLR)", switch(*aslr)));
    let load = |load: &f64| {
        format!("{} in the last minute", if *load == 0.0 { "0".into() } else { units::digits(*load) })
    };
    sections.row("load", &load_average.as_ref().map_or(NOT_REPORTED.into(), load));
    sections.row("memory", &memory(&facts.conditions));
}

fn cores(conditions: &MachineState) -> String {
    let counted = |number: Option<usize>, noun: &str| number.map(|number| format!("{number} {noun}"));
    let all = [counted(conditions.physical_cores, "physical"), counted(conditions.logical_cores, "logical")];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { NOT_REPORTED.into() } else { all.join(", ") }
}

fn switch(on: Option<bool>) -> &'static str {
    match on {
        Some(true) => "on",
        Some(false) => "off",
        None => NOT_REPORTED,
    }
}

fn memory(conditions: &MachineState) -> String {
    let (total, available) = (size(conditions.memory_total_bytes), size(conditions.memory_available_bytes));
    let enforcer = if conditions.memory_limit_enforced { "system" } else { "harness" };
    format!("{total}, {available} available; limits of workers are enforced by the {enforcer}")
}

fn size(bytes: Option<u64>) -> String {
    bytes.map_or("unknown".into(), |bytes| units::bytes(bytes as f64))
}

fn gpu(sections: &mut Sections, facts: &Facts) {
    let gpu = &facts.gpu;
    let used = match (gpu.chosen_adapter(), &gpu.not_chosen) {
        (Some(adapter), _) => format!("{}, with --device {}", adapter.facts.name, gpu.asked),
        (None, Some(reason)) => format!("none, with --device {}: {reason}", gpu.asked),
        (None, None) => format!("none, with --device {}", gpu.asked),
    };
    sections.row("used", &used);
    for adapter in &gpu.adapters {
        adapter_rows(sections, adapter);
    }
    match &facts.nvidia {
        Nvidia::Absent { absent } => sections.row("NVIDIA", &format!("no report: {absent}")),
        Nvidia::Present { driver, devices } => {
            sections.row("NVIDIA", &format!("driver {driver}, {}", units::counted(devices.len(), "GPU")));
            for device in devices {
                sections.row("", &nvidia_device(device));
            }
        }
    }
}

fn adapter_rows(sections: &mut Sections, adapter: &AdapterReport) {
    let facts = &adapter.facts;
    let size = |bytes: u64| units::bytes(bytes as f64);
    sections.row("adapter", &facts.name);
    sections.row("  kind", &format!("{}, through {}", facts.kind.as_str(), facts.backend));
    sections.row("  driver", if facts.driver.is_empty() { "unnamed" } else { &facts.driver });
    let timestamps = match (&adapter.timestamps, &adapter.fault) {
        (_, Some(fault)) => format!("unknown: the driver {fault}"),
        (Timestamps::Work { period_ns }, None) => {
            format!("work, a tick is {}", units::duration(f64::from(*period_ns)))
        }
        (Timestamps::Absent { reason }, None) => format!("absent: {reason}"),
    };
    sections.row("  timestamps", &timestamps);
    let (buffer, bound) = (size(facts.max_buffer_bytes), size(facts.max_binding_bytes));
    sections.row("  buffers", &format!("up to {buffer}, {bound} of it bound at a time"));
    let count = |number: u32| units::count(f64::from(number));
    let (groups, invocations) = (count(facts.max_workgroups), count(facts.max_invocations));
    let shared = size(u64::from(facts.workgroup_bytes));
    let each =
        format!("up to {groups} in a dimension, {invocations} invocations and {shared} shared in each");
    sections.row("  workgroups", &each);
    let features = if facts.features.is_empty() { "none".into() } else { facts.features.join(", ") };
    sections.row("  features", &features);
}

fn nvidia_device(device: &NvidiaDevice) -> String {
    let processes = match &device.processes {
        None => "processes unknown".into(),
        Some(all) if all.is_empty() => "no process".into(),
        Some(all) => format!("{} process{}", all.len(), if all.len() == 1 { "" } else { "es" }),
    };
    let (used, total) = (size(device.memory_used_bytes), size(device.memory_total_bytes));
    format!("{}: {used} of {total} memory in use, {processes}", device.name)
}

fn insight(sections: &mut Sections, facts: &Facts) {
    let Insight { telemetry, no_telemetry, no_profiles, counting, no_counting, ceilings } = &facts.insight;
    let mut sources: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for series in telemetry {
        sources.entry(&series.source).or_default().push(&series.name);
    }
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, reason) in no_telemetry {
        reasons.entry(reason).or_default().push(name);
    }
    let read = sources.iter().map(|(source, names)| format!("{} (by {source})", names.join(", ")));
    let unread = reasons.iter().map(|(reason, names)| format!("no {}: {reason}", names.join(", ")));
    for (at, row) in read.chain(unread).enumerate() {
        sections.row(if at == 0 { "telemetry" } else { "" }, &row);
    }
    let profiles = no_profiles.as_ref().map_or("available".into(), |why| format!("none: {why}"));
    sections.row("flame graphs", &profiles);
    let no_tool = || format!("none: {}", no_counting.as_deref().unwrap_or("it is not known why"));
    sections.row("instructions", &counting.clone().unwrap_or_else(no_tool));
    let ceilings = match ceilings {
        Some(at) => format!("measured {}; a run measures them again after a week", units::minute(at)),
        None => "not measured yet; the next run measures them".into(),
    };
    sections.row("ceilings", &ceilings);
}

fn records(sections: &mut Sections, facts: &Facts) {
    let place = &facts.records;
    let written = match &place.fault {
        None => format!("{}/ is writable", place.folder),
        Some(fault) => format!("{}/ is not writable: {fault}", place.folder),
    };
    sections.row("place", &written);
    let commit = match &facts.source {
        SourceState::Absent { absent } => format!("none: {absent}"),
        SourceState::Git { commit, dirty, .. } => {
            let short: String = commit.chars().take(12).collect();
            if *dirty { format!("{short}, with uncommitted changes") } else { short }
        }
    };
    sections.row("commit", &commit);
}
