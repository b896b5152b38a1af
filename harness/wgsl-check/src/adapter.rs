//! The adapter, its device and its queue.

use std::future::ready;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use wgpu::custom::{
    AdapterInterface, BindGroupInterface, BindGroupLayoutInterface, BoxDeviceLostCallback,
    BoxSubmittedWorkDoneCallback, ComputePipelineInterface, DeviceInterface, DispatchBindGroup,
    DispatchBindGroupLayout, DispatchBlas, DispatchBuffer, DispatchCommandBuffer, DispatchCommandEncoder,
    DispatchComputePipeline, DispatchDevice, DispatchExternalTexture, DispatchPipelineCache,
    DispatchPipelineLayout, DispatchQuerySet, DispatchQueue, DispatchQueueWriteBuffer,
    DispatchRenderBundleEncoder, DispatchRenderPipeline, DispatchSampler, DispatchShaderModule,
    DispatchSurface, DispatchSurfaceOutputDetail, DispatchTexture, DispatchTlas, PipelineLayoutInterface,
    PopErrorScopeFuture, QueueInterface, RequestDeviceFuture, ShaderCompilationInfoFuture,
    ShaderModuleInterface,
};
use wgpu::wgt;

use crate::buffer::Buffer;
use crate::code::Program;
use crate::commands::{CommandList, Encoder};
use crate::compile::compile;
use crate::session::{Binding, SharedSession};

/// Features that the interpreter has.
const FEATURES: wgpu::Features = wgpu::Features::SHADER_F16
    .union(wgpu::Features::SHADER_F64)
    .union(wgpu::Features::SHADER_INT64)
    .union(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);

/// Refuses an operation that a test must not need.
pub(crate) fn absent(what: &str) -> ! {
    panic!("the checked adapter has no {what}")
}

type Promise<T> = Pin<Box<T>>;

/// An adapter whose devices interpret their shaders.
#[derive(Debug)]
pub(crate) struct Adapter {
    session: SharedSession,
}

impl Adapter {
    pub(crate) fn new(session: SharedSession) -> Self {
        Self { session }
    }
}

fn limits() -> wgpu::Limits {
    wgpu::Limits::default()
}

fn info() -> wgpu::AdapterInfo {
    wgpu::AdapterInfo {
        name: "checked interpreter".into(),
        driver: "perfharness-wgsl-check".into(),
        // There is no name for other backends. This one is not in use outside of browsers.
        ..wgpu::AdapterInfo::new(wgpu::DeviceType::Cpu, wgpu::Backend::BrowserWebGpu)
    }
}

impl AdapterInterface for Adapter {
    fn request_device(&self, _: &wgpu::DeviceDescriptor<'_>) -> Promise<dyn RequestDeviceFuture> {
        let session = &self.session;
        let device = Device { session: Arc::clone(session), handler: Mutex::default() };
        let queue = Queue { session: Arc::clone(session) };
        Box::pin(ready(Ok((DispatchDevice::custom(device), DispatchQueue::custom(queue)))))
    }

    fn is_surface_supported(&self, _: &DispatchSurface) -> bool {
        false
    }

    fn features(&self) -> wgpu::Features {
        FEATURES
    }

    fn limits(&self) -> wgpu::Limits {
        limits()
    }

    fn downlevel_capabilities(&self) -> wgpu::DownlevelCapabilities {
        wgpu::DownlevelCapabilities::default()
    }

    fn get_info(&self) -> wgpu::AdapterInfo {
        info()
    }

    fn get_texture_format_features(&self, _: wgpu::TextureFormat) -> wgpu::TextureFormatFeatures {
        absent("textures")
    }

    fn get_presentation_timestamp(&self) -> wgpu::PresentationTimestamp {
        wgpu::PresentationTimestamp::INVALID_TIMESTAMP
    }

    fn cooperative_matrix_properties(&self) -> Vec<wgt::CooperativeMatrixProperties> {
        Vec::new()
    }
}

/// A kernel and its source.
#[derive(Debug)]
struct Module {
    source: String,
}

impl ShaderModuleInterface for Module {
    fn get_compilation_info(&self) -> Promise<dyn ShaderCompilationInfoFuture> {
        absent("compilation messages")
    }
}

#[derive(Debug)]
struct Layout;

impl BindGroupLayoutInterface for Layout {}
impl PipelineLayoutInterface for Layout {}

/// Buffers that are bound together.
#[derive(Clone, Debug)]
pub(crate) struct BindGroup(pub(crate) Vec<Binding>);

