//! The workload `pac`: document 004.

mod bands;
mod budget;
mod check;
mod claims;
mod cpu;
mod device;
mod documented;
mod documented_gpu;
mod measured;
mod pool;
mod signal;
mod slow;
mod slow_gpu;
mod stages;
mod surrogates;
#[cfg(test)]
mod tests;

pub use surrogates::surrogates;

use perfharness_contract::{Case, Effort, OutcomeKind, Role, VariantDef, Workload, WorkloadBuilder};
use perfharness_gpu::gpu_meter;

use budget::{DEVICE_BUDGET, TENSOR_BUDGET, TENSOR_DEFAULT, tensor_bytes};
use cpu::{Cpu, CpuF64};
use device::Device;
use documented::Documented;
use documented_gpu::DocumentedGpu;
use measured::Pac;
use signal::Params;
use slow::Slow;
use slow_gpu::{Clones, SlowGpu};

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const SLOW_GPU: &str = "slow-gpu";
const UNCLONED_GPU: &str = "slow-gpu-uncloned";
const DOCUMENTED_GPU: &str = "documented-gpu";
const OPTIMIZED: &str = "optimized";
const OPTIMIZED_CPU: &str = "optimized-cpu";
const OPTIMIZED_CPU_F64: &str = "optimized-f64";

/// Caveat of variants with a one-hot tensor.
const OUT_OF_MEMORY: &str = "Ends as out-of-memory, before it allocates, if the tensor would exceed pac-budget (4 GiB if \
                             not set) or the memory of the machine.";

