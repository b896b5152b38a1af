//! A copy within device memory with bare wgpu, and one within host memory with bare Rust, for comparison with the
//! ceilings of records. It shares no code with the measurement of those.
//!
//! ```text
//! cargo run --release -p perfharness-gpu --example plain_copy
//! ```

use std::time::{Duration, Instant};

/// Number of copied bytes: more than caches hold.
const BYTES: u64 = 64 << 20;
/// Number of copies between two readings of the clock.
const COPIES: u32 = 8;
const TRIES: u32 = 20;

#[expect(clippy::print_stdout, reason = "a program for a terminal")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rate = |time: Duration| 2.0 * BYTES as f64 * f64::from(COPIES) / time.as_secs_f64() / 1e9;
    println!("host memory: {:.2} GB/s read and written", rate(host()));
    let (name, time) = device()?;
    println!("device memory of {name}: {:.2} GB/s read and written", rate(time));
    Ok(())
}

/// Returns the shortest of several tries.
fn best(mut each: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..TRIES {
        #[expect(
            clippy::disallowed_methods,
            reason = "this example shares no code with the harness, not even its clock"
        )]
        let start = Instant::now();
        each();
        best = best.min(start.elapsed());
    }
    best
}

fn host() -> Duration {
    let from = vec![1_u8; BYTES as usize];
    let mut to = vec![0_u8; BYTES as usize];
    best(|| {
        for _ in 0..COPIES {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut to);
        }
    })
}

fn device() -> Result<(String, Duration), Box<dyn std::error::Error>> {
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let buffer = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: BYTES,
            usage,
            mapped_at_creation: false,
        })
    };
    let (from, to) = (buffer(wgpu::BufferUsages::COPY_SRC), buffer(wgpu::BufferUsages::COPY_DST));
    let mut fault = None;
    let time = best(|| {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for _ in 0..COPIES {
            encoder.copy_buffer_to_buffer(&from, 0, &to, 0, BYTES);
        }
        queue.submit([encoder.finish()]);
        fault = device.poll(wgpu::PollType::wait_indefinitely()).err().or(fault.take());
    });
    match fault {
        None => Ok((adapter.get_info().name, time)),
        Some(error) => Err(error.into()),
    }
}