impl BindGroupInterface for BindGroup {}

/// A kernel that can run; `None` if it was reported as unsupported.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline(pub(crate) Option<Arc<Program>>);

impl ComputePipelineInterface for Pipeline {
    fn get_bind_group_layout(&self, _: u32) -> DispatchBindGroupLayout {
        DispatchBindGroupLayout::custom(Layout)
    }
}

/// The handler of errors that nobody else takes.
type Handler = Arc<dyn wgpu::UncapturedErrorHandler>;

struct Device {
    session: SharedSession,
    handler: Mutex<Option<Handler>>,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").finish_non_exhaustive()
    }
}

impl Device {
    fn raise(&self, description: String) {
        let handler = self.handler.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(handler) = handler {
            handler(wgpu::Error::Validation { source: description.clone().into(), description });
        }
    }
}

impl DeviceInterface for Device {
    fn features(&self) -> wgpu::Features {
        FEATURES
    }

    fn limits(&self) -> wgpu::Limits {
        limits()
    }

    fn adapter_info(&self) -> wgpu::AdapterInfo {
        info()
    }

    fn create_shader_module(
        &self,
        described: wgpu::ShaderModuleDescriptor<'_>,
        _: wgpu::ShaderRuntimeChecks,
    ) -> DispatchShaderModule {
        let wgpu::ShaderSource::Wgsl(source) = described.source else { absent("languages beside WGSL") };
        DispatchShaderModule::custom(Module { source: self.session.edit(&source) })
    }

    fn create_bind_group_layout(&self, _: &wgpu::BindGroupLayoutDescriptor<'_>) -> DispatchBindGroupLayout {
        DispatchBindGroupLayout::custom(Layout)
    }

    fn create_bind_group(&self, described: &wgpu::BindGroupDescriptor<'_>) -> DispatchBindGroup {
        let bindings = described.entries.iter().map(|entry| {
            let wgpu::BindingResource::Buffer(bound) = &entry.resource else { absent("textures") };
            let Some(buffer) = bound.buffer.as_custom::<Buffer>() else {
                absent("buffers of other adapters")
            };
            Binding {
                group: 0,
                number: entry.binding,
                buffer: buffer.clone(),
                offset: bound.offset,
                bytes: bound.size.map_or_else(|| bound.buffer.size() - bound.offset, std::num::NonZero::get),
            }
        });
        DispatchBindGroup::custom(BindGroup(bindings.collect()))
    }

    fn create_pipeline_layout(&self, _: &wgpu::PipelineLayoutDescriptor<'_>) -> DispatchPipelineLayout {
        DispatchPipelineLayout::custom(Layout)
    }

    fn create_compute_pipeline(
        &self,
        described: &wgpu::ComputePipelineDescriptor<'_>,
    ) -> DispatchComputePipeline {
        let Some(module) = described.module.as_custom::<Module>() else {
            absent("kernels of other adapters")
        };
        let label = described.label.unwrap_or_default();
        let entry = described.entry_point.unwrap_or("main");
        let program = compile(label, &module.source, entry);
        let program = program.map_err(|what| {
            self.session.unsupported(label, what.clone());
            self.raise(what);
        });
        DispatchComputePipeline::custom(Pipeline(program.ok().map(Arc::new)))
    }

    fn create_buffer(&self, described: &wgpu::BufferDescriptor<'_>) -> DispatchBuffer {
        DispatchBuffer::custom(Buffer::new(Arc::clone(&self.session), described.size))
    }

    fn create_command_encoder(&self, _: &wgpu::CommandEncoderDescriptor<'_>) -> DispatchCommandEncoder {
        DispatchCommandEncoder::custom(Encoder::default())
    }

    fn set_device_lost_callback(&self, _: BoxDeviceLostCallback) {}

    fn on_uncaptured_error(&self, handler: Handler) {
        *self.handler.lock().unwrap_or_else(PoisonError::into_inner) = Some(handler);
    }

    fn push_error_scope(&self, _: wgpu::ErrorFilter) -> u32 {
        absent("error scopes")
    }

    fn pop_error_scope(&self, _: u32) -> Promise<dyn PopErrorScopeFuture> {
        absent("error scopes")
    }

    fn poll(&self, _: wgt::PollType<u64>) -> Result<wgpu::PollStatus, wgpu::PollError> {
        self.session.poll();
        Ok(wgpu::PollStatus::QueueEmpty)
    }

    fn get_internal_counters(&self) -> wgpu::InternalCounters {
        wgpu::InternalCounters::default()
    }

