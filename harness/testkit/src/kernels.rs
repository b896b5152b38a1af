//! Workloads over the kernels of known work, with variants that do a known share more work.

use perfharness_contract::{Case, MetricDef, Role, Setup, Workload};
use perfharness_known_work::{Chain, Gather, Known, Spin, Sweep, Walk, Work};
use serde::Serialize;

const STEPS: &str = "steps";

/// Parameters of a case.
#[derive(Clone, Copy, Debug, Serialize)]
struct Params {
    /// Number of steps that the result of one iteration needs.
    steps: u64,
    /// Size of the buffer that the steps read.
    buffer_bytes: u64,
}

/// A variant: its name, its role, its work in percent, and its summary.
type Variant = (&'static str, Role, u64, &'static str);

const A: Variant = ("a", Role::Slow, 100, "the work itself");
const A_AGAIN: Variant = ("a-again", Role::Other, 100, "the same as `a`");
const PLUS_10: Variant = ("plus10", Role::Other, 110, "10 % more work than `a`, for the same result");
const DOUBLE: Variant = ("double", Role::Other, 200, "twice the work of `a`, for the same result");

/// Returns a workload that works in registers only.
pub(crate) fn spin() -> Workload {
    // One step takes the time of a multiplication and an addition: 1 to 2 ns.
    let cases = [
        ("short", Params { steps: 60_000, buffer_bytes: 0 }),
        ("long", Params { steps: 200_000, buffer_bytes: 0 }),
    ];
    let summary = "A chain of multiplications in registers";
    workload("spin", summary, &cases, &[A, A_AGAIN, PLUS_10, DOUBLE], |_, _| Spin)
}

/// Returns a workload with random reads in a buffer that fits a second-level cache, or nearly.
pub(crate) fn gather() -> Workload {
    let cases = [("kib512", Params { steps: 30_000, buffer_bytes: 512 << 10 })];
    let summary = "A chain of random reads in 512 KiB";
    workload("gather", summary, &cases, &[A, A_AGAIN, PLUS_10], Gather::new)
}

/// Returns a workload with sequential reads through a buffer that is larger than most caches, one window per iteration.
pub(crate) fn sweep() -> Workload {
    let cases = [("mib64", Params { steps: 230_000, buffer_bytes: Sweep::BYTES })];
    let summary = "Sums of successive windows of 64 MiB";
    workload("sweep", summary, &cases, &[A, A_AGAIN, PLUS_10], Sweep::new)
}

/// Builds a workload; `chain` creates the kernel of a placement with a buffer of the given size.
fn workload<W: Walk>(
    id: &str,
    summary: &str,
    cases: &[(&str, Params)],
    variants: &[Variant],
    chain: fn(u64, &Setup) -> W,
) -> Workload {
    let mut workload =
        Workload::builder(id, 1, summary).metric(MetricDef::work(STEPS, "steps that the result needs"));
    for (id, params) in cases {
        workload = workload.case(Case::new(id, *params).items(params.steps, STEPS));
    }
    for &(id, role, percent, summary) in variants {
        workload = workload
            .variant(id, role, summary, move |params: &Params, setup| {
                if let Some(text) = setup.setting("one") {
                    setup.note(format!("one is {text}"));
                }
                let kernel = Chain::new(chain(params.buffer_bytes, setup));
                Ok(Known::new(kernel, Work::of(params.steps, percent), setup))
            })
            .memory(id, |params| params.buffer_bytes);
    }
    workload.path_setting("images", "read by nothing").setting("one", "a text that is told again").build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_such_that_every_kernel_does_what_it_says() {
        for workload in crate::good() {
            for case in &workload.definition().cases {
                let steps = case.params["steps"].as_u64().unwrap();
                assert_eq!(steps % 10, 0, "{}/{}", workload.definition().id, case.id);
                let fits = match workload.definition().id.as_str() {
                    "sweep" => steps + steps / 10 <= Sweep::WINDOW,
                    "gather" => case.params["buffer_bytes"].as_u64().unwrap().is_power_of_two(),
                    _ => true,
                };
                assert!(fits, "{}/{}", workload.definition().id, case.id);
            }
        }
    }
}
