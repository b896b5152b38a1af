//! Arithmetic: chains of multiplications and additions that no result leaves.

use std::time::Duration;

use super::timing::{TRYING, on_device, shortest};
use crate::{Bound, Buffer, Gpu, GpuError};

/// Shortest time in ns of a dispatch: a start and a barrier take microseconds on any device, less than a thousandth.
const DISPATCH_NS: f64 = 5e6;

/// Number of rounds of an invocation, so many that its start costs two hundredths on a software adapter.
const ROUNDS: u32 = 128;

/// Fewest and most invocations of a dispatch. The most take 32 MiB for their results.
const INVOCATIONS: [u64; 2] = [1 << 14, 1 << 23];

/// Number of steps between two checks of a loop's end. A compiler of WGSL adds a counter of its own to each loop, which
/// must cost little beside them.
const STEPS: usize = 16;

/// Number of operations in a round of steps: a multiplication and an addition in each lane of four vectors of four.
const OPERATIONS: f64 = STEPS as f64 * 4.0 * 4.0 * 2.0;

/// Factor of each lane. It is below 1, so that a chain contracts to a value near 1 instead of growing to infinity, for
/// which a device may be faster or slower.
const FACTOR: [f32; 4] = [0.96875, 0.9375, 0.90625, 0.875];
/// Number that each step adds.
const ADDEND: [f32; 4] = [0.03125, 0.0625, 0.09375, 0.125];
/// First values of the chains. They differ, because a compiler may compute equal chains once.
const STARTS: [[f32; 4]; 4] = [
    [0.75, 1.25, 0.875, 1.125],
    [1.5, 0.5, 1.375, 0.625],
    [0.25, 1.75, 1.0625, 0.9375],
    [2.0, 0.125, 1.625, 0.375],
];

/// Returns the operations per second with values of the type `scalar`, `f32` or `f16`.
pub(super) fn operations(gpu: &Gpu, scalar: &str) -> Result<f64, GpuError> {
    Chains::filling(gpu, scalar)?.operations(TRYING)
}

/// Kernel whose invocations each compute four chains.
struct Chains {
    gpu: Gpu,
    results: Buffer,
    rounds: Buffer,
    kernel: Bound,
}

impl Chains {
    fn new(gpu: &Gpu, scalar: &str, invocations: u64) -> Result<Self, GpuError> {
        let numbers: Vec<f32> = [FACTOR, ADDEND].iter().chain(&STARTS).flatten().copied().collect();
        let numbers = gpu.upload("numbers", &numbers)?;
        let results = gpu.buffer_for::<f32>("results", invocations)?;
        let rounds = gpu.uniform("rounds", &[1_u32, 0, 0, 0])?;
        let pipeline = gpu.pipeline("operations", &source(scalar), "main")?;
        let kernel = pipeline.bind([("numbers", &numbers), ("results", &results), ("rounds", &rounds)])?;
        Ok(Self { gpu: gpu.clone(), results, rounds, kernel })
    }

    /// Creates a kernel with so many invocations that a dispatch takes long enough.
    fn filling(gpu: &Gpu, scalar: &str) -> Result<Self, GpuError> {
        let [mut invocations, most] = INVOCATIONS;
        loop {
            let chains = Self::new(gpu, scalar, invocations)?;
            if invocations >= most || chains.run(ROUNDS, 1)?.min(chains.run(ROUNDS, 1)?) >= DISPATCH_NS {
                return Ok(chains);
            }
            invocations *= 2;
        }
    }

    /// Returns the operations per second, the most of all tries.
    fn operations(&self, trying: Duration) -> Result<f64, GpuError> {
        let ns = shortest(trying, |dispatches| self.run(ROUNDS, dispatches))?;
        Ok(OPERATIONS * f64::from(ROUNDS) * self.results.count::<f32>() as f64 / ns * 1e9)
    }

    /// Computes, and returns the time in ns.
    fn run(&self, rounds: u32, dispatches: u64) -> Result<f64, GpuError> {
        self.gpu.write_buffer(&self.rounds, &[rounds, 0, 0, 0])?;
        let groups = self.kernel.groups(self.results.count::<f32>());
        on_device(&self.gpu, "operations", |commands| {
            (0..dispatches).for_each(|_| _ = commands.dispatch(&self.kernel, groups));
            Ok(())
        })
    }
}

