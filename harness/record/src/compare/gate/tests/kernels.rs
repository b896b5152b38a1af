//! Kernels of a benchmark against those of the base.

use perfharness_contract::gpu_metric::code_metrics;
use perfharness_contract::{Digest, Number};

use super::*;
use crate::{CompiledKernel, Compiler, KernelCode, KernelRecord, KernelsRecord, MetricRecord};

/// Instructions, spilled registers and waves of a kernel.
type Code = (u64, u64, u64);

fn kernel(label: &str, (instructions, spills, waves): Code) -> KernelRecord {
    let code = KernelCode::Compiled(CompiledKernel {
        digest: Digest::of(format!("{instructions} {spills} {waves}").as_bytes()),
        subgroup: 64,
        instructions: Some(instructions),
        code_bytes: None,
        vgprs: None,
        sgprs: None,
        spills: Some(spills),
        scratch_bytes: None,
        lds_bytes: None,
        waves: Some(waves),
        latency: None,
        inverse_throughput: None,
    });
    let code = [("navi21".to_owned(), code)].into();
    KernelRecord { label: label.into(), entry_point: "main".into(), dispatches: Number(1.0), code }
}

fn with_kernels(benchmark: &mut BenchmarkRecord, kernels: &[(&str, Code)]) {
    let sum = |pick: fn(&Code) -> u64| kernels.iter().map(|(_, code)| pick(code) as f64).sum::<f64>();
    let waves = kernels.iter().map(|(_, code)| code.2 as f64).fold(f64::INFINITY, f64::min);
    for (id, kind, value) in [
        ("code-instructions-navi21", "size", sum(|code| code.0)),
        ("code-spills-navi21", "exact", sum(|code| code.1)),
        ("code-waves-navi21", "exact", waves),
    ] {
        let figure = metric("count", kind, &[value]);
        benchmark.metrics.insert(id.into(), serde_json::from_value::<MetricRecord>(figure).unwrap());
    }
    let kernels = kernels.iter().map(|(label, code)| kernel(label, *code)).collect();
    benchmark.kernels = Some(KernelsRecord::Known(kernels));
}

/// Two builds, `other` of which has these kernels in base and head.
fn compiled(base: &[(&str, Code)], head: &[(&str, Code)]) -> RunRecord {
    let mut record = against_base(0.0);
    record.metrics.extend(code_metrics("navi21"));
    let by = Compiler::By { driver: "radv Mesa 22.3.6".into(), device: "navi21".into() };
    record.compilers.insert("navi21".into(), by);
    with_kernels(&mut record.benchmarks[2], head);
    with_kernels(&mut record.base.as_mut().unwrap().benchmarks[2], base);
    record
}

const SORT: (&str, Code) = ("sort", (1000, 0, 16));

fn judged(head: &[(&str, Code)], metric: &str) -> (Verdict, Vec<String>) {
    let report = paired(&compiled(&[SORT, ("scan", (4000, 4, 12))], head));
    let row = row(&report, "other", metric);
    (row.judgement.verdict, row.kernels.iter().map(|kernel| kernel.name.clone()).collect())
}

#[test]
fn a_kernel_that_got_worse_is_named_even_if_the_total_hides_it() {
    let scan = ("scan", (4000, 4, 12));
    for (metric, worse) in [
        ("code-instructions-navi21", ("sort", (1500, 0, 16))),
        ("code-spills-navi21", ("sort", (1000, 3, 16))),
        // The occupancy of another kernel is lower still, so the lowest stays.
        ("code-waves-navi21", ("sort", (1000, 0, 14))),
        // Half of the limit in all instructions.
        ("code-instructions-navi21", ("sort", (1050, 0, 16))),
    ] {
        assert_eq!(judged(&[worse, scan], metric), (Verdict::Regressed, vec!["sort".into()]), "{metric}");
    }
    // A saving in one kernel pays for no spill in another.
    let saved = [("sort", (1000, 3, 16)), ("scan", (4000, 0, 12))];
    assert_eq!(judged(&saved, "code-spills-navi21"), (Verdict::Regressed, vec!["sort".into()]));
}

#[test]
fn a_little_more_and_an_improvement_name_nobody() {
    let scan = ("scan", (4000, 4, 12));
    let little = [("sort", (1015, 0, 16)), scan];
    assert_eq!(judged(&little, "code-instructions-navi21"), (Verdict::Unchanged, Vec::new()));
    let better = [("sort", (500, 0, 16)), ("scan", (4000, 0, 16))];
    for metric in ["code-instructions-navi21", "code-spills-navi21", "code-waves-navi21"] {
        assert_eq!(judged(&better, metric), (Verdict::Improved, Vec::new()), "{metric}");
    }
}

#[test]
fn a_new_kernel_explains_a_total_and_an_absent_figure_stays_open() {
    let new = [SORT, ("scan", (4000, 4, 12)), ("fill", (600, 0, 16))];
    assert_eq!(judged(&new, "code-instructions-navi21"), (Verdict::Regressed, vec!["fill".into()]));
    let mut record = compiled(&[SORT], &[SORT]);
    let absent = serde_json::json!({"absent": "kernel `sort`: it needs f16"});
    let figure = record.benchmarks[2].metrics.get_mut("code-spills-navi21").unwrap();
    figure.value = serde_json::from_value(absent).unwrap();
    let report = paired(&record);
    let row = row(&report, "other", "code-spills-navi21");
    assert!(row.judgement.gates() && row.judgement.verdict == Verdict::Inconclusive, "{row:?}");
}

#[test]
fn equal_code_is_said_of_the_benchmark() {
    let same = |record: &RunRecord| {
        paired(record).remarks.into_iter().find_map(|remark| match remark {
            Remark::SameKernels { benchmarks, others } => Some((benchmarks, others)),
            _ => None,
        })
    };
    let (benchmarks, others) = same(&compiled(&[SORT], &[SORT])).unwrap();
    assert!(benchmarks[0].ends_with("/other") && benchmarks.len() == 1 && others == 0, "{benchmarks:?}");
    assert_eq!(same(&compiled(&[SORT], &[("sort", (1001, 0, 16))])), None);
    assert_eq!(same(&compiled(&[SORT], &[SORT, ("fill", (600, 0, 16))])), None);
    // Twice the dispatches of the same code are more work.
    let mut twice = compiled(&[SORT], &[SORT]);
    let Some(KernelsRecord::Known(kernels)) = &mut twice.benchmarks[2].kernels else { panic!("known") };
    kernels[0].dispatches = Number(2.0);
    assert_eq!(same(&twice), None);
    // Nothing is known of code that does not compile.
    let mut absent = compiled(&[SORT], &[SORT]);
    for benchmark in [&mut absent.benchmarks[2], &mut absent.base.as_mut().unwrap().benchmarks[2]] {
        let Some(KernelsRecord::Known(kernels)) = &mut benchmark.kernels else { panic!("known") };
        kernels[0].code.insert("navi21".into(), KernelCode::Absent { absent: "f16".into() });
    }
    assert_eq!(same(&absent), None);
}
