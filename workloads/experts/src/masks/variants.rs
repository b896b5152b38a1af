//! The variants. A forward pass of an expert is one submit in all of them.

use perfharness_contract::Counter;
use perfharness_gpu::{Buffer, Commands, GpuError, Pipeline};
use perfharness_layers as layers;
use perfharness_layers::{
    Attention, Extras, Mask, Product, ProductForm, ProductShape, Ready, Scores, Softmax, Tile,
};

use super::Variant;
use super::heads::{BATCHES, Heads, batch_of};
use super::inputs::HEAD;
use crate::POOL;

/// Occasions on which a mask is made again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rebuild {
    /// The document's "before".
    Expert,
    /// The document's "after".
    Batch,
    /// The source's key: a mask is kept for as long as sequences have its length, and here all have the same.
    Length,
}

/// Attention with a mask in memory, which is 0 where a query sees a key, and added to the scores.
#[derive(Debug)]
pub(super) struct Masked {
    rebuild: Rebuild,
    build: Pipeline,
    mask: Option<Buffer>,
    scores: Buffer,
    /// For each batch and expert: adds the products of queries and keys to the mask.
    products: Vec<Vec<Ready>>,
    softmax: Ready,
    /// For each turn, batch and expert: the means of the values.
    means: Vec<Vec<Vec<Ready>>>,
    builds: Counter,
}

impl Masked {
    pub(super) fn new(heads: &Heads, rebuild: Rebuild, builds: Counter) -> Result<Self, GpuError> {
        let (gpu, params) = (&heads.gpu, &heads.params);
        let [sequences, positions, width] = [params.sequences, params.positions, HEAD].map(|n| n as u32);
        let scores = gpu.buffer_for::<f32>("scores", params.scores() as u64)?;
        let form = |transposed, residual| ProductForm {
            tile: Tile::High,
            transposed,
            extras: Extras { residual, ..Extras::default() },
        };
        let shape = |inner, columns, scale| ProductShape {
            batches: sequences,
            rows: positions,
            inner,
            columns,
            own_weights: true,
            scale,
        };
        let product = Product::new(gpu, form(true, true))?;
        let to_scores = shape(width, positions, 1.0 / f32::sqrt(HEAD as f32));
        let products = each(POOL, |batch| {
            each(params.experts, |expert| {
                let weights = (&heads.pool[batch].keys).into();
                let buffers =
                    [("x", heads.queries(batch, expert)), ("weights", weights), ("y", (&scores).into())];
                product.bind(&to_scores, buffers)
            })
        })?;
        let mean = Product::new(gpu, form(false, false))?;
        let to_means = shape(positions, width, 1.0);
        let means = each(BATCHES, |turn| {
            each(POOL, |batch| {
                each(params.experts, |expert| {
                    let weights = (&heads.pool[batch].values).into();
                    let buffers =
                        [("x", (&scores).into()), ("weights", weights), ("y", heads.result(turn, expert))];
                    mean.bind(&to_means, buffers)
                })
            })
        })?;
        let rows = Scores { rows: sequences * positions, columns: positions, causal: None };
        let softmax = Softmax::new(gpu)?.bind(rows, &scores)?;
        let masked = Softmax::MASKED;
        let constants = format!("const POSITIONS = {positions}u;\nconst MASKED = {masked:?}f;\n");
        let build =
            gpu.pipeline("mask", &[&constants, include_str!("shaders/mask.wgsl")].concat(), "main")?;
        Ok(Self { rebuild, build, mask: None, scores, products, softmax, means, builds })
    }

    fn build(&self, commands: &mut Commands, heads: &Heads, batch: usize) -> Result<Buffer, GpuError> {
        let count = heads.params.scores() as u64;
        let mask = heads.gpu.buffer_for::<f32>("mask", count)?;
        let bound = self.build.bind([("padding", &heads.pool[batch].padding), ("mask", &mask)])?;
        commands.dispatch(&bound, self.build.groups(count));
        self.builds.add(1);
        Ok(mask)
    }
}

/// Makes something for each number below `count`.
fn each<T>(count: usize, make: impl FnMut(usize) -> Result<T, GpuError>) -> Result<Vec<T>, GpuError> {
    (0..count).map(make).collect()
}

impl Variant for Masked {
    fn run(&mut self, heads: &Heads, input: usize) -> Result<(), GpuError> {
        for turn in 0..BATCHES {
            let batch = batch_of(input, turn);
            for expert in 0..heads.params.experts {
                let is_old = match self.rebuild {
                    Rebuild::Expert => true,
                    Rebuild::Batch => expert == 0,
                    Rebuild::Length => self.mask.is_none(),
                };
                let mut commands = heads.gpu.commands("expert");
                if is_old {
                    // The old one goes first, so that one is alive at a time.
                    self.mask = None;
                    self.mask = Some(self.build(&mut commands, heads, batch)?);
                }
                if let Some(mask) = &self.mask {
                    commands.copy(mask, &self.scores);
                }
                self.products[batch][expert].record(&mut commands);
                self.softmax.record(&mut commands);
                self.means[turn][batch][expert].record(&mut commands);
                commands.submit()?;
            }
        }
        Ok(())
    }
}

/// The best implementation that we know: neither masks nor scores in memory. The kernel knows the positions of a query
/// and a key, and the padding of a sequence is one number.
#[derive(Debug)]
pub(super) struct InKernel {
    /// For each turn, batch and expert.
    heads: Vec<Vec<Vec<Ready>>>,
}

impl InKernel {
    pub(super) fn new(heads: &Heads) -> Result<Self, GpuError> {
        let attention = Attention::new(&heads.gpu, HEAD as u32, Mask::CausalPadded)?;
        let shape = layers::Heads::separate(
            heads.params.sequences as u32,
            heads.params.positions as u32,
            HEAD as u32,
        );
        let ready = each(BATCHES, |turn| {
            each(POOL, |batch| {
                each(heads.params.experts, |expert| {
                    let given = &heads.pool[batch];
                    attention.bind(
                        &shape,
                        [
                            ("queries", heads.queries(batch, expert)),
                            ("keys", (&given.keys).into()),
                            ("values", (&given.values).into()),
                            ("padding", (&given.padding).into()),
                            ("y", heads.result(turn, expert)),
                        ],
                    )
                })
            })
        })?;
        Ok(Self { heads: ready })
    }
}

impl Variant for InKernel {
    fn run(&mut self, heads: &Heads, input: usize) -> Result<(), GpuError> {
        for (turn, batches) in self.heads.iter().enumerate() {
            for head in &batches[batch_of(input, turn)] {
                let mut commands = heads.gpu.commands("expert");
                head.record(&mut commands);
                commands.submit()?;
            }
        }
        Ok(())
    }
}
