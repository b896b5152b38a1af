//! Tests of the matrix product.

use perfharness_gpu::testing::require_adapter;

use super::*;
use crate::{Extras, Product, ProductForm, ProductShape, Tile, host};

/// Returns `[columns][inner]` for `[inner][columns]`.
fn transposed(weights: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|c| weights.iter().skip(c).step_by(columns).copied()).collect()
}

fn with_extras(y: Vec<f64>, bias: &[f32], before: &[f32], extras: Extras) -> Vec<f64> {
    let step = |(i, mut y): (usize, f64)| {
        if extras.bias {
            y += f64::from(bias[i % bias.len()]);
        }
        if extras.relu {
            y = y.max(0.0);
        }
        if extras.residual { y + f64::from(before[i]) } else { y }
    };
    y.into_iter().enumerate().map(step).collect()
}

#[test]
fn a_product_agrees_with_the_reference_in_every_form_and_size() {
    let Some(gpu) = require_adapter() else { return };
    agree_in_every_form(
        &gpu,
        &[(1, 1, 1, 1), (1, 16, 16, 64), (3, 5, 7, 3), (2, 65, 33, 67), (1, 130, 100, 129)],
    );
}

/// Compares products of these numbers of batches, rows, inner elements and columns with the reference.
pub(super) fn agree_in_every_form(gpu: &Gpu, sizes: &[(u32, u32, u32, u32)]) {
    let on = |bias, relu, residual| Extras { bias, relu, residual };
    let extras =
        [on(false, false, false), on(true, true, false), on(false, false, true), on(true, true, true)];
    for tile in [Tile::Low, Tile::High] {
        for transpose in [false, true] {
            for extras in extras {
                let form = ProductForm { tile, transposed: transpose, extras };
                let product = Product::new(gpu, form).unwrap();
                for (batches, rows, inner, columns) in sizes.iter().copied() {
                    for own_weights in [false, true] {
                        let shape = ProductShape {
                            batches,
                            own_weights,
                            scale: 0.5,
                            ..ProductShape::plain(rows, inner, columns)
                        };
                        let [count, rows, inner, columns] =
                            [batches, rows, inner, columns].map(|size| size as usize);
                        let x = drawn("x", count * rows * inner);
                        let each = inner * columns;
                        let weights = drawn("weights", if own_weights { count * each } else { each });
                        let bias = drawn("bias", columns);
                        let before = drawn("before", count * rows * columns);
                        let due: Vec<f64> = x
                            .chunks_exact(rows * inner)
                            .enumerate()
                            .flat_map(|(i, x)| {
                                let weights = &weights[if own_weights { i * each } else { 0 }..][..each];
                                host::product(&wide(x), weights, columns)
                            })
                            .map(|sum| 0.5 * sum)
                            .collect();
                        let due = with_extras(due, &bias, &before, extras);
                        let stored: Vec<f32> = if transpose {
                            weights.chunks_exact(each).flat_map(|w| transposed(w, columns)).collect()
                        } else {
                            weights
                        };
                        let y = gpu.upload("y", &before).unwrap();
                        let [x, weights, bias] =
                            [&x, &stored, &bias].map(|values| gpu.upload("operand", values).unwrap());
                        let mut buffers = vec![("x", &x), ("weights", &weights), ("y", &y)];
                        if extras.bias {
                            buffers.push(("bias", &bias));
                        }
                        let ready = product.bind(&shape, buffers).unwrap();
                        agrees(gpu, &ready, &y, &due, of_sums(inner + 2), &format!("{form:?}, {shape:?}"));
                    }
                }
            }
        }
    }
}

#[test]
fn values_that_are_not_numbers_and_overflow_stay_in_their_rows() {
    let Some(gpu) = require_adapter() else { return };
    let form = ProductForm { tile: Tile::Low, transposed: false, extras: Extras::default() };
    let x = [f32::NAN, 0.0, f32::INFINITY, 1.0, 3e38, 3e38, 1.0, 2.0];
    let weights = [1.0, 2.0, 3.0, 4.0];
    let due = [f64::NAN, f64::NAN, f64::INFINITY, f64::INFINITY, f64::INFINITY, f64::INFINITY, 7.0, 10.0];
    let [x, weights, y] = [&x[..], &weights, &[0.0; 8]].map(|values| gpu.upload("operand", values).unwrap());
    let product = Product::new(&gpu, form).unwrap();
    let buffers = [("x", &x), ("weights", &weights), ("y", &y)];
    let ready = product.bind(&ProductShape::plain(4, 2, 2), buffers).unwrap();
    agrees(&gpu, &ready, &y, &due, 0.0, "NaN, infinity, overflow");
}

#[test]
fn operations_are_counted_by_the_shape() {
    let shape = ProductShape { batches: 3, ..ProductShape::plain(5, 7, 11) };
    assert_eq!(shape.operations(), 2.0 * 3.0 * 5.0 * 7.0 * 11.0);
}