    fn generate_allocator_report(&self) -> Option<wgpu::AllocatorReport> {
        None
    }

    fn destroy(&self) {}

    #[expect(unsafe_code, reason = "wgpu declares it so")]
    unsafe fn create_shader_module_passthrough(
        &self,
        _: &wgpu::ShaderModuleDescriptorPassthrough<'_>,
    ) -> DispatchShaderModule {
        absent("languages beside WGSL")
    }

    fn create_render_pipeline(&self, _: &wgpu::RenderPipelineDescriptor<'_>) -> DispatchRenderPipeline {
        absent("render pipelines")
    }

    fn create_mesh_pipeline(&self, _: &wgpu::MeshPipelineDescriptor<'_>) -> DispatchRenderPipeline {
        absent("mesh pipelines")
    }

    #[expect(unsafe_code, reason = "wgpu declares it so")]
    unsafe fn create_pipeline_cache(&self, _: &wgpu::PipelineCacheDescriptor<'_>) -> DispatchPipelineCache {
        absent("pipeline caches")
    }

    fn create_texture(&self, _: &wgpu::TextureDescriptor<'_>) -> DispatchTexture {
        absent("textures")
    }

    fn create_external_texture(
        &self,
        _: &wgpu::ExternalTextureDescriptor<'_>,
        _: &[&wgpu::TextureView],
    ) -> DispatchExternalTexture {
        absent("textures")
    }

    fn create_blas(
        &self,
        _: &wgpu::CreateBlasDescriptor<'_>,
        _: wgpu::BlasGeometrySizeDescriptors,
    ) -> (Option<u64>, DispatchBlas) {
        absent("acceleration structures")
    }

    fn create_tlas(&self, _: &wgpu::CreateTlasDescriptor<'_>) -> DispatchTlas {
        absent("acceleration structures")
    }

    fn create_sampler(&self, _: &wgpu::SamplerDescriptor<'_>) -> DispatchSampler {
        absent("samplers")
    }

    fn create_query_set(&self, _: &wgpu::QuerySetDescriptor<'_>) -> DispatchQuerySet {
        absent("queries")
    }

    fn create_render_bundle_encoder(
        &self,
        _: &wgpu::RenderBundleEncoderDescriptor<'_>,
    ) -> DispatchRenderBundleEncoder {
        absent("render bundles")
    }

    #[expect(unsafe_code, reason = "wgpu declares it so")]
    unsafe fn start_graphics_debugger_capture(&self) {}

    #[expect(unsafe_code, reason = "wgpu declares it so")]
    unsafe fn stop_graphics_debugger_capture(&self) {}
}

#[derive(Debug)]
struct Queue {
    session: SharedSession,
}

impl QueueInterface for Queue {
    fn write_buffer(&self, to: &DispatchBuffer, at: u64, data: &[u8]) {
        let Some(buffer) = to.as_custom::<Buffer>() else { absent("buffers of other adapters") };
        buffer.write(at, data);
    }

    fn submit(&self, lists: &mut dyn Iterator<Item = DispatchCommandBuffer>) -> u64 {
        for list in lists {
            let Some(list) = list.as_custom::<CommandList>() else { absent("commands of other adapters") };
            list.run(&self.session);
        }
        0
    }

    fn on_submitted_work_done(&self, callback: BoxSubmittedWorkDoneCallback) {
        self.session.later(callback);
    }

    fn get_timestamp_period(&self) -> f32 {
        1.0
    }

    fn create_staging_buffer(&self, _: wgpu::BufferSize) -> Option<DispatchQueueWriteBuffer> {
        absent("staging buffers of the queue")
    }

    fn validate_write_buffer(&self, _: &DispatchBuffer, _: u64, _: wgpu::BufferSize) -> Option<()> {
        Some(())
    }

    fn write_staging_buffer(&self, _: &DispatchBuffer, _: u64, _: &DispatchQueueWriteBuffer) {
        absent("staging buffers of the queue")
    }

    fn write_texture(
        &self,
        _: wgpu::TexelCopyTextureInfo<'_>,
        _: &[u8],
        _: wgpu::TexelCopyBufferLayout,
        _: wgpu::Extent3d,
    ) {
        absent("textures")
    }

    fn compact_blas(&self, _: &DispatchBlas) -> (Option<u64>, DispatchBlas) {
        absent("acceleration structures")
    }

    fn present(&self, _: &DispatchSurfaceOutputDetail) {
        absent("surfaces")
    }
}
