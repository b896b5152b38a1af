//! The variants: kernels from queries, keys and values to the result.

use perfharness_gpu::{Buffer, Gpu, GpuError};
use perfharness_layers::{
    Attention, Extras, Heads, Mask, Product, ProductForm, ProductShape, Ready, Scores, Softmax, Tile,
};

use super::{HEAD, Params};

/// Kernels of an iteration on one input.
pub(crate) struct Kernels {
    pub(crate) list: Vec<Ready>,
    /// Tiles of keys that they load.
    pub(crate) tiles: u64,
}

/// Builds the kernels of a variant for the queries, keys and values of an input, and the result.
pub(crate) type Build = fn(&Gpu, &Params, &[[Buffer; 3]], &Buffer) -> Result<Vec<Kernels>, GpuError>;

/// The document's "before": scores, softmax, and weighted values, each through memory.
pub(crate) fn slow(
    gpu: &Gpu,
    params: &Params,
    inputs: &[[Buffer; 3]],
    y: &Buffer,
) -> Result<Vec<Kernels>, GpuError> {
    let (positions, head, at_once) = (params.positions, HEAD as u32, params.parts_at_once());
    let scores = gpu.buffer("scores", u64::from(at_once) * params.score_bytes())?;
    gpu.require_binding(scores.bytes())?;
    let form = |transposed| ProductForm { tile: Tile::High, transposed, extras: Extras::default() };
    let (score, mix) = (Product::new(gpu, form(true))?, Product::new(gpu, form(false))?);
    let softmax = Softmax::new(gpu)?;
    let of = |[q, k, v]: &[Buffer; 3]| {
        let mut list = Vec::new();
        for first in (0..params.parts()).step_by(at_once as usize) {
            let batches = at_once.min(params.parts() - first);
            let each = u64::from(positions) * HEAD as u64;
            let part = u64::from(first) * each..u64::from(first + batches) * each;
            let own = |inner, columns| ProductShape {
                batches,
                own_weights: true,
                ..ProductShape::plain(positions, inner, columns)
            };
            let scaled = ProductShape { scale: 1.0 / (HEAD as f32).sqrt(), ..own(head, positions) };
            let [q, k, v, y] = [q, k, v, y].map(|buffer| buffer.range::<f32>(part.clone()));
            list.push(score.bind(&scaled, [("x", q), ("weights", k), ("y", (&scores).into())])?);
            let rows = Scores { rows: batches * positions, columns: positions, causal: Some(positions) };
            list.push(softmax.bind(rows, &scores)?);
            list.push(mix.bind(&own(positions, head), [("x", (&scores).into()), ("weights", v), ("y", y)])?);
        }
        Ok(Kernels { list, tiles: 0 })
    };
    inputs.iter().map(of).collect()
}

fn tiled(
    gpu: &Gpu,
    params: &Params,
    inputs: &[[Buffer; 3]],
    y: &Buffer,
    mask: Mask,
) -> Result<Vec<Kernels>, GpuError> {
    let attention = Attention::new(gpu, HEAD as u32, mask)?;
    let heads = Heads::separate(params.parts(), params.positions, HEAD as u32);
    let of = |[q, k, v]: &[Buffer; 3]| {
        let ready = attention.bind(&heads, [("queries", q), ("keys", k), ("values", v), ("y", y)])?;
        Ok(Kernels { list: vec![ready], tiles: attention.tiles(&heads) })
    };
    inputs.iter().map(of).collect()
}

/// The document's "after": a running softmax over tiles of keys.
pub(crate) fn documented(
    gpu: &Gpu,
    params: &Params,
    inputs: &[[Buffer; 3]],
    y: &Buffer,
) -> Result<Vec<Kernels>, GpuError> {
    tiled(gpu, params, inputs, y, Mask::Causal)
}

/// The best implementation that we know: as `documented`, without the tiles above the diagonal.
pub(crate) fn optimized(
    gpu: &Gpu,
    params: &Params,
    inputs: &[[Buffer; 3]],
    y: &Buffer,
) -> Result<Vec<Kernels>, GpuError> {
    tiled(gpu, params, inputs, y, Mask::CausalTiles)
}
