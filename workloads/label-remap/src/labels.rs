//! Labels of the inputs and their expected ranks.

use std::collections::BTreeSet;

use perfharness_contract::{Digest, input_rng};
use perfharness_gpu::{Buffer, Gpu, GpuError};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use serde::Serialize;

/// Number of inputs in a round; the iterations cycle through them.
const POOL: usize = 4;

/// Values of the classes.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Values {
    /// From 0 to 5, as in the document's program.
    Source,
    /// Any value; the smallest and the largest i32 are always among them.
    Any,
}

/// Parameters of a case.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Params {
    /// Number of labels in an iteration.
    pub(crate) n: u64,
    /// Number of different labels.
    pub(crate) classes: u64,
    /// Values of the labels.
    pub(crate) values: Values,
}

impl Params {
    /// Size of the labels of one iteration in bytes, which is also the size of their ranks.
    pub(crate) fn bytes(&self) -> u64 {
        self.n * size_of::<i32>() as u64
    }
}

/// Returns the expected rank of each label: the number of different labels that are smaller.
pub(crate) fn dense_ranks(labels: &[i32]) -> Vec<u32> {
    let mut unique = labels.to_vec();
    unique.sort_unstable();
    unique.dedup();
    labels.iter().map(|label| unique.partition_point(|other| other < label) as u32).collect()
}

/// Labels of a round, on the host and on the device.
pub(crate) struct Labels {
    seed: u64,
    params: Params,
    gpu: Gpu,
    host: Vec<Vec<i32>>,
    pub(crate) device: Vec<Buffer>,
}

impl Labels {
    pub(crate) fn new(gpu: &Gpu, params: &Params, seed: u64) -> Result<Self, GpuError> {
        // A buffer cannot be empty, so there is none if there are no labels.
        let pool = if params.n == 0 { 0 } else { POOL };
        let device =
            (0..pool).map(|_| gpu.buffer_for::<i32>("labels", params.n)).collect::<Result<_, _>>()?;
        let host = vec![Vec::new(); POOL];
        Ok(Self { seed, params: params.clone(), gpu: gpu.clone(), host, device })
    }

    /// Memory for the labels of a round, on the host and the device.
    pub(crate) fn bytes(params: &Params) -> u64 {
        2 * POOL as u64 * params.bytes()
    }

    /// Makes the labels of `round` current.
    pub(crate) fn load(&mut self, round: u64) -> Result<(), GpuError> {
        let mut rng = input_rng(self.seed, "label-remap", round);
        let drawn: Vec<Vec<i32>> = (0..POOL).map(|_| draw(&self.params, &mut rng)).collect();
        self.set(drawn)
    }

    /// Makes these labels current.
    pub(crate) fn set(&mut self, pool: Vec<Vec<i32>>) -> Result<(), GpuError> {
        for (labels, buffer) in pool.iter().zip(&self.device) {
            self.gpu.commands("load").upload(buffer, labels).submit()?;
        }
        self.host = pool;
        // The wait ends before the clock starts, and does not count as a sync of a variant.
        self.gpu.fence()
    }

    /// Position of iteration `index` in the pool.
    pub(crate) fn at(index: u64) -> usize {
        (index % POOL as u64) as usize
    }

    pub(crate) fn host(&self, index: u64) -> &[i32] {
        &self.host[Self::at(index)]
    }

    pub(crate) fn digest(&self, index: u64) -> Digest {
        Digest::of(bytemuck::cast_slice(self.host(index)))
    }
}

/// Draws labels of which every class has at least one.
pub(crate) fn draw(params: &Params, rng: &mut Pcg64Mcg) -> Vec<i32> {
    let classes = draw_classes(params, rng);
    let count = classes.len() as u64;
    // The upper half of a product maps 32 random bits to 0..count without a division.
    let mut class = || classes[((u64::from(rng.next_u32()) * count) >> 32) as usize];
    let mut labels: Vec<i32> = (0..params.n).map(|_| class()).collect();
    let stride = (params.n / count.max(1)).max(1) as usize;
    for (label, class) in labels.iter_mut().step_by(stride).zip(&classes) {
        *label = *class;
    }
    labels
}

fn draw_classes(params: &Params, rng: &mut Pcg64Mcg) -> Vec<i32> {
    let mut classes = BTreeSet::new();
    if let Values::Any = params.values {
        classes.extend([i32::MIN, i32::MAX]);
    }
    while (classes.len() as u64) < params.classes {
        let bits = rng.next_u32();
        classes.insert(match params.values {
            Values::Source => (bits % 6) as i32,
            Values::Any => bits as i32,
        });
    }
    classes.into_iter().collect()
}
