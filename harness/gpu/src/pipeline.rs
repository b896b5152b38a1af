//! Compute pipelines and their bindings.

use std::fmt;
use std::rc::Rc;

use crate::kernels::Shader;
use crate::shader::{Access, Binding, Entry, groups, reflect};
use crate::{Buffer, Gpu, GpuError, Slice};

/// A compute pipeline with the names of its bindings. Clones share the pipeline.
#[derive(Clone)]
pub struct Pipeline {
    inner: Rc<Inner>,
}

struct Inner {
    gpu: Gpu,
    shader: Rc<Shader>,
    entry: Entry,
    layout: wgpu::BindGroupLayout,
    raw: wgpu::ComputePipeline,
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("label", &self.label()).finish_non_exhaustive()
    }
}

/// A pipeline with all its bindings, ready to be dispatched. It keeps its buffers alive.
#[derive(Debug)]
pub struct Bound {
    pub(crate) pipeline: Pipeline,
    group: wgpu::BindGroup,
    pub(crate) buffers: Vec<Buffer>,
}

impl Gpu {
    /// Creates a compute pipeline from WGSL. The bindings that the entry point uses are in group 0 and are found by
    /// their names in the source.
    ///
    /// # Errors
    /// Returns [`GpuError::Invalid`] with the position in the source, or [`GpuError::Lacks`] for a missing feature.
    pub fn pipeline(&self, label: &str, source: &str, entry_point: &str) -> Result<Pipeline, GpuError> {
        let entry = reflect(label, source, entry_point)?;
        let limit = self.inner.limits.max_compute_workgroup_storage_size;
        if entry.workgroup_bytes > u64::from(limit) {
            // wgpu 30 does not check this, and drivers report arbitrary errors.
            let needed = entry.workgroup_bytes;
            return Err(self.lacks(format!(
                "{needed} bytes for a workgroup of the pipeline `{label}`: its limit is {limit}"
            )));
        }
        let entries: Vec<_> = entry.bindings.iter().map(layout_entry).collect();
        let device = &self.inner.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(label),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(label),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(label),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let raw = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(label),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(entry_point),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        // The source itself is valid here, so the remaining errors are features that this device lacks.
        self.check_faults().map_err(|error| match error {
            GpuError::Invalid(cause) => {
                let adapter = &self.facts().name;
                let what = format!("something that the pipeline `{label}` needs: {cause}");
                GpuError::lacks(adapter, what, next_step(&self.facts().backend))
            }
            other => other,
        })?;
        let shader = Shader { label: label.into(), wgsl: source.into(), entry_point: entry_point.into() };
        let inner = Inner { gpu: self.clone(), shader: Rc::new(shader), entry, layout, raw };
        Ok(Pipeline { inner: Rc::new(inner) })
    }
}

/// Returns what to do if a device does not compile a valid shader. Without `dxcompiler.dll` wgpu compiles for DX12 with FXC,
/// which refuses barriers in loops that are bounded by workgroup memory (X3663), and has no half precision.
fn next_step(backend: &str) -> &'static str {
    match backend {
        "dx12" => {
            "put dxcompiler.dll of Microsoft's DirectXShaderCompiler beside the program or on the PATH, or choose another \
             adapter with --device"
        }
        _ => "choose another adapter with --device",
    }
}

fn layout_entry(binding: &Binding) -> wgpu::BindGroupLayoutEntry {
    let ty = match binding.access {
        Access::Uniform => wgpu::BufferBindingType::Uniform,
        Access::Read => wgpu::BufferBindingType::Storage { read_only: true },
        Access::Write => wgpu::BufferBindingType::Storage { read_only: false },
    };
    wgpu::BindGroupLayoutEntry {
        binding: binding.index,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: wgpu::BufferSize::new(binding.min_bytes),
        },
        count: None,
    }
}

impl Pipeline {
    /// Returns the label.
    pub fn label(&self) -> &str {
        &self.inner.shader.label
    }

    pub(crate) fn shader(&self) -> Rc<Shader> {
        Rc::clone(&self.inner.shader)
    }

