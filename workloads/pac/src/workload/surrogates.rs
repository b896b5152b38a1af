//! The workload `pac-surrogates`: the distance of an index from chance.
//!
//! The amplitudes are shifted in a circle against the phases by a random number of samples, 200 times. Coupling does
//! not contribute to the index of a shift, and the z-score of the true index is its distance from the mean of the
//! shifts, in their standard deviations (of the population).

mod copies;
mod device;
mod input;
mod lanes;
mod logarithm;
mod measured;
#[cfg(test)]
mod tests;
mod welford;

use perfharness_contract::{
    Case, ClaimDef, Effort, Failure, Floor, MetricDef, Promise, Role, VariantDef, Workload, standard,
};
use perfharness_gpu::gpu_meter;

use super::measured::COPIED_BYTES;
use super::signal::Params;
use copies::{KeepAll, Streamed};
use device::Device;
use input::Input;
use lanes::Lanes;
use measured::{INDEXES, Surrogates};

const SLOW: &str = "slow";
const DOCUMENTED: &str = "documented";
const OPTIMIZED: &str = "optimized";
const OPTIMIZED_GPU: &str = "optimized-gpu";
/// Number of shifts.
const SHIFTS: usize = 200;
/// Number of phase bands, and of amplitude bands, in every case.
const BANDS: usize = 10;
/// Number of shifts whose indexes are computed by one thread or workgroup, one after the other.
const BLOCK: usize = 8;

/// A way to compute z-scores.
trait Score {
    /// Relative tolerance of the check. |z| is about 1 to 100; sums in another order move it by less than this.
    fn tolerance(&self) -> f64 {
        1e-8
    }

    /// Loads the inputs of a round. Not timed.
    fn load(&mut self, _pool: &[Input]) -> Result<(), Failure> {
        Ok(())
    }

    /// Computes the scores, (amplitude band, phase band, channel), of the input at position `at` of the pool. Returns
    /// the number of bytes that it copies unchanged.
    fn scores(&mut self, at: usize, input: &Input, scores: &mut [f64]) -> Result<u64, Failure>;
}

/// Returns the workload `pac-surrogates`.
pub fn surrogates() -> Workload {
    let case = |id, channels, seconds, efforts: &[Effort]| {
        let params = Params::new(channels, seconds, BANDS);
        let pairs = params.pairs();
        let floor = floor(&params);
        Case::new(id, params).items(pairs * SHIFTS as u64, "surrogates").efforts(efforts).floor(floor)
    };
    let slow = VariantDef::new(
        SLOW,
        Role::Slow,
        "shifts by a copy of the amplitudes, keeps the indexes of all shifts, then takes mean and deviation",
    );
    let documented = VariantDef::new(
        DOCUMENTED,
        Role::Documented,
        "shifts by a copy of the amplitudes, and carries mean and deviation along (Welford)",
    );
    let optimized = VariantDef::new(
        OPTIMIZED,
        Role::Optimized,
        "all processors: shifts by where it begins to read, all bands in vector lanes, mean and deviation carried along",
    );
    let on_gpu = VariantDef::new(
        OPTIMIZED_GPU,
        Role::Optimized,
        "f32 on the GPU: samples listed by bin once, sums in registers for blocks of 8 shifts, only the scores are read",
    )
    .needs("gpu")
    .caveat("Bins and amplitudes are already on the device.");
    let lazy = ClaimDef::new(
        "lazy-statistics",
        "004, Revised Implementation Priority",
        "Lazy surrogate statistics (needs memory optimization first)",
        standard::WALL_TIME,
        Promise::NotMeasurable {
            reason: "The document gives no number. Heap bytes and copied bytes show the cost of keeping everything."
                .into(),
        },
    )
    .between(SLOW, DOCUMENTED);
    Workload::builder("pac-surrogates", 3, "Z-scores of phase-amplitude coupling over 200 circular shifts")
        .source("004", "Revised Implementation Priority")
        .case(case("small-10x10", 1, 1, &Effort::ALL))
        .case(case("medium-10x10", 8, 4, &[Effort::Thorough]))
        .case(case("large-10x10", 16, 60, &[Effort::Thorough]))
        .meter(gpu_meter())
        .metric(MetricDef::work(INDEXES, "indexes of shifts"))
        .metric(MetricDef::bytes(COPIED_BYTES, "bytes copied unchanged"))
        .claim(lazy)
        .variant_with(slow, |params, setup| Ok(Surrogates::new(KeepAll, params, setup)))
        .variant_with(documented, |params, setup| Ok(Surrogates::new(Streamed, params, setup)))
        .variant_with(optimized, |params: &Params, setup| {
            let (shape, bins) = (params.shape(), params.settings().bins);
            Ok(Surrogates::new(Lanes::new(shape, bins, SHIFTS, 0)?, params, setup))
        })
        .variant_with(on_gpu, |params: &Params, setup| {
            let (shape, bins) = (params.shape(), params.settings().bins);
            Ok(Surrogates::new(Device::new(setup, shape, bins, SHIFTS)?, params, setup))
        })
        .build()
}

/// Bins and amplitudes of all bands are read once, and each shift of each pair adds up the samples of its channel.
fn floor(params: &Params) -> Floor {
    let samples = params.shape().len() as f64;
    let bands = params.bands as f64;
    Floor {
        host_bytes: bands * samples * (size_of::<u8>() + size_of::<f64>()) as f64,
        device_bytes: bands * samples * (size_of::<u8>() + size_of::<f32>()) as f64,
        download_bytes: (size_of::<f32>() as u64 * params.pairs()) as f64,
        operations: SHIFTS as f64 * bands * bands * samples,
        ..Floor::default()
    }
}
