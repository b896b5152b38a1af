//! The numbers of the plots of a workload: the same as those in the tables.

use std::collections::BTreeMap;

use perfharness_contract::protocol::Mode;
use perfharness_contract::{BenchmarkId, WorkloadDef, gpu_metric as gpu, standard};
use perfharness_record::samples::Samples;
use perfharness_record::{BenchmarkRecord, Origin, RunRecord, Stage, units};
use serde::Serialize;

use super::Material;
use super::workload::hue;

/// Largest number of points of one variant; more would only overlap.
const POINTS: usize = 120;

/// Largest number of points of a page, which bounds its size.
const POINTS_OF_PAGE: usize = 9_000;

/// The samples of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SamplePlot {
    pub title: String,
    /// A row for each variant.
    pub rows: Vec<PlotRow>,
    /// The caption: whether a dot is a sample or a launch.
    pub caption: String,
}

/// The samples of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PlotRow {
    /// The variant.
    pub label: String,
    pub hue: usize,
    /// Launch, from 0, and wall time per iteration in ns.
    pub points: Vec<(usize, f64)>,
    pub launches: usize,
    /// The level, in ns.
    pub level: Option<f64>,
    /// The interval of the level, in ns.
    pub interval: Option<(f64, f64)>,
}

/// Shares of the time of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SharePlot {
    pub title: String,
    /// Two rows for each variant: host and device.
    pub rows: Vec<ShareRow>,
    pub caption: String,
}

/// One bar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ShareRow {
    /// The variant, and host or device.
    pub label: String,
    /// The divided wall time, in ns.
    pub whole: f64,
    /// Its parts; their sum is at most the whole.
    pub parts: Vec<SharePart>,
}

/// A part of a bar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct SharePart {
    pub label: String,
    pub hue: usize,
    /// Its share of the whole, from 0 to 1.
    pub share: f64,
}

/// Time over size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ScalingPlot {
    pub title: String,
    /// The label of the horizontal axis.
    pub size: String,
    /// A line for each variant.
    pub lines: Vec<ScalingLine>,
}

/// Time over size of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ScalingLine {
    /// The variant.
    pub label: String,
    pub hue: usize,
    /// Size and wall time per iteration in ns, sorted by size.
    pub points: Vec<(f64, f64)>,
}

pub(super) fn sample_plot(material: &Material<'_>, measured: &[&BenchmarkRecord]) -> Option<SamplePlot> {
    let id = &measured.first()?.id.workload;
    let workload = material.record.workload(id)?;
    let most = (POINTS_OF_PAGE / material.record.benchmarks.len().max(1)).clamp(16, POINTS);
    let mut all = 0;
    let mut shown = 0;
    let mut rows = Vec::new();
    let mut from_samples = true;
    for benchmark in measured {
        let Some(wall) = benchmark.metrics.get(standard::WALL_TIME) else { continue };
        let samples = material.samples.ok();
        let sampled = samples.map(|samples| timed(samples, &benchmark.id)).filter(|p| !p.is_empty());
        from_samples &= sampled.is_some();
        let points = sampled.unwrap_or_else(|| {
            wall.launches.iter().enumerate().map(|(launch, value)| (launch, value.0)).collect()
        });
        let points: Vec<(usize, f64)> =
            points.into_iter().filter(|(_, ns)| ns.is_finite() && *ns > 0.0).collect();
        let launches = points.iter().map(|(launch, _)| launch + 1).max().unwrap_or(0);
        all += points.len();
        let points = thinned(points, most);
        shown += points.len();
        if points.is_empty() {
            continue;
        }
        rows.push(PlotRow {
            label: benchmark.id.variant.to_string(),
            hue: hue(workload, benchmark.id.variant.as_str()),
            points,
            launches,
            level: wall.value.value().filter(|v| v.is_finite()),
            interval: wall.interval.map(|i| (i.lower, i.upper)),
        });
    }
    let what = if from_samples { "sample" } else { "launch" };
    let thinned = if shown < all {
        format!(
            "; the plot shows {} of {}, evenly chosen",
            units::count(shown as f64),
            units::count(all as f64)
        )
    } else {
        String::new()
    };
    (!rows.is_empty()).then(|| SamplePlot {
        title: format!("Wall time per iteration, {}", material_case(measured)),
        rows,
        caption: format!(
            "Each dot is a {what}; launches lie above each other, the first at the top. The bar is the level, the band its \
             99 % interval{thinned}."
        ),
    })
}

fn material_case(measured: &[&BenchmarkRecord]) -> String {
    measured.first().map_or_else(String::new, |b| format!("{}/{}", b.id.workload, b.id.case))
}

/// Returns launch and time of the timed samples that were kept; launches count from 0.
fn timed(samples: &Samples, id: &BenchmarkId) -> Vec<(usize, f64)> {
    let rows: Vec<(u32, f64)> = samples
        .select(id, standard::WALL_TIME)
        // Samples of a base have the same ids; launches of later stages have other numbers.
        .filter(|row| row.mode == Mode::Timed && !row.dropped && row.origin == Origin::Head)
        .filter(|row| row.launch < Stage::Confirmation.first_launch())
        .map(|row| (row.launch, row.value))
        .collect();
    let mut numbers: BTreeMap<u32, usize> = rows.iter().map(|(launch, _)| (*launch, 0)).collect();
    for (at, number) in numbers.values_mut().enumerate() {
        *number = at;
    }
    rows.into_iter().map(|(launch, value)| (numbers[&launch], value)).collect()
}

