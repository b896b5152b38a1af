//! The section of a workload, with a part for each case: its variants side by side.

use std::collections::BTreeMap;

use perfharness_contract::{MetricDef, Role, WorkloadDef, gpu_metric as gpu, standard};
use perfharness_record::{BenchmarkRecord, CaseRecord, MetricRecord, RunRecord, units};
use perfharness_verdict::{GrowthVerdict, Interval};
use serde::Serialize;

use super::plots::{SamplePlot, ScalingPlot, SharePlot, sample_plot, scaling_plot, share_plot};
use super::{Badge, Figure, Material, Tone, fragment};
use crate::memory::MemoryState;
use crate::profile::{ProfileState, Widths};
use crate::render::outcome::SpeedUp;
use crate::render::table::{absences, benchmarks_of, case_facts, case_parameters, shown, with_figures};
use crate::render::{outcome, words};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct WorkloadView {
    pub name: String,
    pub fragment: String,
    pub summary: String,
    pub sources: String,
    /// Its variants and their summaries.
    pub variants: Vec<(String, String)>,
    /// Time over the sizes of the cases, if several have a size.
    pub scaling: Option<ScalingPlot>,
    pub cases: Vec<CaseView>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CaseView {
    /// `workload/case`.
    pub name: String,
    pub fragment: String,
    pub parameters: String,
    /// The launches, blocks and time of the measurement.
    pub measured: String,
    pub variants: Vec<VariantRow>,
    /// Whether any variant reports GPU busy.
    pub has_gpu: bool,
    /// Whether the case has a floor and the machine has ceilings.
    pub has_floor: bool,
    /// The waste of its slow variant.
    pub waste: Option<String>,
    pub flames: Vec<FlameRow>,
    pub memory: Vec<MemoryRow>,
    pub samples: Option<SamplePlot>,
    pub shares: Option<SharePlot>,
    /// Names of the variants with figures; the columns of the counts.
    pub columns: Vec<String>,
    /// Counts, bytes, peaks, times.
    pub counts: Vec<CountRow>,
    /// Metrics that were not measured, with the reasons.
    pub absent: Vec<String>,
    /// Notes of workers and checks.
    pub notes: Vec<String>,
}

/// A variant in a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct VariantRow {
    pub benchmark: String,
    pub name: String,
    pub outcome: Badge,
    /// The reason of the outcome, and its last message.
    pub reason: Option<String>,
    /// The last lines that it wrote, if it died.
    pub stderr: Vec<String>,
    /// Wall time per iteration.
    pub wall: Figure,
    /// Half of its interval, as a share.
    pub precision: String,
    /// The speed-up over its reference.
    pub speed_up: Figure,
    /// The interval of the speed-up, and the reference.
    pub speed_up_detail: String,
    /// Items per second.
    pub rate: Figure,
    /// Share of the wall time with the GPU busy.
    pub utilization: Figure,
    /// The largest memory peak.
    pub peak: Figure,
    /// The largest error against the float64 reference, and the tolerance.
    pub error: Figure,
    /// The time of the floor as a share of its time, and the limiting ceiling.
    pub floor: Figure,
}

/// CPU time of a variant by function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct FlameRow {
    pub variant: String,
    /// The hottest functions, or the reason for their absence.
    pub hottest: String,
    /// Graphs: description, and path from the page.
    pub graphs: Vec<(String, String)>,
}

/// Memory of a variant over many iterations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MemoryRow {
    pub variant: String,
    pub verdict: Badge,
    /// The verdict in a sentence, or the reason for its absence.
    pub sentence: String,
    /// The path of its picture from the page.
    pub picture: Option<String>,
}

/// A metric over the variants of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CountRow {
    pub title: String,
    /// Whether it is exact and differed between launches.
    pub demoted: bool,
    /// One figure for each variant.
    pub figures: Vec<Figure>,
}

pub(super) fn workloads(material: &Material<'_>) -> Vec<WorkloadView> {
    let record = material.record;
    record.workloads.iter().map(|workload| view(material, workload)).filter(|w| !w.cases.is_empty()).collect()
}

