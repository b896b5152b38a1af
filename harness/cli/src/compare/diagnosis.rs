//! Why: what moved together with a time that got worse, and what a slow variant wastes. Measured figures only; that two
//! of them moved together is said, and that one is the cause of the other is not.

use perfharness_contract::{Direction, MetricDef, MetricKind, Role, standard};
use perfharness_gpu::metric as gpu;
use perfharness_verdict::judge::{Evidence, Verdict};

use super::report::Row;
use crate::record::{BenchmarkRecord, RunRecord};
use crate::render::units;

/// Causes that a sentence names; more of them would not be read.
const NAMED: usize = 4;

/// From this ratio on, a figure of a slow variant is worth naming.
const WASTE: f64 = 1.2;

/// Bytes of a peak or a copy below which a ratio says nothing.
const FEW_BYTES: f64 = 4096.0;

/// Gives each time that got worse a sentence about what else moved in the same benchmark, against the same.
pub(super) fn explain(rows: &mut [Row]) {
    let explained: Vec<Option<String>> =
        rows.iter().map(|row| is_slower(row).then(|| explanation(row, rows))).collect();
    for (row, diagnosis) in rows.iter_mut().zip(explained) {
        row.diagnosis = diagnosis;
    }
}

fn is_slower(row: &Row) -> bool {
    row.judgement.verdict == Verdict::Regressed && row.judgement.evidence.effect().is_some()
}

fn explanation(row: &Row, rows: &[Row]) -> String {
    let beside = rows.iter().filter(|other| {
        other.benchmark == row.benchmark && other.against == row.against && other.metric != row.metric
    });
    let mut moved: Vec<(u8, f64, String)> = beside.filter_map(movement).collect();
    // Counts first, because they have no noise; then what moved most.
    moved.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let Some(title) = row.title.as_deref() else { return String::new() };
    let effect = row.judgement.evidence.effect().unwrap_or_default();
    let own = format!("{title} {}", units::relative(effect.exp()));
    if moved.is_empty() {
        return format!(
            "{own}: no count, size or other time of it moved as well, so the same work takes longer"
        );
    }
    let more = moved.len().saturating_sub(NAMED);
    let named: Vec<String> = moved.into_iter().take(NAMED).map(|(_, _, text)| text).collect();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{own}: {}{more}", named.join(", "))
}

/// How a figure got worse: its class, how much, and in words.
fn movement(row: &Row) -> Option<(u8, f64, String)> {
    let title = row.title.as_deref()?;
    let lower_is_better = row.direction != Some(Direction::Higher);
    let worse = |ratio: f64| if lower_is_better { ratio > 1.0 } else { ratio < 1.0 };
    match &row.judgement.evidence {
        Evidence::Exact { baseline, candidate, .. } | Evidence::Size { baseline, candidate, .. } => {
            let ratio = candidate / baseline;
            let is_exact = matches!(row.judgement.evidence, Evidence::Exact { .. });
            let counts = is_exact || row.judgement.verdict == Verdict::Regressed;
            if baseline == candidate || !counts || !worse(ratio) {
                return None;
            }
            let unit = row.unit.as_deref().unwrap_or("");
            let change = candidate - baseline;
            let text = match unit {
                "count" if change > 0.0 => format!("{} more {title} in an iteration", units::count(change)),
                "count" => format!("{} fewer {title} in an iteration", units::count(-change)),
                _ => format!(
                    "{title} from {} to {}",
                    units::value(unit, *baseline),
                    units::value(unit, *candidate)
                ),
            };
            Some((u8::from(!is_exact), ratio.ln().abs(), text))
        }
        Evidence::TimePaired(evidence) => {
            let beyond = evidence.ratio_interval.is_some_and(|i| i.lower > 1.0);
            (beyond && worse(evidence.ratio)).then(|| {
                (2, evidence.ratio.ln().abs(), format!("{title} {}", units::relative(evidence.ratio)))
            })
        }
        Evidence::TimeUnpaired(evidence) => (evidence.ratio_interval.lower > 1.0 && worse(evidence.ratio))
            .then(|| (2, evidence.ratio.ln().abs(), format!("{title} {}", units::relative(evidence.ratio)))),
        Evidence::None | Evidence::Identical { .. } => None,
    }
}

