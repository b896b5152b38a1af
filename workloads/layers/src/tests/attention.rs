//! Tests of attention.

use perfharness_gpu::testing::require_adapter;

use super::*;
use crate::{Attention, Heads, Mask, host};

const MASKS: [Mask; 3] = [Mask::None, Mask::Causal, Mask::CausalTiles];

/// Returns the result for queries, keys and values in the layout of `heads`.
fn reference(heads: &Heads, head: usize, mask: Mask, [q, k, v]: [&[f64]; 3]) -> Vec<f64> {
    let [queries, keys, first] = [heads.queries, heads.keys, heads.first].map(|n| n as usize);
    let mut due = Vec::new();
    for sequence in 0..heads.sequences as usize {
        for query in 0..queries {
            for at in (0..heads.heads as usize).map(|h| h * head) {
                let row = &q[(sequence * queries + query) * heads.query_stride as usize + at..][..head];
                let seen = if mask == Mask::None { keys } else { (first + query + 1).min(keys) };
                let of = |values: &'static str, which: usize| {
                    let (all, place) = (if values == "k" { k } else { v }, heads.at[which] as usize);
                    (0..seen).map(move |key| {
                        &all[(sequence * keys + key) * heads.key_stride as usize + place + at..][..head]
                    })
                };
                due.extend(host::attention_row(row, of("k", 0), of("v", 1)));
            }
        }
    }
    due
}

#[track_caller]
fn all_masks_agree(gpu: &Gpu, heads: &Heads, head: usize, [q, k, v]: [&[f32]; 3], tolerance: f64) {
    let count = (heads.sequences * heads.queries * heads.heads) as usize * head;
    for mask in MASKS {
        let due = reference(heads, head, mask, [&wide(q), &wide(k), &wide(v)]);
        let [q, k, v] = [q, k, v].map(|values| gpu.upload("operand", values).unwrap());
        let y = gpu.upload("y", &vec![9.0_f32; count]).unwrap();
        let attention = Attention::new(gpu, head as u32, mask).unwrap();
        let buffers = [("queries", &q), ("keys", &k), ("values", &v), ("y", &y)];
        let ready = attention.bind(heads, buffers).unwrap();
        agrees(gpu, &ready, &y, &due, tolerance, &format!("{mask:?}, {heads:?}"));
    }
}

#[test]
fn attention_agrees_with_the_reference_in_every_layout() {
    let Some(gpu) = require_adapter() else { return };
    for positions in [1, 15, 16, 17, 64, 65, 130] {
        agrees_in_layouts(&gpu, positions);
    }
}

pub(super) fn agrees_in_layouts(gpu: &Gpu, positions: u32) {
    let heads = Heads::separate(3, positions, 64);
    let [q, k, v] = ["q", "k", "v"].map(|stream| drawn(stream, 3 * positions as usize * 64));
    all_masks_agree(gpu, &heads, 64, [&q, &k, &v], 1e-5);
    let heads = Heads::side_by_side(2, positions, 3, 8);
    let all = drawn("qkv", 2 * positions as usize * 3 * 24);
    all_masks_agree(gpu, &heads, 8, [&all, &all, &all], 1e-5);
}

#[test]
fn keys_of_a_cache_come_before_the_first_query() {
    let Some(gpu) = require_adapter() else { return };
    for (first, queries) in [(20, 1), (63, 2), (100, 70)] {
        agrees_with_a_cache(&gpu, first, queries);
    }
}

pub(super) fn agrees_with_a_cache(gpu: &Gpu, first: u32, queries: u32) {
    let keys = first + queries;
    let heads = Heads {
        first,
        queries,
        query_stride: 32,
        key_stride: 64,
        at: [0, 32],
        ..Heads::side_by_side(1, keys, 2, 16)
    };
    let q = drawn("q", queries as usize * 32);
    let cache = drawn("cache", keys as usize * 64);
    all_masks_agree(gpu, &heads, 16, [&q, &cache, &cache], 1e-5);
}

#[test]
fn large_equal_and_vanishing_scores_do_not_overflow() {
    let Some(gpu) = require_adapter() else { return };
    let heads = Heads::separate(1, 40, 8);
    let plain = drawn("q", 320);
    for factor in [0.0, 1e-20, 10.0] {
        let q: Vec<f32> = plain.iter().map(|v| v * factor).collect();
        // Scores up to 280 in size: the running maximum rises by hundreds from one key to another.
        all_masks_agree(&gpu, &heads, 8, [&q, &q, &plain], 1e-4);
    }
}

#[test]
fn padding_at_the_start_is_not_seen() {
    let Some(gpu) = require_adapter() else { return };
    let attention = Attention::new(&gpu, 8, Mask::CausalPadded).unwrap();
    for positions in [1, 17, 70] {
        // None, around a tile, and all: queries without a key have the result 0.
        let padding: Vec<u32> = [0, 1, 15, 16, 17, positions].map(|count| count.min(positions)).into();
        let heads = Heads::separate(padding.len() as u32, positions, 8);
        let count = padding.len() * positions as usize * 8;
        let [q, k, v] = ["q", "k", "v"].map(|stream| drawn(stream, count));
        let mut due = Vec::new();
        for (sequence, hidden) in padding.iter().enumerate() {
            let row = |values: &[f32], at: u32| {
                wide(&values[(sequence * positions as usize + at as usize) * 8..][..8])
            };
            for query in 0..positions {
                let [keys, values] =
                    [&k, &v].map(|of| (*hidden..=query).map(|at| row(of, at)).collect::<Vec<_>>());
                let [keys, values] = [&keys, &values].map(|rows| rows.iter().map(Vec::as_slice));
                due.extend(host::attention_row(&row(&q, query), keys, values));
            }
        }
        let [q, k, v] = [q, k, v].map(|values| gpu.upload("operand", &values).unwrap());
        let padding = gpu.upload("padding", &padding).unwrap();
        let y = gpu.upload("y", &vec![9.0_f32; count]).unwrap();
        let buffers = [("queries", &q), ("keys", &k), ("values", &v), ("padding", &padding), ("y", &y)];
        let ready = attention.bind(&heads, buffers).unwrap();
        agrees(&gpu, &ready, &y, &due, 1e-5, &format!("{positions} positions"));
    }
}

#[test]
fn tiles_above_the_diagonal_are_left_out() {
    let Some(gpu) = require_adapter() else { return };
    let tiles =
        |mask, positions| Attention::new(&gpu, 8, mask).unwrap().tiles(&Heads::separate(2, positions, 8));
    assert_eq!(tiles(Mask::None, 512), 2 * 8 * 32);
    assert_eq!(tiles(Mask::Causal, 512), 2 * 8 * 32);
    assert_eq!(tiles(Mask::CausalTiles, 512), 2 * (4 + 8 + 12 + 16 + 20 + 24 + 28 + 32));
    assert_eq!(tiles(Mask::CausalTiles, 70), 2 * (4 + 5));
}

#[test]
fn a_width_that_is_not_in_fours_is_refused() {
    let Some(gpu) = require_adapter() else { return };
    for head in [0, 6] {
        let error = Attention::new(&gpu, head, Mask::None).unwrap_err();
        assert!(error.to_string().contains("not a multiple of 4"), "{error}");
    }
}
