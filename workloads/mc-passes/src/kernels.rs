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

/// Returns the number of threads in a group that handles one image: one for each token, in whole subgroups and within
/// the limits of every adapter.
fn group_for_image(size: usize) -> u32 {
    (tokens(size) as u32).next_multiple_of(32).min(256)
}

fn for_each_token(form: &Form, images: u32) -> [u32; 3] {
    [(images * tokens(form.size) as u32).div_ceil(GROUP), 1, 1]
}

fn for_two_tokens(form: &Form, images: u32) -> [u32; 3] {
    [(images * tokens(form.size) as u32).div_ceil(2 * GROUP), 1, 1]
}

fn for_each_image(_: &Form, images: u32) -> [u32; 3] {
    [images, 1, 1]
}

/// Returns the source that all kernels of a form share.
pub(crate) fn common(form: &Form) -> String {
    constants(form, GROUP, 2)
}

fn constants(form: &Form, group: u32, patches: u32) -> String {
    let constants = format!(
        "const SIZE = {}u;\nconst TOKENS = {}u;\nconst PATCH = {PATCH}u;\nconst COLORS = {COLORS}u;\n\
         const WIDTH = {}u;\nconst HIDDEN = {HIDDEN}u;\nconst FEATURES = {FEATURES}u;\n\
         const GROUP = {group}u;\nconst PATCHES = {patches}u;\n",
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
    let (group, patches) = if fused { (group_for_image(form.size), 1) } else { (GROUP, 2) };
    let constants = constants(form, group, patches);
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
            for_two_tokens,
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