fn view(material: &Material<'_>, workload: &WorkloadDef) -> WorkloadView {
    let record = material.record;
    // Against a base, each benchmark is a case of its own; the page shows them side by side.
    let mut cases: Vec<CaseView> = Vec::new();
    for case in record.cases.iter().filter(|case| case.workload == workload.id) {
        let name = format!("{}/{}", case.workload, case.case);
        if !cases.iter().any(|known| known.name == name) {
            cases.push(case_view(material, workload, case, name));
        }
    }
    let sources: Vec<String> = workload
        .sources
        .iter()
        .map(|source| match source.section.as_str() {
            "" => source.document.clone(),
            section => format!("{}, {section}", source.document),
        })
        .collect();
    let measured = |variant: &perfharness_contract::Name| {
        record.benchmarks.iter().any(|b| b.id.workload == workload.id && b.id.variant == *variant)
    };
    WorkloadView {
        name: workload.id.to_string(),
        fragment: fragment("workload", workload.id.as_str()),
        summary: workload.summary.clone(),
        sources: sources.join("; "),
        variants: workload
            .variants
            .iter()
            .filter(|variant| measured(&variant.id))
            .map(|variant| (variant.id.to_string(), variant.summary.clone()))
            .collect(),
        scaling: scaling_plot(record, workload),
        cases,
    }
}

fn case_view(material: &Material<'_>, workload: &WorkloadDef, case: &CaseRecord, name: String) -> CaseView {
    let record = material.record;
    let benchmarks = benchmarks_of(record, case);
    let measured = with_figures(&benchmarks);
    let all: Vec<&MetricDef> = record.metrics.iter().chain(&workload.metrics).collect();
    let absent = absences(&all, &measured)
        .into_iter()
        .map(|(reason, labels)| format!("{}: {reason}", labels.join(", ")))
        .collect();
    let variants: Vec<VariantRow> = benchmarks.iter().map(|b| variant(record, workload, b)).collect();
    CaseView {
        fragment: fragment("case", &name),
        name,
        parameters: case_parameters(workload, case),
        measured: measured_how(record, case),
        has_floor: variants.iter().any(|variant| variant.floor.value.is_some()),
        has_gpu: variants.iter().any(|variant| variant.utilization.value.is_some()),
        variants,
        waste: benchmarks.iter().find_map(|b| words::waste(record, b)),
        flames: benchmarks.iter().filter_map(|b| flames(material, workload, b)).collect(),
        memory: benchmarks.iter().filter_map(|b| memory(material, b)).collect(),
        samples: sample_plot(material, &measured),
        shares: share_plot(&measured),
        columns: measured.iter().map(|b| b.id.variant.to_string()).collect(),
        counts: counts(&all, &measured),
        absent,
        notes: notes(&benchmarks),
    }
}

/// Describes the measurement of a case; sums up if each benchmark is a case of its own.
fn measured_how(record: &RunRecord, case: &CaseRecord) -> String {
    let same: Vec<&CaseRecord> =
        record.cases.iter().filter(|c| c.workload == case.workload && c.case == case.case).collect();
    match same.as_slice() {
        [one] => case_facts(one),
        all => {
            let each = all.iter().map(|c| {
                let variant = c.variant.as_ref().map_or("", |name| name.as_str());
                format!("{variant}: {}", case_facts(c))
            });
            each.collect::<Vec<_>>().join(". ")
        }
    }
}

fn variant(record: &RunRecord, workload: &WorkloadDef, benchmark: &BenchmarkRecord) -> VariantRow {
    let metric = |id: &str| benchmark.metrics.get(id);
    let wall = metric(standard::WALL_TIME);
    let (speed_up, speed_up_detail) = speed_up(record, workload, benchmark);
    VariantRow {
        benchmark: benchmark.id.to_string(),
        name: benchmark.id.variant.to_string(),
        outcome: badge(benchmark),
        reason: benchmark.outcome.reason.clone(),
        stderr: benchmark.outcome.stderr.clone(),
        wall: figure(wall),
        precision: precision(wall),
        speed_up,
        speed_up_detail,
        rate: figure(metric(standard::RATE)),
        utilization: figure(metric(gpu::GPU_BUSY_SHARE)),
        peak: peak(benchmark),
        error: error(benchmark),
        floor: floor(record, workload, benchmark),
    }
}

fn badge(benchmark: &BenchmarkRecord) -> Badge {
    let (sign, tone) = match (benchmark.succeeded(), benchmark.failed()) {
        (true, _) => ("✔", Tone::Good),
        (_, true) => ("✖", Tone::Bad),
        _ => ("–", Tone::Open),
    };
    Badge::new(sign, outcome::word(benchmark), tone)
}

