//! Diagnoses: figures that moved together with one that got worse, and figures that a slow variant wastes. All of
//! them are measured; the words say that two figures moved together, and never that one caused the other.

use perfharness_contract::{
    Direction, Items, MetricDef, MetricKind, Number, Role, gpu_metric as gpu, standard,
};
use perfharness_record::compare::{ChangedKernel, GateRow, GrownFunction};
use perfharness_record::plain_text::plain;
use perfharness_record::{BenchmarkRecord, Reach, RunRecord, units};
use perfharness_verdict::Interval;
use perfharness_verdict::judge::{Evidence, Judgement, SAME_INSTRUCTIONS, Verdict};

use super::change;

/// Number of causes that a sentence names; nobody would read more.
const NAMED: usize = 4;

/// Number of functions that a sentence names.
const NAMED_FUNCTIONS: usize = 3;

/// Ratio from which a figure of a slow variant is worth naming.
const WASTE: f64 = 1.2;

/// Bytes of a peak or a copy below which a ratio says nothing.
const FEW_BYTES: f64 = 4096.0;

/// Returns the diagnosis of a figure that got worse: its own movement if it is a count or a size, and the figures of
/// the same benchmark that moved as well, against the same reference. Returns `None` for any other row. A row from a
/// file keeps the words of the file.
pub(in crate::render) fn diagnosis(row: &GateRow, rows: &[GateRow]) -> Option<String> {
    if row.sentence.is_some() || row.judgement.verdict != Verdict::Regressed {
        return row.diagnosis.clone();
    }
    let items = row.items.as_ref();
    let beside = rows.iter().filter(|other| {
        other.benchmark == row.benchmark && other.against == row.against && other.metric != row.metric
    });
    let moved = beside.filter_map(|other| movement(other, items));
    let (own, mut moved): (String, Vec<Movement>) = match row.judgement.evidence.effect() {
        Some(effect) => {
            let title = row.title.as_deref()?;
            (format!("{title} {}", units::relative(effect.exp())), moved.collect())
        }
        // A count explains itself.
        None => (movement(row, items)?.text, moved.filter(|movement| movement.class < Class::Time).collect()),
    };
    // Counts first, because they have no noise; then the largest movement.
    moved.sort_by(|a, b| a.class.cmp(&b.class).then(b.by.total_cmp(&a.by)));
    let by_function =
        format!("{}{}{}{}", kernels(row), functions(&row.functions), beside_it(row, rows), reach(row));
    if moved.is_empty() {
        let is_time = row.judgement.evidence.effect().is_some();
        let alone = ": no count, size or other time of it moved as well, so the same work takes longer";
        // Other instructions are no count of what is computed, but they are other work.
        let is_alone = is_time && row.functions.is_empty();
        return Some(format!("{own}{}{by_function}", if is_alone { alone } else { "" }));
    }
    let more = moved.len().saturating_sub(NAMED);
    let named: Vec<String> = moved.into_iter().take(NAMED).map(|movement| movement.text).collect();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!("{own}: {}{more}{by_function}", named.join(", ")))
}

/// Returns "; by function: `walk` +12.0 %, 1,204,000 more; ..." for those that grew most; empty without any.
fn functions(grown: &[GrownFunction]) -> String {
    let one = |function: &GrownFunction| {
        let GrownFunction { name, before: Number(before), now: Number(now) } = function;
        let name = plain(name);
        let more = units::count((now - before).round());
        if *before > 0.0 {
            format!("`{name}` {}, {more} instructions more", units::relative(now / before))
        } else {
            format!("`{name}` is new, with {more} instructions")
        }
    };
    let named: Vec<String> = grown.iter().take(NAMED_FUNCTIONS).map(one).collect();
    if named.is_empty() { String::new() } else { format!("; by function: {}", named.join("; ")) }
}

/// Returns "; in kernel `sort` from 46 to 98 for a dispatch; ..." for those that got worse; empty without any.
fn kernels(row: &GateRow) -> String {
    let one = |kernel: &ChangedKernel| {
        let name = plain(&kernel.name);
        match kernel.before {
            Some(before) => {
                format!("kernel `{name}` from {} to {}", units::count(before.0), units::count(kernel.now.0))
            }
            None => format!("kernel `{name}` is new, with {}", units::count(kernel.now.0)),
        }
    };
    let named: Vec<String> = row.kernels.iter().take(NAMED_FUNCTIONS).map(one).collect();
    let more = row.kernels.len().saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    if named.is_empty() { String::new() } else { format!("; by dispatch: {}{more}", named.join("; ")) }
}