/// Returns the workload `pac`.
pub fn workload() -> Workload {
    let slow = VariantDef::new(
        SLOW,
        Role::Slow,
        "on one CPU thread: filters by copied stages, then spreads every amplitude of all pairs over a one-hot tensor",
    )
    .caveat(OUT_OF_MEMORY);
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "on one CPU thread: filters in memory that is kept, without clones; scatters 16 amplitude signals at a time",
    );
    let slow_gpu = VariantDef::new(
        SLOW_GPU,
        Role::Slow,
        "f32 on the GPU: clones between the stages of the filters, a one-hot tensor, a new buffer for each need",
    )
    .needs("gpu")
    .caveat(OUT_OF_MEMORY);
    let uncloned_gpu = VariantDef::new(UNCLONED_GPU, Role::Other, "slow-gpu without the clones")
        .needs("gpu")
        .reference(SLOW_GPU)
        .efforts(&[Effort::Standard, Effort::Thorough]);
    let documented_gpu = VariantDef::new(
        DOCUMENTED_GPU,
        Role::Documented,
        "f32 on the GPU: no clones, 16 signals at a time, scattered to histograms, buffers from a pool",
    )
    .needs("gpu")
    .reference(SLOW_GPU);
    let optimized = VariantDef::new(
        OPTIMIZED,
        Role::Optimized,
        "f32 on the GPU: chunks from one budget of bytes, histograms in workgroup memory, only the index is read",
    )
    .needs("gpu")
    .caveat("The signals are already on the device.");
    let cpu = VariantDef::new(
        OPTIMIZED_CPU,
        Role::Optimized,
        "f32, all processors: one transform of a channel for all bands, two bands a transform, all pairs in one pass",
    );
    let cpu_f64 = VariantDef::new(OPTIMIZED_CPU_F64, Role::Other, "optimized-cpu in f64");
    let builder = Workload::builder("pac", 3, "Phase-amplitude coupling of all pairs of bands")
        .source("004", "Root Causes Identified")
        .source("004", "Immediate Actions Required")
        .cases(cases().into_iter().map(|(id, params, efforts)| {
            let pairs = params.pairs();
            let floor = params.floor();
            Case::new(&id, params).items(pairs, "pairs").efforts(efforts).floor(floor)
        }))
        .meter(gpu_meter())
        .metrics(measured::metrics())
        .claims(claims::claims())
        .setting(
            TENSOR_BUDGET,
            "bytes that the one-hot tensor of the slow variants may take; 4GiB if not set, and never more than the memory",
        )
        .setting(
            DEVICE_BUDGET,
            "bytes that `optimized` may have on the device beside the signals; 64MiB if not set",
        )
        .variant_with(slow, |params: &Params, setup| {
            Pac::new(params, setup, |settings, shape| Slow::new(setup, settings, shape))
        })
        .variant_with(documented, |params: &Params, setup| {
            Pac::new(params, setup, |settings, shape| Ok(Documented::new(settings, shape)))
        })
        .variant_with(slow_gpu, |params: &Params, setup| {
            Pac::new(params, setup, |settings, shape| SlowGpu::new(setup, settings, shape, Clones::Made))
        })
        .variant_with(uncloned_gpu, |params: &Params, setup| {
            Pac::new(params, setup, |settings, shape| SlowGpu::new(setup, settings, shape, Clones::LeftOut))
        })
        .variant_with(documented_gpu, |params: &Params, setup| {
            Pac::new(params, setup, |settings, shape| DocumentedGpu::new(setup, settings, shape))
        })
        .variant_with(optimized, |params: &Params, setup| {
            Pac::new(params, setup, |settings, shape| Device::new(setup, params, settings, shape))
        })
        .variant_with(cpu, |params: &Params, setup| Pac::new(params, setup, Cpu::new))
        .variant_with(cpu_f64, |params: &Params, setup| Pac::new(params, setup, CpuF64::new))
        .memory(SLOW, with_tensor_bytes)
        .memory(SLOW_GPU, with_tensor_bytes)
        .memory(UNCLONED_GPU, with_tensor_bytes)
        .memory(DOCUMENTED, reference_bytes)
        .memory(DOCUMENTED_GPU, reference_bytes)
        .memory(OPTIMIZED, reference_bytes)
        .memory(OPTIMIZED_CPU, reference_bytes)
        .memory(OPTIMIZED_CPU_F64, reference_bytes);
    let too_large = cases()
        .into_iter()
        .filter(|(_, params, _)| tensor_bytes(&params.settings(), params.shape()) > TENSOR_DEFAULT);
    let with_budget = cases().into_iter().filter(|(_, params, _)| params.budget_mib.is_some());
    let builder = with_budget.fold(builder, |builder, (id, ..)| {
        [DOCUMENTED, DOCUMENTED_GPU, OPTIMIZED_CPU, OPTIMIZED_CPU_F64].into_iter().fold(
            builder,
            |builder, variant| {
                builder.skip(&id, variant, "the variant has no budget; see the case without a budget")
            },
        )
    });
    let expected = |builder: WorkloadBuilder<_>, (id, ..): (String, Params, &[Effort])| {
        [SLOW, SLOW_GPU, UNCLONED_GPU]
            .into_iter()
            .fold(builder, |builder, variant| builder.expect(&id, variant, OutcomeKind::OutOfMemory))
    };
    too_large.fold(builder, expected).build()
}

/// Memory of a check, and of the one-hot tensor if it fits its default budget.
fn with_tensor_bytes(params: &Params) -> u64 {
    let tensor = tensor_bytes(&params.settings(), params.shape());
    reference_bytes(params) + if tensor > TENSOR_DEFAULT { 0 } else { tensor }
}

/// Peak memory of a check: points and bins of every phase band, analytic signal and amplitudes of every amplitude band.
fn reference_bytes(params: &Params) -> u64 {
    (params.shape().len() * params.bands * (16 + 8 + 16 + 8)) as u64
}

/// Returns ids, parameters and efforts.
fn cases() -> Vec<(String, Params, &'static [Effort])> {
    use Effort::{Standard, Thorough};
    let sizes = [("small", 1, 1), ("medium", 8, 4), ("large", 16, 60)];
    let mut cases = Vec::new();
    for (size, channels, seconds) in sizes {
        for bands in [10, 16, 30] {
            let efforts: &[Effort] = match (size, bands) {
                ("small", 10) => &Effort::ALL,
                ("medium", 10 | 16) => &[Standard, Thorough],
                _ => &[Thorough],
            };
            cases.push((format!("{size}-{bands}x{bands}"), Params::new(channels, seconds, bands), efforts));
        }
    }
    for mib in [64, 256, 1024] {
        let params = Params { budget_mib: Some(mib), ..Params::new(16, 60, 16) };
        cases.push((format!("large-16x16-b{mib}mb"), params, &[Thorough]));
    }
    cases
}
