//! Every built-in workload under criterion: `cargo bench -p perfharness-criterion [-- FILTER]`.

use criterion::{Criterion, criterion_group, criterion_main};
use perfharness_criterion::bench_all;

criterion_group!(workloads, built_in);
criterion_main!(workloads);

fn built_in(criterion: &mut Criterion) {
    bench_all(criterion, &perfharness_all::all());
}