/// Says of a row whose functions did not grow which of them were changed.
fn reach(row: &GateRow) -> String {
    match &row.reach {
        Some(Reach::Known { changed: 0, .. }) => {
            "; no function that it executes differs from the base".into()
        }
        Some(Reach::Known { executed, changed, names }) if row.functions.is_empty() => {
            let named: Vec<String> =
                names.iter().take(NAMED_FUNCTIONS).map(|name| format!("`{}`", plain(name))).collect();
            let more = if *changed as usize > named.len() { ", ..." } else { "" };
            format!(
                "; {changed} of the {executed} functions that it executes changed: {}{more}",
                named.join(", ")
            )
        }
        _ => String::new(),
    }
}

/// Says of a time that got worse what its instructions did, where they did not grow as much as matters, and of
/// instructions what their time did; empty where neither is known.
fn beside_it(row: &GateRow, rows: &[GateRow]) -> String {
    let of = |metric: &str| {
        rows.iter().find(|other| {
            other.benchmark == row.benchmark
                && other.against == row.against
                && other.metric.as_deref() == Some(metric)
        })
    };
    match row.metric.as_deref() {
        Some(standard::WALL_TIME) => match of(standard::INSTRUCTIONS).map(|other| &other.judgement) {
            Some(Judgement {
                verdict: Verdict::Unchanged,
                evidence: Evidence::Size { baseline, candidate, .. },
                ..
            }) => {
                let change = units::relative(candidate / baseline);
                if (candidate / baseline - 1.0).abs() <= SAME_INSTRUCTIONS {
                    format!("; instructions {change}: so caches, waiting, or where code and data lie")
                } else {
                    format!("; instructions only {change}")
                }
            }
            _ => String::new(),
        },
        Some(standard::INSTRUCTIONS) => {
            let Some(time) = of(standard::WALL_TIME) else { return String::new() };
            let is_time = time.judgement.evidence.effect().is_some();
            let how = match time.judgement.verdict {
                Verdict::Regressed => return String::new(),
                Verdict::Inconclusive => "its time cannot tell",
                _ => "its time",
            };
            change(time).filter(|_| is_time).map_or_else(String::new, |change| format!("; {how}: {change}"))
        }
        _ => String::new(),
    }
}

/// Returns the weight of a figure as evidence, largest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Exact,
    Size,
    Time,
}

/// A figure that got worse.
struct Movement {
    class: Class,
    /// Size of the movement, as a logarithm; infinite if the earlier value is 0.
    by: f64,
    text: String,
}

/// Returns the movement of a figure that got worse; `None` for any other row.
fn movement(row: &GateRow, items: Option<&Items>) -> Option<Movement> {
    let title = row.title.as_deref()?;
    let lower_is_better = row.direction != Some(Direction::Higher);
    let slower = |ratio: f64, interval: Option<Interval>| {
        let is_worse = if lower_is_better { ratio > 1.0 } else { ratio < 1.0 };
        (is_worse && interval.is_some_and(|i| i.lower > 1.0)).then(|| {
            let text = format!("{title} {}", units::relative(ratio));
            Movement { class: Class::Time, by: ratio.ln().abs(), text }
        })
    };
    match &row.judgement.evidence {
        Evidence::Exact { baseline, candidate, .. } | Evidence::Size { baseline, candidate, .. } => {
            let (baseline, candidate) = (*baseline, *candidate);
            let is_exact = matches!(row.judgement.evidence, Evidence::Exact { .. });
            let counts = is_exact || row.judgement.verdict == Verdict::Regressed;
            let is_worse = if lower_is_better { candidate > baseline } else { candidate < baseline };
            if !counts || !is_worse {
                return None;
            }
            let class = if is_exact { Class::Exact } else { Class::Size };
            if let Some(what) = row.metric.as_deref().and_then(growing) {
                // A leak precedes the figures that accompany it.
                return Some(Movement { class, by: f64::INFINITY, text: grows(what, baseline, candidate) });
            }
            let unit = row.unit.as_deref().unwrap_or("");
            let (from, to) = (units::value(unit, baseline), units::value(unit, candidate));
            let mut text = format!("{title} from {from} to {to}");
            if unit == "count" {
                text.push_str(" per iteration");
                text.push_str(&for_each(candidate - baseline, items));
            }
            Some(Movement { class, by: (candidate / baseline).ln().abs(), text })
        }
        Evidence::TimePaired(time) => slower(time.ratio, time.ratio_interval),
        Evidence::TimeUnpaired(time) => slower(time.ratio, Some(time.ratio_interval)),
        Evidence::None | Evidence::Identical { .. } => None,
    }
}

