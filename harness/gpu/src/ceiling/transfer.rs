//! Transfers between host and device.

use std::time::Duration;

use perfharness_platform::clock;

use super::timing::{on_device, on_host, shortest, shortest_of};
use crate::{Gpu, GpuError};

/// Bytes of a transfer. Small ones may come out of the processor's caches, and large ones have few gaps between them.
const SIZES: [u64; 2] = [4 << 20, 64 << 20];
/// Number of buffers in rotation. With one, the host and the device wait for each other.
const SLOTS: [usize; 3] = [1, 2, 4];
/// Duration of the tries of each size and number.
const TRYING: Duration = Duration::from_millis(200);

/// Returns the bytes per second from the host to the device, of the best size and number of slots.
pub(super) fn upload(gpu: &Gpu) -> Result<f64, GpuError> {
    best(|bytes, slots| upload_rate(gpu, bytes, slots, TRYING))
}

/// Returns the bytes per second from the device to the host, of the best size and number of slots.
pub(super) fn download(gpu: &Gpu) -> Result<f64, GpuError> {
    best(|bytes, slots| Ok(bytes as f64 / download_ns(gpu, bytes, slots, TRYING)? * 1e9))
}

/// Returns the time in ns of a copy of four bytes to the host, including the wait for it.
pub(super) fn sync_ns(gpu: &Gpu) -> Result<f64, GpuError> {
    download_ns(gpu, 4, 1, super::timing::TRYING)
}

fn best(mut rate: impl FnMut(u64, usize) -> Result<f64, GpuError>) -> Result<f64, GpuError> {
    let mut best = 0.0_f64;
    for bytes in SIZES {
        for slots in SLOTS {
            best = best.max(rate(bytes, slots)?);
        }
    }
    Ok(best)
}

/// Returns the bytes per second of uploads, the filling of the slots included: where staging memory lies in the device,
/// the filling crosses the bus, and else the copy does.
fn upload_rate(gpu: &Gpu, bytes: u64, slots: usize, trying: Duration) -> Result<f64, GpuError> {
    let to = gpu.buffer("to", bytes)?;
    let data = vec![1_u8; bytes as usize];
    let mut staging = gpu.staging("up", bytes, slots)?;
    let ns = shortest(trying, |repetitions| {
        on_host(|| {
            for _ in 0..repetitions {
                gpu.commands("upload").upload_through(&mut staging, &to, &data).submit()?;
            }
            gpu.fence()
        })
    })?;
    Ok(bytes as f64 / ns * 1e9)
}

/// Returns the bytes per second that the host writes into a staging buffer.
pub(super) fn staging_fill(gpu: &Gpu) -> Result<f64, GpuError> {
    let bytes = SIZES[1];
    let data = vec![1_u8; bytes as usize];
    let mut staging = gpu.staging("up", bytes, 1)?;
    let fill = |()| {
        let start = clock::now();
        let slot = staging.fill_next(&data)?;
        let ns = start.elapsed().as_nanos() as f64;
        // Maps it for the next time.
        slot.abandoned();
        gpu.fence()?;
        Ok(ns)
    };
    let [best] = shortest_of(TRYING, [()], fill)?;
    Ok(bytes as f64 / best * 1e9)
}

/// Returns the bytes per second that the device copies out of a staging buffer; `None` if it cannot time copies.
pub(super) fn staging_copy(gpu: &Gpu) -> Result<Option<f64>, GpuError> {
    if gpu.require(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS).is_err() {
        return Ok(None);
    }
    let bytes = SIZES[1];
    let to = gpu.buffer("to", bytes)?;
    let data = vec![1_u8; bytes as usize];
    let mut staging = gpu.staging("up", bytes, 1)?;
    let copy = |()| {
        on_device(gpu, "upload", |commands| {
            commands.upload_through(&mut staging, &to, &data);
            Ok(())
        })
    };
    let [best] = shortest_of(TRYING, [()], copy)?;
    Ok(Some(bytes as f64 / best * 1e9))
}

/// Returns the shortest time in ns of a download of so many bytes, through buffers in rotation.
fn download_ns(gpu: &Gpu, bytes: u64, slots: usize, trying: Duration) -> Result<f64, GpuError> {
    let from = gpu.buffer("from", bytes)?;
    let readbacks = (0..slots).map(|_| gpu.readback::<u8>("down", bytes));
    let mut readbacks = readbacks.collect::<Result<Vec<_>, _>>()?;
    let mut data = vec![0_u8; bytes as usize];
    shortest(trying, |repetitions| {
        on_host(|| {
            let repetitions = repetitions as usize;
            // All others are on their way while the host reads one.
            for at in 0..repetitions + slots - 1 {
                if at < repetitions {
                    gpu.commands("download").download(&from, &mut readbacks[at % slots]).submit()?;
                }
                if let Some(earlier) = (at + 1).checked_sub(slots) {
                    readbacks[earlier % slots].wait_into(&mut data)?;
                }
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::require_adapter;

    #[test]
    fn no_number_of_slots_beats_the_ceiling() {
        let Some(gpu) = require_adapter() else { return };
        let mut seen = Vec::new();
        // A ceiling that other programs disturbed is lower than it is.
        for _ in 0..5 {
            let ceiling = upload(&gpu).unwrap();
            let rates = SLOTS.map(|slots| upload_rate(&gpu, SIZES[1], slots, TRYING).unwrap());
            if rates.iter().all(|rate| *rate < 1.1 * ceiling) {
                return;
            }
            seen.push((ceiling, rates));
        }
        panic!("ceilings, and bytes per second with {SLOTS:?} slots: {seen:?}");
    }

    #[test]
    fn filling_and_copying_alone_are_each_faster_than_both_in_turns() {
        let Some(gpu) = require_adapter() else { return };
        let mut seen = Vec::new();
        // Other programs disturb one or the other.
        for _ in 0..5 {
            let Some(copied) = staging_copy(&gpu).unwrap() else { return };
            let filled = staging_fill(&gpu).unwrap();
            let both = upload_rate(&gpu, SIZES[1], 1, TRYING).unwrap();
            if filled > both && copied > both {
                return;
            }
            seen.push((filled, copied, both));
        }
        panic!("bytes per second of filling, of copying, and of both in turns: {seen:?}");
    }

    #[test]
    fn downloads_in_rotation_arrive_as_they_were_sent() {
        let Some(gpu) = require_adapter() else { return };
        for slots in SLOTS {
            assert!(download_ns(&gpu, 1000, slots, Duration::ZERO).unwrap() > 0.0, "{slots}");
        }
    }
}