fn figure(metric: Option<&MetricRecord>) -> Figure {
    let figure = |metric: &MetricRecord| Some(Figure::new(shown(metric)?, metric.value.value()?));
    metric.and_then(figure).unwrap_or_else(Figure::none)
}

fn precision(metric: Option<&MetricRecord>) -> String {
    let Some(metric) = metric else { return String::new() };
    match (metric.value.value(), metric.interval) {
        (Some(value), Some(Interval { lower, upper })) => {
            format!("± {}", units::percent((upper - lower) / 2.0 / value))
        }
        (Some(_), None) => "no interval".into(),
        (None, _) => String::new(),
    }
}

fn speed_up(record: &RunRecord, workload: &WorkloadDef, benchmark: &BenchmarkRecord) -> (Figure, String) {
    match SpeedUp::of(record, workload, benchmark) {
        SpeedUp::Over { factor, interval, variant } => {
            let detail = match interval {
                Some(i) => {
                    format!("[{}, {}] over {variant}", units::digits(i.lower), units::digits(i.upper))
                }
                None => format!("over {variant}, no interval"),
            };
            (Figure::new(units::factor(factor), factor), detail)
        }
        SpeedUp::Reference => (Figure::new("reference", 1.0), String::new()),
        SpeedUp::Missing(why) => (Figure::none(), why),
        SpeedUp::Ended => (Figure::none(), String::new()),
    }
}

/// Returns the peak of device memory if there is one, else of the heap, else of the process.
fn peak(benchmark: &BenchmarkRecord) -> Figure {
    let ids = [gpu::DEVICE_PEAK, standard::HEAP_PEAK, standard::PEAK_RSS];
    let metrics = ids.iter().filter_map(|id| benchmark.metrics.get(*id));
    let known = metrics.filter_map(|m| Some((m, m.value.value()?)));
    let largest = known.max_by(|a, b| a.1.total_cmp(&b.1));
    figure(largest.map(|(metric, _)| metric))
}

fn error(benchmark: &BenchmarkRecord) -> Figure {
    let Some(check) = &benchmark.check else { return Figure::none() };
    let Some(error) = check.error else { return Figure::none() };
    let text = match check.tolerance {
        Some(tolerance) if tolerance.0 == 0.0 && error.0 == 0.0 => "exact".to_owned(),
        Some(tolerance) => format!("{} of {} allowed", scientific(error.0), scientific(tolerance.0)),
        None => scientific(error.0),
    };
    Figure::new(text, error.0)
}

/// Returns the time of the floor as a share of the wall time, and the limiting ceiling.
fn floor(record: &RunRecord, workload: &WorkloadDef, benchmark: &BenchmarkRecord) -> Figure {
    let share = || {
        let case = workload.case(&benchmark.id.case)?;
        let bound =
            record.ceilings.as_ref()?.bound(case.floor.as_ref()?, runs_on_gpu(workload, benchmark))?;
        let wall = benchmark.metrics.get(standard::WALL_TIME)?.value.value()?;
        let share = bound.ns / wall;
        Some(Figure::new(format!("{} ({})", units::percent(share), bound.term), share))
    };
    share().unwrap_or_else(Figure::none)
}

/// Whether a device did any of its work: it needs one, dispatches to one, or was busy on one. The busy time alone does not
/// tell, because devices without timestamps around copies have none.
pub(super) fn runs_on_gpu(workload: &WorkloadDef, benchmark: &BenchmarkRecord) -> bool {
    let variant = workload.variant(&benchmark.id.variant);
    let value = |id: &str| benchmark.metrics.get(id).and_then(|metric| metric.value.value());
    variant.is_some_and(|variant| variant.needs.iter().any(|need| need == "gpu"))
        || value(gpu::DISPATCHES).is_some_and(|dispatches| dispatches > 0.0)
        || value(gpu::GPU_BUSY).is_some()
}

/// Formats an error; errors span many magnitudes.
fn scientific(value: f64) -> String {
    if value == 0.0 || !value.is_finite() { format!("{value}") } else { format!("{value:.1e}") }
}

/// Number of functions of a variant to name.
const HOTTEST: usize = 3;