/// Returns " (1 more for each of its 100 steps)" if the addition is the same for each item.
fn for_each(change: f64, items: Option<&Items>) -> String {
    let Some(items) = items.filter(|items| items.count > 1) else { return String::new() };
    let each = change.abs() / items.count as f64;
    if each < 1.0 || each.fract() != 0.0 {
        return String::new();
    }
    let word = if change > 0.0 { "more" } else { "fewer" };
    format!(
        " ({} {word} for each of its {} {})",
        units::count(each),
        units::count(items.count as f64),
        items.unit
    )
}

/// Returns the memory that the metric measures the growth of; `None` for any other metric.
fn growing(metric: &str) -> Option<&'static str> {
    match metric {
        standard::HEAP_GROWTH => Some("heap"),
        gpu::DEVICE_GROWTH => Some("device memory"),
        _ => None,
    }
}

/// Returns "heap grows by 1,024 bytes per iteration".
fn grows(what: &str, before: f64, now: f64) -> String {
    let bytes = |value: f64| format!("{} byte{}", units::count(value), if value == 1.0 { "" } else { "s" });
    if now <= 0.0 {
        // It returns less memory than before.
        return format!("{what} shrinks by {} per iteration instead of {}", bytes(-now), bytes(-before));
    }
    let instead = if before > 0.0 { format!(" instead of {}", bytes(before)) } else { String::new() };
    format!("{what} grows by {} per iteration{instead}", bytes(now))
}

