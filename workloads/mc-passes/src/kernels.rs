//! Kernels of the encoder, assembled from shared parts.

use perfharness_gpu::{Gpu, GpuError, Pipeline};
use perfharness_layers::{NORM_TOKEN, dropout};

use crate::dims::{COLORS, FEATURES, HIDDEN, PATCH, tokens};
use crate::encoder::{Form, Kernels};

/// A pipeline and its use.
pub(crate) struct Kernel {
    pub(crate) pipeline: Pipeline,
    /// Names of its bindings.
    pub(crate) uses: &'static [&'static str],
    /// Returns the number of workgroups for a number of images.
    pub(crate) groups: fn(&Form, u32) -> [u32; 3],
}

const COMMON: &str = include_str!("shaders/common.wgsl");
const EMBEDDING: &str = include_str!("shaders/embedding.wgsl");
const MIX_TOKEN: &str = include_str!("shaders/mix_token.wgsl");
const PASS_TOKEN: &str = include_str!("shaders/pass_token.wgsl");
const PROJECT: &str = include_str!("shaders/project.wgsl");

/// Number of threads in a group.
const GROUP: u32 = 64;

/// Number of groups in a dimension that every device supports.
const MOST_GROUPS: u32 = 65_535;

/// Returns the number of threads in a group that handles one image: one for each token, in whole subgroups and within
/// the limits of every adapter.
fn group_for_image(size: usize) -> u32 {
    (tokens(size) as u32).next_multiple_of(32).min(256)
}

fn for_each_token(form: &Form, images: u32) -> [u32; 3] {
    [(images * tokens(form.size) as u32).div_ceil(GROUP), 1, 1]
}

/// Returns a group for each token, in rows of the number of groups that every device supports.
fn group_for_token(form: &Form, images: u32) -> [u32; 3] {
    in_rows(images * tokens(form.size) as u32)
}

fn in_rows(groups: u32) -> [u32; 3] {
    let row = groups.min(MOST_GROUPS);
    [row, groups.div_ceil(row.max(1)), 1]
}

fn for_each_image(_: &Form, images: u32) -> [u32; 3] {
    [images, 1, 1]
}

/// Returns the source that all kernels of a form share.
pub(crate) fn common(form: &Form) -> String {
    constants(form, GROUP)
}

fn constants(form: &Form, group: u32) -> String {
    let constants = format!(
        "const SIZE = {}u;\nconst TOKENS = {}u;\nconst PATCH = {PATCH}u;\nconst COLORS = {COLORS}u;\n\
         const WIDTH = {}u;\nconst HIDDEN = {HIDDEN}u;\nconst FEATURES = {FEATURES}u;\n\
         const GROUP = {group}u;\n",
        form.size,
        tokens(form.size),
        form.width(),
    );
    [form.storage.prelude(), &constants, dropout::SOURCE, NORM_TOKEN, COMMON].concat()
}

/// Returns the kernels of a forward pass in order, or after the layers of a large encoder; `sink` is the source of the part that stores the features.
///
/// # Errors
/// Returns [`GpuError::Lacks`] if the device does not support them.
pub(crate) fn kernels(gpu: &Gpu, form: &Form, sink: &str) -> Result<Vec<Kernel>, GpuError> {
    let fused = form.kernels == Kernels::Fused;
    let group = if fused { group_for_image(form.size) } else { GROUP };
    let constants = constants(form, group);
    let kernel = |label, parts: &[&str], uses, groups| -> Result<Kernel, GpuError> {
        let source = [&[constants.as_str()], parts].concat().concat();
        Ok(Kernel { pipeline: gpu.pipeline(label, &source, "main")?, uses, groups })
    };
    let head = || {
        kernel(
            "head",
            &[PROJECT, sink, include_str!("shaders/head.wgsl")],
            &["batch", "passes", "y", "projection", "output"],
            for_each_image,
        )
    };
    if form.large.is_some() {
        return Ok(vec![head()?]);
    }
    if fused {
        let parts = [EMBEDDING, MIX_TOKEN, PASS_TOKEN, PROJECT, sink, include_str!("shaders/fused.wgsl")];
        let uses =
            &["batch", "passes", "pixels", "embedding", "mixing", "perceptron", "projection", "output"];
        return Ok(vec![kernel("fused", &parts, uses, for_each_image)?]);
    }
    Ok(vec![
        kernel(
            "embed",
            &[EMBEDDING, include_str!("shaders/embed.wgsl")],
            &["batch", "pixels", "embedding", "x"],
            group_for_token,
        )?,
        kernel(
            "mix",
            &[MIX_TOKEN, include_str!("shaders/mix.wgsl")],
            &["batch", "passes", "mixing", "x", "y"],
            for_each_image,
        )?,
        kernel(
            "perceptron",
            &[PASS_TOKEN, include_str!("shaders/perceptron.wgsl")],
            &["batch", "passes", "perceptron", "y"],
            for_each_token,
        )?,
        head()?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processors of the largest devices: 132 of an H100, 304 of an MI300X.
    const PROCESSORS: u32 = 304;

    #[test]
    fn the_tokens_of_twenty_images_occupy_the_largest_devices() {
        let groups: u32 = in_rows(20 * tokens(224) as u32).iter().product();
        assert!(groups >= 2 * PROCESSORS, "{groups} groups");
    }

    #[test]
    fn every_token_has_a_group_within_the_limits_of_every_device() {
        for count in [1, 980, MOST_GROUPS, MOST_GROUPS + 1, 500 * tokens(384) as u32] {
            let [x, y, z] = in_rows(count);
            assert!(x <= MOST_GROUPS && y <= MOST_GROUPS && z == 1);
            assert!(x * y >= count && x * (y - 1) < count, "{count}: {x} by {y}");
        }
        assert_eq!(in_rows(0), [0, 0, 1]);
    }
}
