//! Kernels of benchmarks, and the figures of their code.

use std::collections::BTreeMap;

use perfharness_contract::Number;
use perfharness_contract::gpu_metric::{
    CODE_INSTRUCTIONS, CODE_LATENCY, CODE_SPILLS, CODE_WAVES, code_metrics, code_statistic,
};
use perfharness_contract::protocol::Kernels;
use perfharness_record::{CompiledKernel, Compiler, KernelCode, KernelRecord, KernelsRecord, MetricRecord};

use super::{absent, values};
use crate::isa::Codes;

/// Returns the kernels of a side with their codes.
pub(super) fn of_side(known: Option<&(Kernels, u64)>, codes: &Codes) -> Option<KernelsRecord> {
    let (kernels, iterations) = known?;
    Some(match kernels {
        Kernels::Absent { absent } => KernelsRecord::Absent { absent: absent.clone() },
        Kernels::Known(kernels) => {
            let kernel = kernels.iter().map(|kernel| KernelRecord {
                label: kernel.label.clone(),
                entry_point: kernel.entry_point.clone(),
                dispatches: Number(kernel.dispatches as f64 / (*iterations).max(1) as f64),
                code: codes.of(kernel),
            });
            KernelsRecord::Known(kernel.collect())
        }
    })
}

/// Returns the figures of an iteration for each family, by the names of the metrics. There are none without a dispatch.
pub(super) fn metrics(
    kernels: &KernelsRecord,
    compilers: &BTreeMap<String, Compiler>,
) -> BTreeMap<String, MetricRecord> {
    if matches!(kernels, KernelsRecord::Known(kernels) if kernels.is_empty()) {
        return BTreeMap::new();
    }
    let mut metrics = BTreeMap::new();
    for (family, compiler) in compilers {
        for metric in code_metrics(family) {
            let figure = match (kernels, compiler) {
                (KernelsRecord::Absent { absent }, _) | (_, Compiler::Absent { absent }) => {
                    Err(absent.clone())
                }
                (KernelsRecord::Known(kernels), Compiler::By { .. }) => {
                    let statistic = code_statistic(metric.id.as_str()).map_or("", |(statistic, _)| statistic);
                    figure(statistic, family, kernels)
                }
            };
            let record = match figure {
                Ok(value) => values(&metric, metric.kind, value, &[value], false),
                Err(reason) => absent(&metric, &reason),
            };
            metrics.insert(metric.id.to_string(), record);
        }
    }
    metrics
}

/// Returns a figure of all kernels together, or the reason why one of them lacks it.
fn figure(statistic: &str, family: &str, kernels: &[KernelRecord]) -> Result<f64, String> {
    let pick: fn(&CompiledKernel) -> Option<u64> = match statistic {
        CODE_INSTRUCTIONS => |code| code.instructions,
        CODE_SPILLS => |code| code.spills,
        CODE_WAVES => |code| code.waves,
        CODE_LATENCY => |code| code.latency,
        _ => |_| None,
    };
    let of_kernel = |kernel: &KernelRecord| match kernel.code.get(family) {
        Some(KernelCode::Compiled(code)) => match pick(code) {
            Some(value) => Ok((kernel.dispatches.0, value as f64)),
            None => Err("the driver does not report it".to_owned()),
        },
        Some(KernelCode::Absent { absent }) => Err(format!("kernel `{}`: {absent}", kernel.name())),
        None => Err(format!("kernel `{}` was not compiled", kernel.name())),
    };
    let all = kernels.iter().map(of_kernel).collect::<Result<Vec<_>, _>>()?;
    Ok(if statistic == CODE_WAVES {
        all.iter().map(|(_, waves)| *waves).fold(f64::INFINITY, f64::min)
    } else {
        all.iter().map(|(dispatches, value)| dispatches * value).sum()
    })
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Digest;

    use super::*;

    fn code(instructions: u64, spills: Option<u64>, waves: u64) -> KernelCode {
        KernelCode::Compiled(CompiledKernel {
            digest: Digest::of(b"code"),
            subgroup: 64,
            instructions: Some(instructions),
            code_bytes: None,
            vgprs: None,
            sgprs: None,
            spills,
            scratch_bytes: None,
            lds_bytes: None,
            waves: Some(waves),
            latency: Some(1),
            inverse_throughput: None,
        })
    }

    fn kernel(label: &str, dispatches: f64, code: KernelCode) -> KernelRecord {
        let code = BTreeMap::from([("navi21".to_owned(), code)]);
        KernelRecord { label: label.into(), entry_point: "main".into(), dispatches: Number(dispatches), code }
    }

    fn compilers() -> BTreeMap<String, Compiler> {
        let by = Compiler::By { driver: "radv 1".into(), device: "d".into() };
        BTreeMap::from([("navi21".to_owned(), by)])
    }

    #[test]
    fn figures_are_weighted_by_dispatches_and_the_lowest_occupancy_counts() {
        let kernels =
            vec![kernel("sort", 3.0, code(100, Some(2), 16)), kernel("scan", 0.5, code(10, Some(0), 20))];
        let metrics = metrics(&KernelsRecord::Known(kernels), &compilers());
        let value = |metric: &str| metrics[metric].value.value();
        assert_eq!(value("code-instructions-navi21"), Some(305.0));
        assert_eq!(value("code-spills-navi21"), Some(6.0));
        assert_eq!(value("code-waves-navi21"), Some(16.0));
        assert_eq!(value("code-latency-navi21"), Some(3.5));
    }

    #[test]
    fn a_figure_that_one_kernel_lacks_is_absent_with_its_name() {
        let broken = KernelCode::Absent { absent: "it needs f16".into() };
        let kernels = vec![kernel("sort", 1.0, code(1, None, 1)), kernel("scan", 1.0, broken)];
        let all = metrics(&KernelsRecord::Known(kernels.clone()), &compilers());
        let reason = |metric: &str| all[metric].value.absence().map(str::to_owned);
        assert_eq!(reason("code-instructions-navi21").unwrap(), "kernel `scan`: it needs f16");
        let all = metrics(&KernelsRecord::Known(kernels[..1].to_vec()), &compilers());
        assert_eq!(all["code-spills-navi21"].value.absence(), Some("the driver does not report it"));
    }

    #[test]
    fn no_compiler_unknown_kernels_and_no_kernels_are_told_apart() {
        let none = Compiler::Absent { absent: "no RADV".into() };
        let none = BTreeMap::from([("navi21".to_owned(), none)]);
        let kernels = KernelsRecord::Known(vec![kernel("sort", 1.0, code(1, None, 1))]);
        let reason = |kernels: &KernelsRecord, compilers: &BTreeMap<String, Compiler>| {
            metrics(kernels, compilers)["code-waves-navi21"].value.absence().map(str::to_owned)
        };
        assert_eq!(reason(&kernels, &none).unwrap(), "no RADV");
        let unknown = KernelsRecord::Absent { absent: "recorded before".into() };
        assert_eq!(reason(&unknown, &compilers()).unwrap(), "recorded before");
        assert!(metrics(&KernelsRecord::Known(Vec::new()), &compilers()).is_empty());
    }
}
