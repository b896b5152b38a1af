//! Fourier transforms of lengths that are products of 2, 3 and 5.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::f64::consts::TAU;
use std::rc::Rc;

use bytemuck::{Pod, Zeroable};
use perfharness_gpu::{Bound, Buffer, Gpu, GpuError, Pipeline};

use super::{COMPLEX, Work, rows};

/// Parameters of a kernel; see `step.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Step {
    length: u32,
    span: u32,
    direction: f32,
}

/// Direction of a transform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Direction {
    /// From samples to frequencies.
    Forward,
    /// From frequencies to samples, without the division by their number.
    Back,
}

/// Kernels of the steps by radix, which transforms of all lengths share.
pub(crate) type Steps = BTreeMap<u32, Pipeline>;

/// Transforms of one length.
pub(crate) struct Transform {
    length: u32,
    /// Radix of every step, its kernel, and its parameters forward and back.
    steps: Vec<(u32, Pipeline, [Buffer; 2])>,
    roots: Buffer,
}

/// A transform between two buffers, for any number of signals.
pub(crate) struct Pass {
    length: u32,
    /// Radix of every step.
    steps: Vec<(u32, Rc<Bound>)>,
    /// Number of the buffer that holds the result.
    pub(crate) end: usize,
}

impl Transform {
    /// Plans for a length whose prime factors are 2, 3 and 5 only.
    pub(crate) fn new(gpu: &Gpu, length: usize, shared: &mut Steps) -> Result<Self, GpuError> {
        // The angles are f64: an f32 of a large angle would have few digits left.
        let root = |k: usize| {
            let (sin, cos) = (TAU * k as f64 / length as f64).sin_cos();
            [cos as f32, -sin as f32]
        };
        let roots: Vec<[f32; 2]> = (0..length).map(root).collect();
        let mut steps = Vec::new();
        let (length, mut span) = (length as u32, 1);
        for radix in radices(length) {
            let pipeline = match shared.entry(radix) {
                Entry::Occupied(made) => made.into_mut(),
                Entry::Vacant(place) => {
                    let radix_line = format!("const RADIX = {radix}u;\n");
                    let source = [&radix_line, COMPLEX, include_str!("../shaders/step.wgsl")].concat();
                    place.insert(gpu.pipeline("transform", &source, "main")?)
                }
            };
            let step = |direction| gpu.uniform("step", &Step { length, span, direction });
            steps.push((radix, pipeline.clone(), [step(1.0)?, step(-1.0)?]));
            span *= radix;
        }
        let roots = gpu.upload("roots", &roots)?;
        Ok(Self { length, steps, roots })
    }

    /// Returns the number of values that are transformed.
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// Returns the number of steps of a transform. After an odd number, the signals are in the other buffer.
    pub(crate) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Returns a transform. The signals alternate between the two buffers, from number `at` on.
    pub(crate) fn pass(
        &self,
        direction: Direction,
        buffers: [&Buffer; 2],
        at: usize,
    ) -> Result<Pass, GpuError> {
        let mut at = at;
        let mut steps = Vec::with_capacity(self.steps.len());
        for (radix, pipeline, parameters) in &self.steps {
            let bound = pipeline.bind([
                ("step", &parameters[direction as usize]),
                ("roots", &self.roots),
                ("before", buffers[at]),
                ("after", buffers[1 - at]),
            ])?;
            steps.push((*radix, Rc::new(bound)));
            at = 1 - at;
        }
        Ok(Pass { length: self.length, steps, end: at })
    }
}

impl Pass {
    /// Returns the work that transforms `count` signals.
    pub(crate) fn work(&self, count: u32) -> impl Iterator<Item = Work> {
        let step = move |(radix, bound): &(u32, Rc<Bound>)| Work {
            bound: vec![Rc::clone(bound)],
            groups: rows(self.length / radix, count),
        };
        self.steps.iter().map(step)
    }
}

/// Returns the factors of a length, fours first, because they need fewer steps than twos.
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
