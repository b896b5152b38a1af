//! Dispatches that do nothing.

use std::time::Duration;

use super::timing::{on_device, shortest_of};
use crate::{Bound, Gpu, GpuError};

/// Numbers of dispatches whose times are subtracted. Both are so many that a microsecond more or less does not matter.
const FEW: u32 = 1 << 10;
const MANY: u32 = 1 << 12;

const SOURCE: &str = "
    @group(0) @binding(0) var<storage, read_write> value: array<u32>;
    @compute @workgroup_size(1) fn main() { if value[0] == 1u { value[0] = 2u; } }";

/// Returns the time in ns that one more dispatch takes, which depends on the one before it. That of one alone also has the
/// begin and the end of its submit.
pub(super) fn each_ns(gpu: &Gpu) -> Result<f64, GpuError> {
    slope_ns(gpu, &kernel(gpu)?, [FEW, MANY], super::timing::TRYING)
}

fn kernel(gpu: &Gpu) -> Result<Bound, GpuError> {
    let value = gpu.buffer_for::<u32>("value", 1)?;
    gpu.pipeline("nothing", SOURCE, "main")?.bind([("value", &value)])
}

/// Returns the slope of the shortest times over two numbers of dispatches, in ns.
fn slope_ns(gpu: &Gpu, kernel: &Bound, counts: [u32; 2], trying: Duration) -> Result<f64, GpuError> {
    let time = |count: u32| {
        on_device(gpu, "dispatch", |commands| {
            (0..count).for_each(|_| _ = commands.dispatch(kernel, [1, 1, 1]));
            Ok(())
        })
    };
    let [few, many] = shortest_of(trying, counts, time)?;
    let slope = (many - few) / f64::from(counts[1] - counts[0]);
    // Other programs can make the times of few as long as those of many; what one takes of many is then the bound.
    Ok(if slope > 0.0 { slope } else { many / f64::from(counts[1]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::require_adapter;

    #[test]
    fn what_a_dispatch_takes_does_not_depend_on_their_number() {
        let Some(gpu) = require_adapter() else { return };
        let kernel = kernel(&gpu).unwrap();
        let mut seen = Vec::new();
        // Other programs disturb one slope or the other.
        for _ in 0..10 {
            let of = |counts| slope_ns(&gpu, &kernel, counts, Duration::from_millis(300)).unwrap();
            let (small, large) = (of([256, 1024]), of([1024, 8192]));
            seen.push((small, large));
            if (small / large).ln().abs() < 0.2 {
                return;
            }
        }
        panic!("ns for each dispatch, of few and of many: {seen:?}");
    }
}
