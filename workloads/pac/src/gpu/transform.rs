//! Fourier transforms of lengths that are products of 2, 3 and 5.

use std::f64::consts::TAU;

use bytemuck::{Pod, Zeroable};
use perfharness_gpu::{Buffer, Gpu, GpuError, Pipeline};

use super::{COMPLEX, Work, rows};

/// What a kernel is told; see `step.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Step {
    length: u32,
    span: u32,
    direction: f32,
}

/// Transforms of one length.
pub(super) struct Transform {
    gpu: Gpu,
    length: u32,
    /// Radix of every step, and its kernel.
    steps: Vec<(u32, Pipeline)>,
    roots: Buffer,
}

impl Transform {
    /// Plans for a length whose only prime factors are 2, 3 and 5.
    pub(super) fn new(gpu: &Gpu, length: usize) -> Result<Self, GpuError> {
        // Angles in f64: an f32 of a large angle would have few digits left.
        let root = |k: usize| {
            let (sin, cos) = (TAU * k as f64 / length as f64).sin_cos();
            [cos as f32, -sin as f32]
        };
        let roots: Vec<[f32; 2]> = (0..length).map(root).collect();
        let step = |radix| {
            let source =
                [&format!("const RADIX = {radix}u;\n"), COMPLEX, include_str!("../shaders/step.wgsl")];
            Ok((radix, gpu.pipeline("transform", &source.concat(), "main")?))
        };
        Ok(Self {
            gpu: gpu.clone(),
            length: length as u32,
            steps: radices(length as u32).into_iter().map(step).collect::<Result<_, GpuError>>()?,
            roots: gpu.upload("roots", &roots)?,
        })
    }

    /// The work that transforms `count` signals, forward (1.0) or back (-1.0). They go to and fro between the two
    /// buffers, from number `at` on; returns the number of the one that they end up in.
    pub(super) fn work(
        &self,
        direction: f32,
        count: u32,
        buffers: &[&Buffer; 2],
        at: usize,
    ) -> Result<(Vec<Work>, usize), GpuError> {
        let (mut at, mut span) = (at, 1);
        let mut work = Vec::with_capacity(self.steps.len());
        for (radix, pipeline) in &self.steps {
            let step = self.gpu.uniform("step", &Step { length: self.length, span, direction })?;
            let bound = pipeline.bind([
                ("step", &step),
                ("roots", &self.roots),
                ("before", buffers[at]),
                ("after", buffers[1 - at]),
            ])?;
            work.push((bound, rows(self.length / radix, count)));
            at = 1 - at;
            span *= radix;
        }
        Ok((work, at))
    }
}

/// Factors of a length: fours first, as they take fewer steps than twos.
fn radices(length: u32) -> Vec<u32> {
    let mut rest = length;
    let mut radices = Vec::new();
    for radix in [4, 2, 3, 5] {
        while rest.is_multiple_of(radix) {
            radices.push(radix);
            rest /= radix;
        }
    }
    radices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_make_up_the_length() {
        for length in [1, 2, 4, 30, 625, 960, 30_720, 32_768] {
            assert_eq!(radices(length).iter().product::<u32>(), length);
        }
    }
}
