//! The log of a training loop, one JSON record per step: document 003, sections 2.1 to 2.3.
//!
//! The document buffers 50 records and reports 98 % fewer file operations. However, its logger keeps the log as one
//! JSON array, so each flush reads and writes the whole file again: writes shrink 50-fold while bytes grow with the
//! square of the number of records. Both are counted here.

mod check;
mod documented;
mod file;
mod logging;
mod optimized;
mod record;
mod slow;
#[cfg(test)]
mod tests;

use perfharness_contract::{
    Case, ClaimDef, Effort, Floor, Promise, Role, VariantDef, Workload, WorkloadBuilder, standard,
};

use documented::bytes_moved;
use logging::{BATCH, Logging, Meters, Params};
use record::{Input, Sizes};

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const OPTIMIZED: &str = "optimized";

/// Returns the workload `json-logging`.
pub fn workload() -> Workload {
    let sizes = sizes();
    let case = |id, n| {
        // Each record is written once.
        let floor = Floor { file_bytes: sizes.lines(n) as f64, ..Floor::default() };
        Case::new(id, Params { n }).items(n, "records").floor(floor)
    };
    let (written, read) = bytes_moved(&sizes, 100_000);
    let too_much = format!(
        "each of the {} rewrites reads and writes the whole log: {:.1} GB written and {:.1} GB read in one \
         iteration",
        rewrites(100_000),
        written as f64 / 1e9,
        read as f64 / 1e9
    );
    let cases = vec![
        case("n1000", 1000),
        case("n10000", 10_000).efforts(&[Effort::Standard, Effort::Thorough]),
        case("n100000", 100_000).efforts(&[Effort::Thorough]),
    ];
    define(cases, sizes).skip("n100000", DOCUMENTED, too_much).build()
}

fn sizes() -> Sizes {
    #[expect(clippy::expect_used, reason = "numbers and a word always have a JSON form")]
    Sizes::measure().expect("a record that has a JSON form")
}

fn rewrites(n: u64) -> u64 {
    n.div_ceil(BATCH as u64)
}

fn define(cases: Vec<Case<Params>>, sizes: Sizes) -> WorkloadBuilder<Params> {
    let slow = VariantDef::new(
        SLOW,
        Role::Slow,
        "opens, appends and closes for every record; a tree for every record",
    )
    .caveat(
        "A killed process loses nothing that it has logged; a power failure may, as nothing is synced to the \
         disk.",
    );
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "collects 50 records, then reads, parses, extends and rewrites the whole log",
    )
    .caveat(
        "A killed process loses up to 49 records; killed during a rewrite, it loses the whole log, as the \
         file is emptied first. Nothing is synced to the disk.",
    );
    let optimized = VariantDef::new(
        OPTIMIZED,
        Role::Optimized,
        "appends lines to one open file, 50 records a write, serialised straight into one buffer",
    )
    .caveat(
        "A killed process loses up to 49 records, and its last line may be cut short. Nothing is synced to \
         the disk.",
    );
    Workload::builder("json-logging", 1, "The log of a training loop, one JSON record a step")
        .source("003", "2.1")
        .source("003", "2.2")
        .source("003", "2.3")
        .cases(cases)
        .metrics(Meters::metrics())
        .claims(claims(&sizes))
        .variant_with(slow, |params, setup| Ok(Logging::new(slow::log, params, setup)))
        .variant_with(documented, |params, setup| Ok(Logging::new(documented::log, params, setup)))
        .variant_with(optimized, |params, setup| Ok(Logging::new(optimized::log, params, setup)))
        .memory(SLOW, |_| Input::bytes() + 4096)
        .memory(DOCUMENTED, |params| Input::bytes() + documented::memory_bytes(params.n))
        .memory(OPTIMIZED, |_| Input::bytes() + optimized::BUFFER_BYTES as u64)
}

/// Claims of the document about this hot path, in its own words.
fn claims(sizes: &Sizes) -> Vec<ClaimDef> {
    let growth = |n| {
        let (written, _) = bytes_moved(sizes, n);
        format!("{:.1}-fold at {n} records", written as f64 / sizes.lines(n) as f64)
    };
    // Before: one open and one write per record. After: one open and one write per rewrite, and one open and one read
    // for each rewrite but the first.
    let calls_saved = |n| 1.0 - (4.0 * rewrites(n) as f64 - 2.0) / (2.0 * n as f64);
    let bytes_grow = format!(
        "Counts write calls; with opens and reads it is {:.1} % at 1000 records. Bytes written grow {} and \
         {}, because each flush writes the whole log again.",
        100.0 * calls_saved(1000),
        growth(1000),
        growth(10_000)
    );
    let formatted = |n| {
        let formatted: u64 = (1..=n / BATCH as u64).map(|flush| flush * BATCH as u64).sum();
        formatted as f64 / n as f64
    };
    vec![
        ClaimDef::new(
            "fewer-file-operations",
            "003, 2.1",
            "98% reduction in file I/O operations",
            file::WRITES,
            Promise::Reduction { at_least: 0.98, at_most: None },
        )
        .note(bytes_grow.clone()),
        ClaimDef::new(
            "faster-steps",
            "003, 2.1",
            "Faster training steps due to reduced I/O blocking",
            standard::WALL_TIME,
            Promise::Factor { at_least: 1.0, at_most: None },
        )
        .note(
            "The document gives no number: any speed-up keeps the promise. An iteration is the logging alone, \
             without the training step around it.",
        ),
        ClaimDef::new(
            "no-serialization-bottleneck",
            "003, 2.1",
            "Eliminates JSON serialization bottleneck",
            standard::WALL_TIME,
            Promise::NotMeasurable {
                reason: format!(
                    "The document gives no number, and no threshold at which a bottleneck is gone. Each \
                     record is formatted once before; after, {:.1} times at 1000 records and {:.1} times at \
                     10000.",
                    formatted(1000),
                    formatted(10_000)
                ),
            },
        ),
        ClaimDef::new(
            "fewer-conversions",
            "003, 2.2",
            "80% reduction in expensive metric extraction",
            logging::CONVERSIONS,
            Promise::Reduction { at_least: 0.80, at_most: None },
        ),
        ClaimDef::new(
            "less-call-overhead",
            "003, 2.3",
            "Reduced function call overhead",
            standard::WALL_TIME,
            Promise::NotMeasurable {
                reason: "The document gives no number, and a compiler inlines the calls away. Heap \
                         allocations show what one conversion function leaves: it still builds a tree for \
                         every record."
                    .into(),
            },
        ),
        ClaimDef::new(
            "fewer-disk-operations",
            "003, Expected Performance Improvements",
            "I/O Overhead: 60-80% reduction in disk operations",
            file::WRITES,
            Promise::Reduction { at_least: 0.6, at_most: Some(0.8) },
        )
        .note(bytes_grow),
    ]
}