/// Describes in one sentence what a slow variant wastes against the best variant of its case. Returns `None` if no
/// figure is worse or no other variant has figures.
pub(in crate::render) fn waste(record: &RunRecord, slow: &BenchmarkRecord) -> Option<String> {
    if slow.role != Role::Slow || !slow.succeeded() {
        return None;
    }
    let wall =
        |b: &BenchmarkRecord| b.metrics.get(standard::WALL_TIME)?.value.value().filter(|v| v.is_finite());
    let siblings = record.benchmarks.iter().filter(|b| {
        b.id.workload == slow.id.workload && b.id.case == slow.id.case && b.id != slow.id && b.succeeded()
    });
    // The best variant here, whatever its name.
    let best = siblings
        .filter(|b| wall(b).is_some())
        .min_by(|a, b| wall(a).unwrap_or(f64::NAN).total_cmp(&wall(b).unwrap_or(f64::NAN)))?;
    let defined = record.metrics_of(&slow.id.workload);
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

/// A count or size of which the slow variant has more.
fn wasted(metric: &MetricDef, slow: &BenchmarkRecord, best: &BenchmarkRecord) -> Option<(f64, String)> {
    let is_wait = metric.id.as_str() == gpu::HOST_WAIT;
    let judged = matches!(metric.kind, MetricKind::Exact | MetricKind::Size) || is_wait;
    if !judged || metric.work || metric.direction != Direction::Lower {
        return None;
    }
    let record = |b: &BenchmarkRecord| {
        let record = b.metrics.get(metric.id.as_str())?;
        Some((record.kind, record.value.value().filter(|v| v.is_finite())?))
    };
    let ((kind, more), (best_kind, less)) = (record(slow)?, record(best)?);
    if let Some(what) = growing(metric.id.as_str()) {
        // A figure that varies proves nothing.
        let counted = kind == MetricKind::Exact && best_kind == MetricKind::Exact;
        let leaks = counted && more > less && more > 0.0;
        return leaks.then(|| (f64::INFINITY, grows(what, less, more)));
    }
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
    use perfharness_record::compare::Against;
    use perfharness_record::testing as sample;

    fn is_slower(row: &GateRow) -> bool {
        row.judgement.verdict == Verdict::Regressed && row.judgement.evidence.effect().is_some()
    }

    #[test]
    fn a_regressed_time_names_the_counts_that_moved_with_it() {
        let mut rows = sample::rows();
        // One benchmark with a slower time, a sync more, and a wait that grew.
        for row in &mut rows {
            row.benchmark = "w/c/v".into();
            row.against = Against::Base;
        }
        let slower: Vec<&GateRow> = rows.iter().filter(|row| is_slower(row)).collect();
        assert!(!slower.is_empty());
        for row in slower {
            let text = diagnosis(row, &rows).unwrap();
            assert!(text.starts_with("wall time +") || text.starts_with("wall time 25"), "{text}");
            assert!(text.contains("syncs from ") && text.contains(" per iteration"), "{text}");
        }
        let regressed = |row: &&GateRow| row.judgement.verdict == Verdict::Regressed;
        assert!(rows.iter().filter(|row| !regressed(row)).all(|row| diagnosis(row, &rows).is_none()));
    }

    #[test]
    fn a_time_that_moved_alone_says_so() {
        let rows: Vec<GateRow> = sample::rows().into_iter().filter(is_slower).take(1).collect();
        assert!(diagnosis(&rows[0], &rows).unwrap().contains("the same work takes longer"));
    }

    #[test]
    fn a_time_says_what_its_instructions_did_and_instructions_what_their_time_did() {
        let policy = perfharness_verdict::judge::SizePolicy::INSTRUCTIONS;
        let counted = |now: f64| {
            let judged = perfharness_verdict::judge::judge_size(1e6, now, policy, Direction::Lower);
            let count = row(standard::INSTRUCTIONS, "instructions", "count", 1e6, now);
            GateRow { judgement: judged.unwrap(), ..count }
        };
        let slower: GateRow = sample::rows().into_iter().find(is_slower).unwrap();
        let slower = GateRow { benchmark: "w/c/v".into(), against: Against::Base, ..slower };
        let told = |now| diagnosis(&slower, &[slower.clone(), counted(now)]).unwrap();
        let (same, few) = (told(1e6), told(1.001e6));
        assert!(
            same.contains("instructions ")
                && same.ends_with(": so caches, waiting, or where code and data lie"),
            "{same}"
        );
        assert!(few.ends_with("; instructions only +0.100 %"), "{few}");
        let more = counted(1.05e6);
        let told = diagnosis(&more, &[slower.clone(), more.clone()]).unwrap();
        assert!(!told.contains("cannot tell"), "{told}");
        let unsure = sample::rows().into_iter().find(|row| row.benchmark == "spin/s/vague").unwrap();
        let unsure = GateRow { benchmark: "w/c/v".into(), ..unsure };
        let told = diagnosis(&more, &[unsure, more.clone()]).unwrap();
        assert!(told.contains("; its time: +1.00 % ["), "{told}");
    }

    #[test]
    fn a_slow_variant_is_told_what_it_wastes_in_measured_figures() {
        let text = include_str!("../../../../cli/tests/fixtures/record.json");
        let record = perfharness_record::file::parse(std::path::Path::new("record.json"), text).unwrap();
        let slow = record.benchmarks.iter().find(|b| b.id.to_string() == "json-logging/n1000/slow").unwrap();
        insta::assert_snapshot!(waste(&record, slow).unwrap());
        let other = record.benchmarks.iter().find(|b| b.role != Role::Slow).unwrap();
        assert_eq!(waste(&record, other), None);
    }

    /// A count or a size that was judged.
    fn row(metric: &str, title: &str, unit: &str, baseline: f64, candidate: f64) -> GateRow {
        let policy = perfharness_verdict::judge::ExactPolicy::COUNTS;
        let figure = perfharness_verdict::judge::ExactFigure::same;
        let judgement = perfharness_verdict::judge::judge_exact(
            figure(baseline),
            figure(candidate),
            policy,
            Direction::Lower,
        );
        GateRow {
            benchmark: "w/c/v".into(),
            metric: Some(metric.into()),
            title: Some(title.into()),
            unit: Some(unit.into()),
            direction: Some(Direction::Lower),
            items: Some(Items { count: 100, unit: "steps".into() }),
            against: Against::Base,
            judgement: judgement.unwrap(),
            sentence: None,
            diagnosis: None,
            functions: Vec::new(),
            reach: None,
            kernels: Vec::new(),
            reproduce: String::new(),
        }
    }

    fn diagnosed(rows: &[GateRow]) -> Vec<Option<String>> {
        rows.iter().map(|row| diagnosis(row, rows)).collect()
    }

    #[test]
    fn a_leak_is_named_by_its_own_row_and_by_the_counts_that_came_with_it() {
        let rows = vec![
            row("heap-growth", "heap growth", "bytes", 0.0, 1024.0),
            row("heap-allocations", "heap allocations", "count", 2.0, 3.0),
            row("syncs", "syncs", "count", 1.0, 1.0),
        ];
        let due = [
            Some(
                "heap grows by 1,024 bytes per iteration: heap allocations from 2 to 3 per iteration"
                    .to_owned(),
            ),
            Some(
                "heap allocations from 2 to 3 per iteration: heap grows by 1,024 bytes per iteration"
                    .to_owned(),
            ),
            None,
        ];
        assert_eq!(diagnosed(&rows), due);
        let device = vec![row("device-growth", "device memory growth", "bytes", 64.0, 128.0)];
        let due = "device memory grows by 128 bytes per iteration instead of 64 bytes";
        assert_eq!(diagnosed(&device), [Some(due.to_owned())]);
        let given_back = vec![row("heap-growth", "heap growth", "bytes", -64.0, -1.0)];
        let due = "heap shrinks by 1 byte per iteration instead of 64 bytes";
        assert_eq!(diagnosed(&given_back), [Some(due.to_owned())]);
    }

    #[test]
    fn what_is_added_for_each_item_says_so() {
        let one =
            |change| diagnosed(&[row("heap-allocations", "heap allocations", "count", 1.0, 1.0 + change)]);
        let due = "heap allocations from 1 to 201 per iteration (2 more for each of its 100 steps)";
        assert_eq!(one(200.0), [Some(due.to_owned())]);
        assert_eq!(one(150.0), [Some("heap allocations from 1 to 151 per iteration".to_owned())]);
        assert_eq!(one(1.0), [Some("heap allocations from 1 to 2 per iteration".to_owned())]);
    }

    #[test]
    fn a_slow_variant_that_leaks_is_told_so_first() {
        let text = include_str!("../../../../cli/tests/fixtures/record.json");
        let mut record = perfharness_record::file::parse(std::path::Path::new("record.json"), text).unwrap();
        let id = "json-logging/n1000/slow";
        let metrics = standard::heap_metrics();
        let workload = record.workloads.iter_mut().find(|w| w.id.as_str() == "json-logging").unwrap();
        workload.metrics.retain(|metric| metric.id != standard::HEAP_GROWTH);
        workload.metrics.extend(metrics.into_iter().filter(|metric| metric.id == standard::HEAP_GROWTH));
        for benchmark in record.benchmarks.iter_mut().filter(|b| b.id.workload == "json-logging") {
            let figure = benchmark.metrics["file-writes"].clone();
            let value = if benchmark.id.to_string() == id { 1024.0 } else { 0.0 };
            let value = perfharness_contract::Reading::Value(Number(value));
            let growth = perfharness_record::MetricRecord { kind: MetricKind::Exact, value, ..figure };
            benchmark.metrics.insert(standard::HEAP_GROWTH.into(), growth);
        }
        let waste_of = |record: &RunRecord| {
            let slow = record.benchmarks.iter().find(|b| b.id.to_string() == id).unwrap();
            waste(record, slow).unwrap()
        };
        assert!(
            waste_of(&record).contains("Against it: heap grows by 1,024 bytes per iteration;"),
            "{}",
            waste_of(&record)
        );
        // A figure that varies between launches proves nothing.
        let slow = record.benchmarks.iter_mut().find(|b| b.id.to_string() == id).unwrap();
        slow.metrics.get_mut(standard::HEAP_GROWTH).unwrap().kind = MetricKind::Size;
        assert!(!waste_of(&record).contains("grows"), "{}", waste_of(&record));
    }
}
