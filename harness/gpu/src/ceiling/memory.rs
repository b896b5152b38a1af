//! Bytes that a device reads and writes in its memory.

use std::time::Duration;

use super::timing::{TRYING, on_device, shortest_of};
use crate::{AdapterKind, Bound, Buffer, Commands, Gpu, GpuError};

/// Bytes that are moved at once: four times the largest last-level cache of a device
/// ([`LARGEST_DEVICE_CACHE`](perfharness_contract::LARGEST_DEVICE_CACHE)).
const MOVED: u64 = 1 << 30;
/// The same where memory is short, and on software adapters, whose caches are those of a processor.
const MOVED_AT_LEAST: u64 = 128 << 20;

/// Ways to move bytes. Which of them is the fastest differs between devices.
const WAYS: [Way; 3] = [Way::Command, Way::CopyInShader, Way::ReadInShader];

#[derive(Clone, Copy, Debug)]
enum Way {
    Command,
    CopyInShader,
    ReadInShader,
}

/// Returns the bytes per second of the fastest way, reads and writes together.
pub(super) fn rate(gpu: &Gpu) -> Result<f64, GpuError> {
    let most = if gpu.facts().kind == AdapterKind::Software { 2 * MOVED_AT_LEAST } else { MOVED };
    let mut bytes = most.min(gpu.max_binding().saturating_mul(2)) / (2 * VECTOR) * (2 * VECTOR);
    loop {
        match Memory::new(gpu, bytes) {
            Err(GpuError::OutOfMemory(_)) if bytes > MOVED_AT_LEAST => bytes /= 2,
            memory => return memory?.rate(TRYING),
        }
    }
}

/// Bytes that an invocation moves.
const VECTOR: u64 = 16;

/// Two buffers, and the kernels that move their bytes.
struct Memory {
    gpu: Gpu,
    from: Buffer,
    to: Buffer,
    copy: Bound,
    read: Bound,
}

impl Memory {
    /// Creates buffers of `bytes` together.
    fn new(gpu: &Gpu, bytes: u64) -> Result<Self, GpuError> {
        let buffers = [gpu.buffer("from", bytes / 2)?, gpu.buffer("to", bytes / 2)?];
        let [from, to] = buffers;
        let bind = |name: &str, body: &str| {
            gpu.pipeline(name, &source(body), "main")?.bind([("input", &from), ("output", &to)])
        };
        // A value that a driver could keep in a compressed form would move fewer bytes than it counts.
        let fill =
            bind("fill", "output[i] = vec4u(i, i * 1664525u, i * 22695477u, ~i) * 2654435761u + input[i];")?;
        gpu.commands("fill").dispatch(&fill, fill.groups(bytes / 2 / VECTOR)).copy(&to, &from).submit()?;
        Ok(Self {
            copy: bind("copy", "output[i] = input[i];")?,
            // The sum of random words is this value in one of 2^32 invocations, which no compiler knows.
            read: bind(
                "read",
                "let sum = input[i] + output[i];
                if sum.x + sum.y + sum.z + sum.w == 0x9e3779b9u { output[i].x = 1u; }",
            )?,
            gpu: gpu.clone(),
            from,
            to,
        })
    }

    fn rate(&self, trying: Duration) -> Result<f64, GpuError> {
        let shortest = shortest_of(trying, WAYS, |way| self.time(way))?;
        Ok(2.0 * self.from.bytes() as f64 / shortest.into_iter().fold(f64::INFINITY, f64::min) * 1e9)
    }

    /// Returns the time in ns in which a way moves the bytes of both buffers.
    fn time(&self, way: Way) -> Result<f64, GpuError> {
        on_device(&self.gpu, "memory", |commands| {
            self.add(way, commands);
            Ok(())
        })
    }

    fn add(&self, way: Way, commands: &mut Commands) {
        let kernel = match way {
            Way::Command => {
                commands.copy(&self.from, &self.to);
                return;
            }
            Way::CopyInShader => &self.copy,
            Way::ReadInShader => &self.read,
        };
        commands.dispatch(kernel, kernel.groups(self.from.bytes() / VECTOR));
    }
}

fn source(body: &str) -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> input: array<vec4u>;
        @group(0) @binding(1) var<storage, read_write> output: array<vec4u>;
        @compute @workgroup_size(256) fn main(
            @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
        ) {{
            let i = id.y * groups.x * 256u + id.x;
            if i >= arrayLength(&input) {{ return; }}
            {body}
        }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::require_adapter;

    #[test]
    fn every_way_moves_what_it_counts() {
        let Some(gpu) = require_adapter() else { return };
        let memory = Memory::new(&gpu, 2 << 20).unwrap();
        let filled = gpu.read::<u32>(&memory.from).unwrap();
        assert!(filled.iter().filter(|word| **word == 0).count() < filled.len() / 1000, "compressible");
        for way in [Way::Command, Way::CopyInShader] {
            gpu.commands("clear").clear(&memory.to).submit().unwrap();
            memory.time(way).unwrap();
            assert_eq!(gpu.read::<u32>(&memory.to).unwrap(), filled, "{way:?}");
        }
        // A sum that is the one that it looks for, in the last invocation, shows that the kernel reads both buffers.
        let words = memory.from.count::<u32>();
        let last = [0x9e37_79b9 - 6, 1, 2, 3].map(|word: u32| word);
        gpu.commands("sum")
            .clear(&memory.to)
            .upload(memory.from.range::<u32>(words - 4..words), &last)
            .submit()
            .unwrap();
        memory.time(Way::ReadInShader).unwrap();
        assert_eq!(gpu.read::<u32>(&memory.to).unwrap().iter().filter(|word| **word == 1).count(), 1);
    }

    #[test]
    fn the_rate_does_not_depend_on_the_size() {
        let Some(gpu) = require_adapter() else { return };
        let sizes = [MOVED_AT_LEAST, 2 * MOVED_AT_LEAST].map(|bytes| Memory::new(&gpu, bytes).unwrap());
        let mut best = [0.0_f64; 2];
        // Other programs only ever lower a rate, so the best of more tries comes nearer to the device's.
        for _ in 0..10 {
            for (best, memory) in best.iter_mut().zip(&sizes) {
                *best = best.max(memory.rate(Duration::from_millis(100)).unwrap());
            }
            // A cache that held a part of one of them would be several times as fast.
            if (best[0] / best[1]).ln().abs() < 0.25 {
                return;
            }
        }
        panic!("bytes per second of two sizes: {best:?}");
    }
}
