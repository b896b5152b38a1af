//! Runs every built-in workload under criterion: `cargo bench -p perfharness-criterion [-- FILTER]`.

use criterion::{Criterion, criterion_group, criterion_main};
use perfharness_criterion::bench_all;

criterion_group!(workloads, built_in);
criterion_main!(workloads);

fn built_in(criterion: &mut Criterion) {
    let mut workloads = perfharness_all::all();
    // The filter of criterion does not show whether the name of a workload was spelled out.
    workloads.retain(|workload| !workload.definition().on_request);
    bench_all(criterion, &workloads);
}