/// Returns the shader. All its numbers come from a buffer, so that no compiler knows them.
fn source(scalar: &str) -> String {
    let enable = if scalar == "f16" { "enable f16;" } else { "" };
    let step = "a = fma(a, f, g); b = fma(b, f, g); c = fma(c, f, g); d = fma(d, f, g);\n".repeat(STEPS);
    format!(
        "{enable}
        @group(0) @binding(0) var<storage, read> numbers: array<vec4f, 6>;
        @group(0) @binding(1) var<storage, read_write> results: array<f32>;
        @group(0) @binding(2) var<uniform> rounds: vec4u;
        @compute @workgroup_size(64) fn main(
            @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
        ) {{
            let i = id.y * groups.x * 64u + id.x;
            let f = vec4<{scalar}>(numbers[0]); let g = vec4<{scalar}>(numbers[1]);
            var a = vec4<{scalar}>(numbers[2]); var b = vec4<{scalar}>(numbers[3]);
            var c = vec4<{scalar}>(numbers[4]); var d = vec4<{scalar}>(numbers[5]);
            for (var round = 0u; round < rounds.x; round++) {{
                {step}
            }}
            let sum = a + b + c + d;
            if i < arrayLength(&results) {{ results[i] = f32(sum.x + sum.y + sum.z + sum.w); }}
        }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::require_adapter;

    /// Largest finite number in half precision.
    const HALF_MAX: f32 = 65_504.0;

    /// Rounds to the 11 significant bits of half precision. The values of the chains are far from its smallest ones.
    fn to_half(value: f32) -> f32 {
        let bits = value.to_bits();
        let half = (bits >> 13) & 1;
        f32::from_bits((bits + 0x0fff + half) & !0x1fff)
    }

    /// Returns the values of all chains after so many steps, with the rounding `round` after each.
    fn chains(steps: usize, round: impl Fn(f32) -> f32) -> Vec<f32> {
        let lanes = STARTS.iter().flat_map(|start| start.iter().zip(FACTOR.iter().zip(ADDEND)));
        lanes
            .map(|(start, (factor, addend))| {
                (0..steps).fold(round(*start), |value, _| {
                    let value = round(value.mul_add(*factor, addend));
                    assert!(value.is_normal() && value.abs() < HALF_MAX, "{value}");
                    value
                })
            })
            .collect()
    }

    #[test]
    fn chains_stay_near_one_however_long_they_are() {
        for value in chains(1 << 16, |value| value).into_iter().chain(chains(1 << 16, to_half)) {
            assert!((0.97..=1.03).contains(&value), "{value}");
        }
        assert_eq!([to_half(1.0), to_half(1.000_4), to_half(1.000_6)], [1.0, 1.0, 1.000_976_6]);
    }

    #[test]
    fn every_invocation_computes_every_step() {
        let Some(gpu) = require_adapter() else { return };
        let mut scalars = vec![("f32", 1e-5)];
        if gpu.require(wgpu::Features::SHADER_F16).is_ok() {
            scalars.push(("f16", 2e-2));
        }
        for (scalar, error) in scalars {
            let computed = Chains::new(&gpu, scalar, 1000).unwrap();
            assert!(computed.run(0, 1).unwrap() > 0.0);
            let none = gpu.read::<f32>(&computed.results).unwrap();
            let start: f32 = STARTS.iter().flatten().sum();
            assert!(none.iter().all(|sum| (sum - start).abs() <= error * start), "{scalar}: {none:?}");
            // The chains have contracted by a third or so in a round: a step more or less would show.
            for (rounds, dispatches) in [(1, 1), (3, 4)] {
                computed.run(rounds, dispatches).unwrap();
                let sums = gpu.read::<f32>(&computed.results).unwrap();
                let expected: f32 = chains(STEPS * rounds as usize, |value| value).iter().sum();
                assert!(
                    sums.iter().all(|sum| (sum - expected).abs() <= error * expected),
                    "{scalar}: {} is not {expected}",
                    sums[0]
                );
            }
        }
    }

    #[test]
    fn the_rate_is_one_of_arithmetic_and_not_of_launches() {
        let Some(gpu) = require_adapter() else { return };
        // Both sizes compute as much, because other programs disturb a long dispatch more often than a short one. A
        // software adapter would take seconds for the hardware's.
        let software = gpu.facts().kind == crate::AdapterKind::Software;
        let (many, times) = if software { (1_u64 << 13, 4) } else { (1 << 22, 64) };
        let sizes = [(many, ROUNDS), (many / u64::from(times), ROUNDS * times)];
        let sizes = sizes.map(|(n, rounds)| (Chains::new(&gpu, "f32", n).unwrap(), rounds));
        let mut best = [f64::INFINITY; 2];
        // Other programs only ever add time, so the best of more tries comes nearer to the device's.
        for _ in 0..1000 {
            for (best, (chains, rounds)) in best.iter_mut().zip(&sizes) {
                *best = best.min(chains.run(*rounds, 1).unwrap());
            }
            if (best[0] / best[1]).ln().abs() < 0.05 {
                return;
            }
        }
        panic!("the same work takes {best:?} ns in many and in few invocations");
    }

    #[test]
    fn a_dispatch_lasts_much_longer_than_its_start() {
        let Some(gpu) = require_adapter() else { return };
        let chains = Chains::filling(&gpu, "f32").unwrap();
        let mut best = [f64::INFINITY; 2];
        for _ in 0..20 {
            for (best, rounds) in best.iter_mut().zip([ROUNDS, 2 * ROUNDS]) {
                *best = best.min(chains.run(rounds, 1).unwrap());
            }
        }
        assert!(best[1] > 1.5 * best[0], "{best:?} ns for {ROUNDS} rounds and twice as many");
    }
}
