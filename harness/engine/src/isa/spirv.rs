//! WGSL to SPIR-V, as wgpu's Vulkan backend translates it for the same device.

use naga::back::pipeline_constants::process_overrides;
use naga::back::spv::{
    BindingInfo, Options, PipelineOptions, WriterFlags, ZeroInitializeWorkgroupMemoryMode, write_vec,
};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use naga::{AddressSpace, Module, ResourceBinding, ShaderStage};

/// Properties of a device that decide how wgpu translates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Version of SPIR-V.
    pub(super) version: (u8, u8),
    /// Optional parts of WGSL that shaders may use.
    pub(super) capabilities: Capabilities,
    /// True if inputs and outputs may have 16 bits, which the translation of any shader with such types declares.
    pub(super) has_half_io: bool,
    /// True if the device checks the bounds of buffers itself.
    pub(super) checks_buffers: bool,
    /// True if the device sets workgroup memory to zero itself.
    pub(super) clears_workgroups: bool,
}

/// Kind of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BindingKind {
    Uniform,
    Storage,
}

/// A translated kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spirv {
    pub(super) words: Vec<u32>,
    /// Bindings of descriptor set 0, in the order of their numbers from 0.
    pub(super) bindings: Vec<BindingKind>,
}

/// A shader that was read and validated.
pub(super) struct Shader {
    module: Module,
    info: ModuleInfo,
}

impl Shader {
    /// Reads WGSL for a device with these capabilities.
    ///
    /// # Errors
    /// Returns the position and the fault, or the capability that the device lacks.
    pub(super) fn read(wgsl: &str, capabilities: Capabilities) -> Result<Self, String> {
        let mut options = naga::front::wgsl::Options::new();
        options.capabilities = capabilities;
        let module = naga::front::wgsl::Frontend::new_with_options(options)
            .parse(wgsl)
            .map_err(|error| error.emit_to_string(wgsl))?;
        let info = Validator::new(ValidationFlags::all(), capabilities)
            .subgroup_stages(ShaderStages::COMPUTE)
            .subgroup_operations(SubgroupOperationSet::all())
            .validate(&module)
            .map_err(|error| error.emit_to_string(wgsl))?;
        Ok(Self { module, info })
    }

    /// Returns the names of the compute entry points.
    pub(super) fn entry_points(&self) -> impl Iterator<Item = &str> {
        let compute = self.module.entry_points.iter().filter(|entry| entry.stage == ShaderStage::Compute);
        compute.map(|entry| entry.name.as_str())
    }

    /// Translates an entry point.
    ///
    /// # Errors
    /// Returns the reason, for example that it uses images.
    pub(super) fn translate(&self, entry_point: &str, target: &Target) -> Result<Spirv, String> {
        let stage = ShaderStage::Compute;
        let bindings = self.bindings(entry_point)?;
        // wgpu numbers the bindings of a layout anew, without gaps.
        let binding_map = bindings.iter().zip(0..).map(|((binding, _), number)| {
            (*binding, BindingInfo { descriptor_set: 0, binding: number, binding_array_size: None })
        });
        let options = Options { binding_map: binding_map.collect(), ..options(target) };
        let constants = naga::back::PipelineConstants::default();
        let (module, info) =
            process_overrides(&self.module, &self.info, Some((stage, entry_point)), &constants)
                .map_err(|error| error.to_string())?;
        let pipeline = PipelineOptions { shader_stage: stage, entry_point: entry_point.to_owned() };
        let words =
            write_vec(&module, &info, &options, Some(&pipeline)).map_err(|error| error.to_string())?;
        Ok(Spirv { words, bindings: bindings.into_iter().map(|(_, kind)| kind).collect() })
    }

