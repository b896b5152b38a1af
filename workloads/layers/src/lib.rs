//! Layers of neural networks as kernels, and the same layers in float64 on the host.
//!
//! Workloads put their networks together from these parts. A kernel takes its sizes from a uniform buffer, so that one
//! pipeline serves every size. All values on the device are float32, in row-major order.
//!
//! | layer | kernel | source to include | reference |
//! | --- | --- | --- | --- |
//! | matrix product with bias, ReLU and residual | [`Product`] | | [`host::product`] |
//! | softmax of rows | [`Softmax`] | | [`host::softmax`] |
//! | layer norm | [`Norm`] | [`NORM_TOKEN`] | [`host::norm`] |
//! | attention without stored scores | [`Attention`] | | [`host::attention_row`] |
//! | dropout by counter | | [`dropout::SOURCE`] | [`dropout::factor`] |
//! | random weights | | | [`weights::draw`] |

mod attention;
pub mod dropout;
pub mod host;
mod norm;
mod product;
mod ready;
mod softmax;
#[cfg(test)]
mod tests;
pub mod weights;

pub use attention::{Attention, Heads, Mask};
pub use norm::{NORM_TOKEN, Norm, Rows};
pub use product::{Extras, Product, ProductForm, ProductShape, Tile};
pub use ready::{REDUCE, Ready, group_per_row};
pub use softmax::{Scores, Softmax};
