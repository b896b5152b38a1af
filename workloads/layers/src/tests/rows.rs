//! Tests of the layers that handle rows.

use perfharness_gpu::testing::require_adapter;

use super::*;
use crate::{Norm, Rows, Scores, Softmax, host};

const MINUS: f64 = f64::NEG_INFINITY;

/// Rows of one width that could lose precision or divide by zero.
fn hostile(width: usize) -> Vec<Vec<f32>> {
    vec![
        vec![0.0; width],
        vec![-7.5; width],
        drawn("row", width),
        drawn("row", width).iter().map(|v| v + 1000.0).collect(),
        drawn("row", width).iter().map(|v| 80.0 * v).collect(),
        drawn("row", width).iter().map(|v| 1e-20 * v).collect(),
    ]
}

#[test]
fn softmax_agrees_with_the_reference_on_hostile_rows() {
    let Some(gpu) = require_adapter() else { return };
    for width in [1, 2, 63, 64, 65, 500] {
        softmax_agrees(&gpu, width);
    }
}

pub(super) fn softmax_agrees(gpu: &Gpu, width: usize) {
    let softmax = Softmax::new(gpu).unwrap();
    let mut rows = hostile(width);
    rows.push(vec![Softmax::MASKED; width]);
    rows.push((0..width).map(|i| if i % 2 == 0 { 1.0 } else { Softmax::MASKED }).collect());
    for causal in [None, Some(4)] {
        let mut due = Vec::new();
        for (r, row) in rows.iter().enumerate() {
            let seen = causal.map_or(width, |sequence| (r % sequence as usize + 1).min(width));
            let score = |(i, v): (usize, &f32)| {
                if i >= seen || *v <= Softmax::MASKED { MINUS } else { f64::from(*v) }
            };
            let scores: Vec<f64> = row.iter().enumerate().map(score).collect();
            due.extend(host::softmax(&scores));
        }
        let x = gpu.upload("scores", &rows.concat()).unwrap();
        let scores = Scores { rows: rows.len() as u32, columns: width as u32, causal };
        let ready = softmax.bind(scores, &x).unwrap();
        // An error of a score of 80 in its last place becomes 5e-6 of its weight.
        agrees(gpu, &ready, &x, &due, 1e-5, &format!("{scores:?}"));
    }
}

#[test]
fn a_score_that_is_not_a_number_spoils_its_own_row_only() {
    let Some(gpu) = require_adapter() else { return };
    let x = gpu.upload("scores", &[0.0, f32::NAN, 1.0, 1.0]).unwrap();
    let scores = Scores { rows: 2, columns: 2, causal: None };
    let ready = Softmax::new(&gpu).unwrap().bind(scores, &x).unwrap();
    agrees(&gpu, &ready, &x, &[f64::NAN, f64::NAN, 0.5, 0.5], 1e-6, "NaN");
}

#[test]
fn norm_agrees_with_the_reference_on_hostile_rows() {
    let Some(gpu) = require_adapter() else { return };
    for width in [1, 2, 63, 64, 65, 768] {
        norm_agrees(&gpu, width);
    }
}

pub(super) fn norm_agrees(gpu: &Gpu, width: usize) {
    let norm = Norm::new(gpu).unwrap();
    let rows = hostile(width);
    let due: Vec<f64> = rows.iter().flat_map(|row| host::norm(&wide(row))).collect();
    let x = gpu.upload("x", &rows.concat()).unwrap();
    let y = gpu.buffer_for::<f32>("y", due.len() as u64).unwrap();
    let ready = norm.bind(Rows::all(rows.len() as u32), width as u32, &x, &y).unwrap();
    // The rows around 1000 have deviations of 1, which keep a thousandth of the precision.
    agrees(gpu, &ready, &y, &due, 1e-3, &format!("rows of {width}"));
}

#[test]
fn norm_takes_the_chosen_rows_of_each_batch() {
    let Some(gpu) = require_adapter() else { return };
    let values = drawn("batches", 3 * 5 * 8);
    let chosen = (0..3).flat_map(|batch| (2..4).map(move |row| batch * 5 + row));
    let due: Vec<f64> = chosen.flat_map(|row| host::norm(&wide(&values[row * 8..][..8]))).collect();
    let x = gpu.upload("x", &values).unwrap();
    let y = gpu.buffer_for::<f32>("y", due.len() as u64).unwrap();
    let rows = Rows { batches: 3, rows: 2, first: 2, of: 5 };
    let ready = Norm::new(&gpu).unwrap().bind(rows, 8, &x, &y).unwrap();
    agrees(&gpu, &ready, &y, &due, 1e-5, "a part");
}

#[test]
fn more_rows_than_a_dimension_of_workgroups_are_all_handled() {
    let Some(gpu) = require_adapter() else { return };
    let values = drawn("many", 2 * 70_000);
    let due: Vec<f64> = values.chunks_exact(2).flat_map(|row| host::softmax(&wide(row))).collect();
    let x = gpu.upload("scores", &values).unwrap();
    let scores = Scores { rows: 70_000, columns: 2, causal: None };
    let ready = Softmax::new(&gpu).unwrap().bind(scores, &x).unwrap();
    agrees(&gpu, &ready, &x, &due, 1e-5, "70,000 rows");
}