    /// Returns the buffers that an entry point uses, in the order of their numbers.
    fn bindings(&self, entry_point: &str) -> Result<Vec<(ResourceBinding, BindingKind)>, String> {
        let entries = &self.module.entry_points;
        let at = entries.iter().position(|e| e.name == entry_point && e.stage == ShaderStage::Compute);
        let at = at.ok_or_else(|| {
            let names: Vec<&str> = self.entry_points().collect();
            format!("compute entry point `{entry_point}` not found; the source has {names:?}")
        })?;
        let uses = self.info.get_entry_point(at);
        let mut bindings = Vec::new();
        for (handle, global) in self.module.global_variables.iter() {
            let Some(binding) = global.binding.filter(|_| !uses[handle].is_empty()) else { continue };
            let name = global.name.as_deref().unwrap_or_default();
            let kind = match global.space {
                AddressSpace::Uniform => BindingKind::Uniform,
                AddressSpace::Storage { .. } => BindingKind::Storage,
                _ => return Err(format!("binding `{name}` is not a buffer")),
            };
            if binding.group != 0 {
                return Err(format!("binding `{name}` is in group {}; only group 0 is used", binding.group));
            }
            bindings.push((binding, kind));
        }
        bindings.sort_by_key(|(binding, _)| binding.binding);
        Ok(bindings)
    }
}

/// Returns the options of wgpu-hal 30 (`naga_options` in `src/vulkan/adapter.rs`) for shaders with all runtime checks, without
/// the parts that other stages than compute need.
fn options(target: &Target) -> Options<'static> {
    let checked_by_shader = |is_checked_by_device| {
        if is_checked_by_device { BoundsCheckPolicy::Unchecked } else { BoundsCheckPolicy::Restrict }
    };
    Options {
        lang_version: target.version,
        // No names: two sources that differ in names alone are one kernel.
        flags: WriterFlags::empty(),
        // The validation of the source has refused others.
        capabilities: None,
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: checked_by_shader(target.checks_buffers),
            // Kernels have no images.
            image_load: BoundsCheckPolicy::Restrict,
            binding_array: BoundsCheckPolicy::Unchecked,
        },
        zero_initialize_workgroup_memory: if target.clears_workgroups {
            ZeroInitializeWorkgroupMemoryMode::Native
        } else {
            ZeroInitializeWorkgroupMemoryMode::Polyfill
        },
        force_loop_bounding: true,
        use_storage_input_output_16: target.has_half_io,
        fake_missing_bindings: false,
        emit_int_div_checks: true,
        ..Options::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        @group(0) @binding(3) var<uniform> scale: f32;
        @group(0) @binding(1) var<storage, read> input: array<f32>;
        @group(0) @binding(7) var<storage, read_write> output: array<f32>;
        @group(0) @binding(2) var<storage, read_write> unused: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
            output[id.x] = input[id.x] * scale;
        }";

    fn target() -> Target {
        Target {
            version: (1, 6),
            capabilities: Capabilities::empty(),
            has_half_io: false,
            checks_buffers: true,
            clears_workgroups: true,
        }
    }

    fn translate(wgsl: &str) -> Result<Spirv, String> {
        Shader::read(wgsl, Capabilities::empty())?.translate("main", &target())
    }

    #[test]
    fn used_bindings_are_numbered_without_gaps() {
        let bindings = translate(SOURCE).unwrap().bindings;
        assert_eq!(bindings, [BindingKind::Storage, BindingKind::Uniform, BindingKind::Storage]);
    }

    #[test]
    fn names_and_comments_do_not_reach_the_translation() {
        let renamed = SOURCE.replace("scale", "factor").replace("output", "result");
        let commented = SOURCE.replace("fn main", "/* doubles */ fn main");
        let changed = SOURCE.replace("* scale", "+ scale");
        let original = translate(SOURCE).unwrap();
        assert_eq!(translate(&renamed).unwrap(), original);
        assert_eq!(translate(&commented).unwrap(), original);
        assert_ne!(translate(&changed).unwrap(), original);
    }

    #[test]
    fn a_feature_that_the_device_lacks_is_named() {
        let half = "enable f16;
            @group(0) @binding(0) var<storage, read_write> a: array<f16>;
            @compute @workgroup_size(1) fn main() { a[0] = a[1] * 2h; }";
        let error = translate(half).unwrap_err();
        assert!(error.contains("f16"), "{error}");
        Shader::read(half, Capabilities::SHADER_FLOAT16).unwrap().translate("main", &target()).unwrap();
    }

    #[test]
    fn mistakes_name_the_place() {
        let error = translate("@compute fn main() { let x = ; }").unwrap_err();
        assert!(error.contains("1:30"), "{error}");
        let error =
            Shader::read(SOURCE, Capabilities::empty()).unwrap().translate("other", &target()).unwrap_err();
        assert!(error.contains("`other`") && error.contains("\"main\""), "{error}");
    }
}