    /// Binds buffers, or parts of them, by the names in the source: exactly those that the entry point uses.
    ///
    /// # Errors
    /// Returns [`GpuError::Invalid`], which names the pipeline and the binding.
    pub fn bind<'a, S: Into<Slice<'a>>>(
        &self,
        bindings: impl IntoIterator<Item = (&'a str, S)>,
    ) -> Result<Bound, GpuError> {
        let mut given: Vec<(&str, Slice<'a>)> = bindings.into_iter().map(|(n, s)| (n, s.into())).collect();
        let mut entries = Vec::with_capacity(given.len());
        let mut buffers = Vec::with_capacity(given.len());
        for binding in &self.inner.entry.bindings {
            let Some(at) = given.iter().position(|(name, _)| *name == binding.name) else {
                return Err(self.invalid(&binding.name, "is not bound"));
            };
            let (_, slice) = given.swap_remove(at);
            self.check(binding, &slice)?;
            entries.push(wgpu::BindGroupEntry {
                binding: binding.index,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: slice.buffer.raw(),
                    offset: slice.offset,
                    size: wgpu::BufferSize::new(slice.bytes.next_multiple_of(4)),
                }),
            });
            buffers.push(slice.buffer.clone());
        }
        if let Some((name, _)) = given.first() {
            let names: Vec<&str> = self.inner.entry.bindings.iter().map(|b| b.name.as_str()).collect();
            return Err(
                self.invalid(name, &format!("is not used, or bound twice; it uses {}", names.join(", ")))
            );
        }
        let gpu = &self.inner.gpu;
        let group = gpu.inner.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(self.label()),
            layout: &self.inner.layout,
            entries: &entries,
        });
        gpu.check_faults()?;
        Ok(Bound { pipeline: self.clone(), group, buffers })
    }

    fn check(&self, binding: &Binding, slice: &Slice<'_>) -> Result<(), GpuError> {
        let limits = &self.inner.gpu.inner.limits;
        let (limit, alignment) = match binding.access {
            Access::Uniform => {
                (limits.max_uniform_buffer_binding_size, limits.min_uniform_buffer_offset_alignment)
            }
            Access::Read | Access::Write => {
                (limits.max_storage_buffer_binding_size, limits.min_storage_buffer_offset_alignment)
            }
        };
        let label = slice.buffer.label();
        slice.check_bounds().map_err(|error| self.invalid(&binding.name, &error.to_string()))?;
        let (offset, bytes, least) = (slice.offset, slice.bytes, binding.min_bytes);
        let what = if bytes < least {
            format!("needs {least} bytes, and `{label}` gives {bytes}")
        } else if bytes > limit {
            format!("cannot take the {bytes} bytes of `{label}`: the limit is {limit}; see Gpu::chunks")
        } else if !offset.is_multiple_of(u64::from(alignment)) {
            format!("starts at byte {offset} of `{label}`, which is not a multiple of {alignment}")
        } else {
            return Ok(());
        };
        Err(self.invalid(&binding.name, &what))
    }

    /// Returns the workgroups for `items` items along x. If the device does not support that many, they are spread over
    /// y, and the shader finds its item at `id.y * (num_workgroups.x * SIZE) + id.x` and stops if that is too large.
    pub fn groups(&self, items: u64) -> [u32; 3] {
        let limit = self.inner.gpu.inner.limits.max_compute_workgroups_per_dimension;
        groups(items, self.inner.entry.workgroup[0], limit)
    }

    fn invalid(&self, binding: &str, what: &str) -> GpuError {
        GpuError::Invalid(format!("pipeline `{}`, binding `{binding}`: {what}", self.label()))
    }
}

impl Bound {
    /// See [`Pipeline::groups`].
    pub fn groups(&self, items: u64) -> [u32; 3] {
        self.pipeline.groups(items)
    }

    pub(crate) fn check(&self, workgroups: [u32; 3]) -> Result<(), GpuError> {
        let limit = self.pipeline.inner.gpu.inner.limits.max_compute_workgroups_per_dimension;
        if workgroups.iter().all(|n| *n <= limit) {
            return Ok(());
        }
        Err(GpuError::Invalid(format!(
            "pipeline `{}`: {workgroups:?} workgroups are more than {limit} in a dimension; see Pipeline::groups",
            self.pipeline.label()
        )))
    }

    pub(crate) fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>, [x, y, z]: [u32; 3]) {
        pass.set_pipeline(&self.pipeline.inner.raw);
        pass.set_bind_group(0, &self.group, &[]);
        pass.dispatch_workgroups(x, y, z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn under_dx12_the_compiler_is_the_next_step() {
        assert!(next_step("dx12").contains("dxcompiler.dll"));
        assert_eq!(next_step("vulkan"), "choose another adapter with --device");
    }
}