fn flames(material: &Material<'_>, workload: &WorkloadDef, benchmark: &BenchmarkRecord) -> Option<FlameRow> {
    let (index, folder) = material.flames?;
    let profiled = index.benchmark(&benchmark.id)?;
    let place = |file: &str| format!("{folder}/{file}");
    let mut graphs: Vec<(String, String)> = Vec::new();
    if let Some(file) = index.flame_graph(&benchmark.id) {
        graphs.push(("flame graph".into(), place(file)));
    }
    let variant = workload.variant(&benchmark.id.variant);
    if let Some(reference) = variant.and_then(|v| workload.reference_of(v)) {
        let id = workload.benchmark_id(&benchmark.id.case, reference);
        let sides = [
            (Widths::Reference, format!("saved against {reference}")),
            (Widths::Candidate, format!("added against {reference}")),
        ];
        for (widths, text) in sides {
            if let Some(file) = index.differential(&id, &benchmark.id, widths) {
                graphs.push((text, place(file)));
            }
        }
    }
    let hottest = match &profiled.profile {
        ProfileState::Taken(facts) => {
            let each = facts.hottest.iter().take(HOTTEST);
            let named = each.map(|hot| format!("`{}` {}", hot.function, units::percent(hot.share)));
            named.collect::<Vec<_>>().join(", ")
        }
        ProfileState::Absent { absent } => format!("no profile: {absent}"),
    };
    Some(FlameRow { variant: benchmark.id.variant.to_string(), hottest, graphs })
}

fn memory(material: &Material<'_>, benchmark: &BenchmarkRecord) -> Option<MemoryRow> {
    let (index, folder) = material.memory?;
    let watched = index.benchmark(&benchmark.id)?;
    let (verdict, sentence, picture) = match &watched.memory {
        MemoryState::Taken(facts) => {
            let verdict = match facts.verdict {
                GrowthVerdict::Flat => Badge::new("✔", "flat", Tone::Good),
                GrowthVerdict::Grows => Badge::new("✖", "grows", Tone::Bad),
                GrowthVerdict::Unclear => Badge::new("?", "unclear", Tone::Open),
            };
            (verdict, &facts.sentence, Some(format!("{folder}/{}", facts.file)))
        }
        MemoryState::Absent { absent } => (Badge::new("–", "not measured", Tone::Open), absent, None),
    };
    let variant = benchmark.id.variant.to_string();
    Some(MemoryRow { variant, verdict, sentence: sentence.clone(), picture })
}

/// Metrics that at least one variant has, and that are not zero for all.
fn counts(all: &[&MetricDef], measured: &[&BenchmarkRecord]) -> Vec<CountRow> {
    let says_something = |id: &str| {
        let values = measured.iter().filter_map(|b| b.metrics.get(id)?.value.value());
        values.into_iter().any(|value| value != 0.0)
    };
    let row = |metric: &&MetricDef| {
        let id = metric.id.as_str();
        says_something(id).then(|| CountRow {
            title: metric.label().into(),
            demoted: measured.iter().any(|b| b.metrics.get(id).is_some_and(|m| m.demoted)),
            figures: measured.iter().map(|b| figure(b.metrics.get(id))).collect(),
        })
    };
    all.iter().filter(|m| m.id != standard::WALL_TIME).filter_map(row).collect()
}

/// Returns the times that are not believed, and the notes of workers and checks, each distinct note once with its
/// variants.
fn notes(benchmarks: &[&BenchmarkRecord]) -> Vec<String> {
    let mut notes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for benchmark in benchmarks {
        let of_check = benchmark.check.iter().flat_map(|check| &check.notes);
        for note in benchmark.notes.iter().chain(of_check) {
            notes.entry(note).or_default().push(benchmark.id.variant.as_str());
        }
    }
    let notes = notes.into_iter().map(|(note, variants)| format!("{}: {note}", variants.join(", ")));
    let suspects = benchmarks.iter().flat_map(|benchmark| {
        let told = |sign| format!("{} suspect: {}", benchmark.id.variant, words::suspected(sign));
        benchmark.suspect.iter().map(told)
    });
    suspects.chain(notes).collect()
}

/// Returns the place of a role among the colours of a plot.
pub(super) fn hue(workload: &WorkloadDef, variant: &str) -> usize {
    let position = workload.variants.iter().position(|v| v.id.as_str() == variant).unwrap_or(0);
    let role = workload.variants.get(position).map_or(Role::Other, |v| v.role);
    match role {
        Role::Slow => 0,
        Role::Documented => 1,
        // The first of its role has the colour of the role, others what is left.
        Role::Optimized if workload.variants[..position].iter().all(|v| v.role != role) => 2,
        Role::Optimized | Role::Other => 3 + position % 5,
    }
}