/// Chooses points evenly, including the first and the last.
fn thinned<T: Copy>(points: Vec<T>, most: usize) -> Vec<T> {
    if points.len() <= most || most < 2 {
        return points;
    }
    let step = (points.len() - 1) as f64 / (most - 1) as f64;
    (0..most).map(|i| points[(i as f64 * step).round() as usize]).collect()
}

pub(super) fn share_plot(measured: &[&BenchmarkRecord]) -> Option<SharePlot> {
    let rows: Vec<ShareRow> = measured.iter().flat_map(|b| share_rows(b)).collect();
    (!rows.is_empty()).then(|| SharePlot {
        title: format!("Where the time goes, {}", material_case(measured)),
        rows,
        caption: "Shares of the wall time of metered samples where there is a GPU, of timed ones otherwise. Host and device \
                  work at the same time, so each has a bar of its own."
            .into(),
    })
}

fn share_rows(benchmark: &BenchmarkRecord) -> Vec<ShareRow> {
    let value = |id: &str| {
        benchmark.metrics.get(id).and_then(|m| m.value.value()).filter(|v| v.is_finite() && *v >= 0.0)
    };
    let name = &benchmark.id.variant;
    let part = |label: &str, hue: usize, share: f64| SharePart { label: label.into(), hue, share };
    let busy = value(gpu::GPU_BUSY)
        .zip(value(gpu::GPU_BUSY_SHARE))
        .filter(|(busy, share)| *busy > 0.0 && *share > 0.0);
    if let Some((busy, share)) = busy {
        // The share refers to the metered samples and therefore yields their duration.
        let whole = busy / share;
        let of_whole = |ns: f64| (ns / whole).clamp(0.0, 1.0);
        let copy = of_whole(value(gpu::COPY_TIME).unwrap_or(0.0).min(busy));
        let compute = of_whole(busy) - copy;
        let waiting = of_whole(value(gpu::HOST_WAIT).unwrap_or(0.0));
        return vec![
            ShareRow {
                label: format!("{name}, device"),
                whole,
                parts: vec![
                    part("GPU busy, without copies", 1, compute),
                    part("copies", 0, copy),
                    part("idle", 8, (1.0 - compute - copy).max(0.0)),
                ],
            },
            ShareRow {
                label: format!("{name}, host"),
                whole,
                parts: vec![part("host waits", 4, waiting), part("the rest", 9, 1.0 - waiting)],
            },
        ];
    }
    let Some((wall, cpu)) = value(standard::WALL_TIME).zip(value(standard::CPU_TIME)) else {
        return Vec::new();
    };
    if wall <= 0.0 {
        return Vec::new();
    }
    let on = (cpu / wall).min(1.0);
    vec![ShareRow {
        label: name.to_string(),
        whole: wall,
        parts: vec![part("on the CPU", 2, on), part("off the CPU", 8, 1.0 - on)],
    }]
}

/// Returns lines over the cases with a size: the items of an iteration, else the one parameter that differs.
pub(super) fn scaling_plot(record: &RunRecord, workload: &WorkloadDef) -> Option<ScalingPlot> {
    let measured: Vec<_> = workload
        .cases
        .iter()
        .filter(|case| record.cases.iter().any(|c| c.workload == workload.id && c.case == case.id))
        .collect();
    let units: Vec<&str> = measured.iter().filter_map(|c| Some(c.items.as_ref()?.unit.as_str())).collect();
    let sizes = measured.iter().map(|case| Some(case.items.as_ref()?.count as f64));
    let sizes: Vec<f64> = sizes.collect::<Option<_>>()?;
    let unit = units.first().filter(|first| units.iter().all(|unit| unit == *first))?;
    let mut distinct = sizes.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    // Cases of equal size differ in something else, which a line over sizes would hide.
    if distinct.len() < 2 || distinct.len() < sizes.len() || distinct[0] <= 0.0 {
        return None;
    }
    let lines = workload.variants.iter().filter_map(|variant| {
        let mut points: Vec<(f64, f64)> = measured
            .iter()
            .zip(&sizes)
            .filter_map(|(case, size)| {
                let id = workload.benchmark_id(&case.id, &variant.id);
                let benchmark = record.section().benchmark(&id)?;
                let wall = benchmark.metrics.get(standard::WALL_TIME)?.value.value()?;
                (wall.is_finite() && wall > 0.0).then_some((*size, wall))
            })
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (points.len() > 1).then(|| ScalingLine {
            label: variant.id.to_string(),
            hue: hue(workload, variant.id.as_str()),
            points,
        })
    });
    let lines: Vec<ScalingLine> = lines.collect();
    (!lines.is_empty()).then(|| ScalingPlot {
        title: format!("Wall time per iteration over size, {}", workload.id),
        size: format!("{unit} per iteration"),
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_is_even_and_keeps_both_ends() {
        let all: Vec<usize> = (0..1000).collect();
        let few = thinned(all.clone(), 11);
        assert_eq!(few.len(), 11);
        assert_eq!((few[0], few[5], few[10]), (0, 500, 999));
        assert_eq!(thinned(all.clone(), 1000), all);
        assert_eq!(thinned(vec![1, 2, 3], 120), [1, 2, 3]);
    }
}
