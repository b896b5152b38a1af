//! Lists of commands, which run when they are submitted.

use std::sync::{Arc, Mutex, PoisonError};

use wgpu::custom::{
    CommandBufferInterface, CommandEncoderInterface, ComputePassInterface, DispatchBindGroup, DispatchBuffer,
    DispatchCommandBuffer, DispatchComputePass, DispatchComputePipeline, DispatchQuerySet,
    DispatchRenderPass, DispatchTexture, DispatchTextureView,
};

use crate::adapter::{BindGroup, Pipeline, absent};
use crate::buffer::Buffer;
use crate::session::{Binding, Session};

/// A command.
#[derive(Debug)]
enum Command {
    Copy { from: Buffer, at: u64, to: Buffer, to_at: u64, bytes: u64 },
    Clear { buffer: Buffer, at: u64, bytes: u64 },
    Dispatch { pipeline: Pipeline, bindings: Vec<Binding>, groups: [u32; 3] },
}

/// Commands that a list and its passes record in turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Encoder(Arc<Mutex<Vec<Command>>>);

impl Encoder {
    fn push(&self, command: Command) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(command);
    }
}

fn buffer(buffer: &DispatchBuffer) -> Buffer {
    buffer.as_custom::<Buffer>().cloned().unwrap_or_else(|| absent("buffers of other adapters"))
}

/// Commands that are complete.
#[derive(Debug)]
pub(crate) struct CommandList(Vec<Command>);

impl CommandBufferInterface for CommandList {}

impl CommandList {
    pub(crate) fn run(&self, session: &Session) {
        for command in &self.0 {
            match command {
                Command::Copy { from, at, to, to_at, bytes } => to.write(*to_at, &from.read(*at..at + bytes)),
                Command::Clear { buffer, at, bytes } => buffer.write(*at, &vec![0; *bytes as usize]),
                Command::Dispatch { pipeline, bindings, groups } => {
                    // A pipeline without a program was reported when it was created.
                    if let Some(program) = &pipeline.0 {
                        session.dispatch(program, bindings, *groups);
                    }
                }
            }
        }
    }
}

impl CommandEncoderInterface for Encoder {
    fn copy_buffer_to_buffer(
        &self,
        from: &DispatchBuffer,
        at: u64,
        to: &DispatchBuffer,
        to_at: u64,
        bytes: Option<u64>,
    ) {
        let (from, to) = (buffer(from), buffer(to));
        let bytes = bytes.unwrap_or_else(|| from.memory().bytes.len() as u64 - at);
        self.push(Command::Copy { from, at, to, to_at, bytes });
    }

    fn clear_buffer(&self, what: &DispatchBuffer, at: u64, bytes: Option<u64>) {
        let buffer = buffer(what);
        let bytes = bytes.unwrap_or_else(|| buffer.memory().bytes.len() as u64 - at);
        self.push(Command::Clear { buffer, at, bytes });
    }

    fn begin_compute_pass(&self, _: &wgpu::ComputePassDescriptor<'_>) -> DispatchComputePass {
        DispatchComputePass::custom(Pass { encoder: self.clone(), pipeline: None, groups: Vec::new() })
    }

    fn finish(&mut self) -> DispatchCommandBuffer {
        let commands = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        DispatchCommandBuffer::custom(CommandList(commands))
    }

    fn insert_debug_marker(&self, _: &str) {}
    fn push_debug_group(&self, _: &str) {}
    fn pop_debug_group(&self) {}

    fn copy_buffer_to_texture(
        &self,
        _: wgpu::TexelCopyBufferInfo<'_>,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::Extent3d,
    ) {
        absent("textures")
    }

    fn copy_texture_to_buffer(
        &self,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::TexelCopyBufferInfo<'_>,
        _: wgpu::Extent3d,
    ) {
        absent("textures")
    }

    fn copy_texture_to_texture(
        &self,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: wgpu::Extent3d,
    ) {
        absent("textures")
    }

    fn begin_render_pass(&self, _: &wgpu::RenderPassDescriptor<'_>) -> DispatchRenderPass {
        absent("render passes")
    }

    fn clear_texture(&self, _: &DispatchTexture, _: &wgpu::ImageSubresourceRange) {
        absent("textures")
    }

    fn write_timestamp(&self, _: &DispatchQuerySet, _: u32) {
        absent("timestamps")
    }

    fn resolve_query_set(&self, _: &DispatchQuerySet, _: u32, _: u32, _: &DispatchBuffer, _: u64) {
        absent("timestamps")
    }

    fn mark_acceleration_structures_built<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::Blas>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        absent("acceleration structures")
    }

    fn build_acceleration_structures<'a>(
        &self,
        _: &mut dyn Iterator<Item = &'a wgpu::BlasBuildEntry<'a>>,
        _: &mut dyn Iterator<Item = &'a wgpu::Tlas>,
    ) {
        absent("acceleration structures")
    }

    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTexture>>,
    ) {
    }
}

/// A compute pass.
#[derive(Debug)]
struct Pass {
    encoder: Encoder,
    pipeline: Option<Pipeline>,
    groups: Vec<(u32, BindGroup)>,
}

// wgpu requires it; the commands are already in the encoder.
impl Drop for Pass {
    fn drop(&mut self) {}
}

impl ComputePassInterface for Pass {
    fn set_pipeline(&mut self, pipeline: &DispatchComputePipeline) {
        self.pipeline = pipeline.as_custom::<Pipeline>().cloned();
    }

    fn set_bind_group(&mut self, index: u32, group: Option<&DispatchBindGroup>, offsets: &[u32]) {
        if !offsets.is_empty() {
            absent("dynamic offsets")
        }
        self.groups.retain(|(at, _)| *at != index);
        let group = group.and_then(|group| group.as_custom::<BindGroup>());
        self.groups.extend(group.map(|group| (index, group.clone())));
    }

    fn dispatch_workgroups(&mut self, x: u32, y: u32, z: u32) {
        let Some(pipeline) = self.pipeline.clone() else { absent("a dispatch without a pipeline") };
        let bindings = self.groups.iter().flat_map(|(index, group)| {
            group.0.iter().map(|binding| Binding { group: *index, ..binding.clone() })
        });
        let bindings = bindings.collect();
        self.encoder.push(Command::Dispatch { pipeline, bindings, groups: [x, y, z] });
    }

    fn insert_debug_marker(&mut self, _: &str) {}
    fn push_debug_group(&mut self, _: &str) {}
    fn pop_debug_group(&mut self) {}

    fn set_immediates(&mut self, _: u32, _: &[u8]) {
        absent("immediates")
    }

    fn write_timestamp(&mut self, _: &DispatchQuerySet, _: u32) {
        absent("timestamps")
    }

    fn begin_pipeline_statistics_query(&mut self, _: &DispatchQuerySet, _: u32) {
        absent("pipeline statistics")
    }

    fn end_pipeline_statistics_query(&mut self) {
        absent("pipeline statistics")
    }

    fn dispatch_workgroups_indirect(&mut self, _: &DispatchBuffer, _: u64) {
        absent("indirect dispatches")
    }

    fn transition_resources<'a>(
        &mut self,
        _: &mut dyn Iterator<Item = wgpu::wgt::BufferTransition<&'a DispatchBuffer>>,
        _: &mut dyn Iterator<Item = wgpu::wgt::TextureTransition<&'a DispatchTextureView>>,
    ) {
    }
}
