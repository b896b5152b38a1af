//! The log of a training loop, one JSON record per step: document 003, sections 2.1 to 2.3.
//!
//! The document buffers 50 records before it writes them, and reports 98 % fewer file operations. The source's own
//! logger does something else: it keeps the log as one JSON array, so each flush reads and writes the whole file again.
//! Writes shrink 50-fold there while bytes grow with the square of the number of records. Both forms are measured.

mod check;
mod claims;
mod documented;
mod entries;
mod file;
mod logging;
mod optimized;
mod record;
mod shipped;
mod slow;
#[cfg(test)]
mod tests;

use perfharness_contract::{Case, Effort, Floor, Role, VariantDef, Workload, WorkloadBuilder};

use logging::{Logging, Meters, Params};
use record::{Input, Sizes};
use shipped::{bytes_moved, rewrites};

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const SHIPPED: &str = "shipped";
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
    define(cases, sizes).skip("n100000", SHIPPED, too_much).build()
}

fn sizes() -> Sizes {
    #[expect(clippy::expect_used, reason = "numbers and a word always have a JSON form")]
    Sizes::measure().expect("a record that has a JSON form")
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
        "collects 50 records as trees, then opens, appends and closes once for all",
    )
    .caveat(
        "A killed process loses up to 49 records, and its last line may be cut short. Nothing is synced to \
         the disk.",
    );
    let shipped = VariantDef::new(
        SHIPPED,
        Role::Other,
        "the source's logger: collects 50 records, then reads, parses, extends and rewrites the whole log",
    )
    .reference(SLOW)
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
    Workload::builder("json-logging", 2, "The log of a training loop, one JSON record a step")
        .source("003", "2.1")
        .source("003", "2.2")
        .source("003", "2.3")
        .cases(cases)
        .metrics(Meters::metrics())
        .claims(claims::claims(&sizes))
        .variant_with(slow, |params, setup| Ok(Logging::new(slow::log, params, setup)))
        .variant_with(documented, |params, setup| Ok(Logging::new(documented::log, params, setup)))
        .variant_with(shipped, |params, setup| Ok(Logging::new(shipped::log, params, setup)))
        .variant_with(optimized, |params, setup| Ok(Logging::new(optimized::log, params, setup)))
        .memory(SLOW, |_| Input::bytes() + 4096)
        .memory(DOCUMENTED, |_| Input::bytes() + entries::batch_bytes())
        .memory(SHIPPED, |params| Input::bytes() + shipped::memory_bytes(params.n))
        .memory(OPTIMIZED, |_| Input::bytes() + optimized::BUFFER_BYTES as u64)
}
