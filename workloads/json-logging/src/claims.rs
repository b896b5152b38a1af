//! Claims of the document about this hot path, in its own words.

use perfharness_contract::{ClaimDef, Promise, standard};

use crate::logging::{BATCH, CONVERSIONS};
use crate::record::Sizes;
use crate::shipped::{bytes_moved, rewrites};
use crate::{SHIPPED, SLOW, file};

const BATCHED: &str = "003, 2.1";
const SELECTIVE: &str = "003, 2.2";
const SHARED: &str = "003, 2.3";
const EXPECTED: &str = "003, Expected Performance Improvements";

/// Returns the claims, in the order of the document. `sizes` give the figures of the notes.
pub(crate) fn claims(sizes: &Sizes) -> Vec<ClaimDef> {
    let mut claims = of_the_calls(sizes);
    claims.extend(of_the_conversions());
    claims.extend(of_the_whole_program());
    claims
}

fn judged(id: &str, source: &str, statement: &str, metric: &str, promise: Promise) -> ClaimDef {
    ClaimDef::new(id, source, statement, metric, promise)
}

/// Creates a claim that no measurement can decide.
fn open(id: &str, source: &str, statement: &str, metric: &str, reason: impl Into<String>) -> ClaimDef {
    judged(id, source, statement, metric, Promise::NotMeasurable { reason: reason.into() })
}

/// Claims about calls and their time. They are judged for the source's class, too, which does something else than the
/// document says.
fn of_the_calls(sizes: &Sizes) -> Vec<ClaimDef> {
    let growth = |n| {
        let (written, _) = bytes_moved(sizes, n);
        format!("{:.1}-fold at {n} records", written as f64 / sizes.lines(n) as f64)
    };
    // Before: one open and one write per record. After: one open and one write per rewrite, and one open and one read
    // for each rewrite but the first.
    let calls_saved = |n| 1.0 - (4.0 * rewrites(n) as f64 - 2.0) / (2.0 * n as f64);
    let bytes_grow = format!(
        "Counts write calls; with opens and reads it is {:.1} % at 1000 records. Bytes written grow {} and {}, because \
         each flush writes the whole log again.",
        100.0 * calls_saved(1000),
        growth(1000),
        growth(10_000)
    );
    let formatted = |n| {
        let formatted: u64 = (1..=n / BATCH as u64).map(|flush| flush * BATCH as u64).sum();
        formatted as f64 / n as f64
    };
    let alone = "An iteration is the logging alone, without the training step around it.";
    let fewer_operations = |id| {
        let promise = Promise::Reduction { at_least: 0.98, at_most: None };
        judged(id, BATCHED, "98% reduction in file I/O operations", file::WRITES, promise)
    };
    let faster = |id| {
        let promise = Promise::Factor { at_least: 1.0, at_most: None };
        judged(id, BATCHED, "Faster training steps due to reduced I/O blocking", standard::WALL_TIME, promise)
            .note(format!("The document gives no number: any speed-up keeps the promise. {alone}"))
    };
    let disk_operations = |id| {
        let promise = Promise::Reduction { at_least: 0.6, at_most: Some(0.8) };
        judged(id, EXPECTED, "I/O Overhead: 60-80% reduction in disk operations", file::WRITES, promise)
    };
    vec![
        fewer_operations("fewer-file-operations").note("Counts write calls. Opens fall by the same share."),
        fewer_operations("fewer-file-operations-as-shipped").between(SLOW, SHIPPED).note(bytes_grow.clone()),
        open(
            "no-serialization-bottleneck",
            BATCHED,
            "Eliminates JSON serialization bottleneck",
            standard::WALL_TIME,
            format!(
                "The document gives no number, and no threshold at which a bottleneck is gone. Each record is formatted \
                 once before and once after; `shipped` formats it {:.1} times at 1000 records and {:.1} times at 10000.",
                formatted(1000),
                formatted(10_000)
            ),
        ),
        faster("faster-steps"),
        faster("faster-steps-as-shipped").between(SLOW, SHIPPED),
        disk_operations("fewer-disk-operations").note("Counts write calls. Opens fall by the same share."),
        disk_operations("fewer-disk-operations-as-shipped").between(SLOW, SHIPPED).note(bytes_grow),
    ]
}

fn of_the_conversions() -> Vec<ClaimDef> {
    vec![
        judged(
            "fewer-conversions",
            SELECTIVE,
            "80% reduction in expensive metric extraction",
            CONVERSIONS,
            Promise::Reduction { at_least: 0.80, at_most: None },
        ),
        open(
            "less-conversion-overhead",
            SELECTIVE,
            "Reduced tensor→numpy conversion overhead",
            CONVERSIONS,
            "The document gives no number. The conversions are counted, and `fewer-conversions` judges them.",
        ),
        open(
            "less-call-overhead",
            SHARED,
            "Reduced function call overhead",
            standard::WALL_TIME,
            "The document gives no number, and a compiler inlines the calls away. Heap allocations show what one \
             conversion function leaves: it still builds a tree for every record.",
        ),
    ]
}

fn of_the_whole_program() -> Vec<ClaimDef> {
    let less_memory = |id| {
        let promise = Promise::Reduction { at_least: 0.3, at_most: Some(0.4) };
        let statement = "General Training: 30-40% reduction due to batched logging";
        judged(id, EXPECTED, statement, standard::HEAP_PEAK, promise)
    };
    vec![
        less_memory("less-memory").note(
            "Covers the heap of the logging, which is all that batched logging can change. A batch keeps 50 entries \
             where one was enough.",
        ),
        less_memory("less-memory-as-shipped")
            .between(SLOW, SHIPPED)
            .note("Covers the heap of the logging. Each rewrite keeps the whole log, as a tree and as text."),
        open(
            "all-metrics-logged",
            "003, Performance Monitoring",
            "All metrics still tracked and logged",
            CONVERSIONS,
            "It contradicts section 2.2, which logs expert loads and ghost activations at every 5th step only. Every \
             variant writes the log of section 2.2, and the check compares all of its fields.",
        ),
    ]
}