/// What a variant in the role `slow` wastes against the best variant of its case, in one sentence; `None` where it has no
/// figure that is worse, or there is nothing to hold it against.
pub fn waste(record: &RunRecord, slow: &BenchmarkRecord) -> Option<String> {
    if slow.role != Role::Slow || !slow.succeeded() {
        return None;
    }
    let workload = record.workloads.iter().find(|w| w.id == slow.id.workload)?;
    let wall =
        |b: &BenchmarkRecord| b.metrics.get(standard::WALL_TIME)?.value.value().filter(|v| v.is_finite());
    let siblings = record.benchmarks.iter().filter(|b| {
        b.id.workload == slow.id.workload && b.id.case == slow.id.case && b.id != slow.id && b.succeeded()
    });
    // The best that anybody can do here, whatever its name.
    let best = siblings
        .filter(|b| wall(b).is_some())
        .min_by(|a, b| wall(a).unwrap_or(f64::NAN).total_cmp(&wall(b).unwrap_or(f64::NAN)))?;
    let defined = record.metrics.iter().chain(&workload.metrics);
    let mut wasted: Vec<(f64, String)> = defined.filter_map(|metric| wasted(metric, slow, best)).collect();
    wasted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let faster = wall(slow)? / wall(best)?;
    let how_much = if faster > 1.0 {
        format!("{} needs {} of the time", best.id.variant, units::percent(1.0 / faster))
    } else {
        format!("no variant is faster here; {} comes next", best.id.variant)
    };
    if wasted.is_empty() {
        return Some(format!("{how_much}. No count or size differs by much."));
    }
    let named: Vec<String> = wasted.into_iter().take(NAMED).map(|(_, text)| text).collect();
    Some(format!("{how_much}. Against it: {}.", named.join("; ")))
}

/// A count or size that the slow one has more of.
fn wasted(metric: &MetricDef, slow: &BenchmarkRecord, best: &BenchmarkRecord) -> Option<(f64, String)> {
    let is_wait = metric.id.as_str() == gpu::HOST_WAIT;
    let judged = matches!(metric.kind, MetricKind::Exact | MetricKind::Size) || is_wait;
    if !judged || metric.work || metric.direction != Direction::Lower {
        return None;
    }
    let value =
        |b: &BenchmarkRecord| b.metrics.get(metric.id.as_str())?.value.value().filter(|v| v.is_finite());
    let (more, less) = (value(slow)?, value(best)?);
    if metric.unit == "bytes" && more < FEW_BYTES {
        return None;
    }
    let ratio = more / less.max(1.0);
    let text = format!(
        "{} {} instead of {}",
        metric.label(),
        units::value(&metric.unit, more),
        if less == 0.0 { "none".to_owned() } else { units::value(&metric.unit, less) }
    );
    (more > less && ratio >= WASTE).then_some((ratio, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Against;
    use crate::render::sample_rows as sample;

    #[test]
    fn a_regressed_time_names_the_counts_that_moved_with_it() {
        let mut rows = sample::rows();
        // One benchmark with a slower time, a sync more, and a wait that grew.
        for row in &mut rows {
            row.benchmark = "w/c/v".into();
            row.against = Against::Base;
        }
        explain(&mut rows);
        let slower: Vec<&Row> = rows.iter().filter(|row| is_slower(row)).collect();
        assert!(!slower.is_empty());
        for row in slower {
            let text = row.diagnosis.as_deref().unwrap();
            assert!(text.starts_with("wall time +") || text.starts_with("wall time 25"), "{text}");
            assert!(text.contains("more syncs in an iteration"), "{text}");
        }
        assert!(rows.iter().filter(|row| !is_slower(row)).all(|row| row.diagnosis.is_none()));
    }

    #[test]
    fn a_time_that_moved_alone_says_so() {
        let mut rows: Vec<Row> = sample::rows().into_iter().filter(is_slower).take(1).collect();
        explain(&mut rows);
        assert!(rows[0].diagnosis.as_deref().unwrap().contains("the same work takes longer"));
    }

    #[test]
    fn a_slow_variant_is_told_what_it_wastes_in_measured_figures() {
        let text = include_str!("../../tests/fixtures/record.json");
        let record = crate::record::file::parse(std::path::Path::new("record.json"), text).unwrap();
        let slow = record.benchmarks.iter().find(|b| b.id.to_string() == "json-logging/n1000/slow").unwrap();
        insta::assert_snapshot!(waste(&record, slow).unwrap());
        let other = record.benchmarks.iter().find(|b| b.role != Role::Slow).unwrap();
        assert_eq!(waste(&record, other), None);
    }
}
