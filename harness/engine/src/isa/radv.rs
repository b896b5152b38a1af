//! RADV, Mesa's Vulkan driver of AMD's GPUs, with a device that is not there.

use std::ffi::{CStr, CString};

use ash::{Device, Entry, Instance, ext, khr, vk};
use naga::valid::Capabilities;

use super::spirv::{BindingKind, Spirv, Target};
use super::statistics::Described;

/// Name of the representation that is the machine code as text.
const ASSEMBLY: &str = "Assembly";
/// Extension that returns the statistics.
const STATISTICS: &CStr = khr::pipeline_executable_properties::NAME;

/// A device of the driver that computes nothing but compiles. It lives as long as the process, because a driver may crash when it
/// is unloaded, so nothing of it is destroyed.
pub(super) struct Radv {
    /// Keeps the library loaded.
    _entry: Entry,
    device: Device,
    executables: khr::pipeline_executable_properties::Device,
    /// Name and version of the driver.
    pub(super) driver: String,
    /// Name of the device.
    pub(super) name: String,
    /// Options by which wgpu translates for it.
    pub(super) target: Target,
    /// True if wgpu lets the driver choose the size of a subgroup.
    varies_subgroups: bool,
}

fn failed(what: &str) -> impl FnOnce(vk::Result) -> String {
    move |error| format!("RADV does not {what}: {error}")
}

impl Radv {
    /// Opens the device of a family.
    ///
    /// # Errors
    /// Returns the reason why there is none.
    #[expect(unsafe_code, reason = "Vulkan has no safe interface that returns a compiler's statistics")]
    pub(super) fn open(family: &str) -> Result<Self, String> {
        // SAFETY: the library is the system's Vulkan loader, which wgpu loads as well.
        let entry = unsafe { Entry::load() }.map_err(|error| format!("Vulkan cannot be loaded: {error}"))?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
        let create = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `create` points to values that live until the call returns, here and in the calls below.
        let instance = unsafe { entry.create_instance(&create, None) }
            .map_err(|error| format!("Vulkan does not start: {error}"))?;
        // SAFETY: the instance lives as long as the process.
        let all = unsafe { instance.enumerate_physical_devices() }
            .map_err(|error| format!("Vulkan lists no devices: {error}"))?;
        let (physical, facts) = all
            .into_iter()
            .map(|physical| (physical, Facts::of(&instance, physical)))
            .find(|(_, facts)| facts.driver_id == vk::DriverId::MESA_RADV)
            .ok_or(
                "Vulkan has no driver RADV; install Mesa's Vulkan drivers (package mesa-vulkan-drivers)",
            )?;
        // A driver that ignored the variable would compile for the GPU of this machine.
        if !facts.name.to_lowercase().contains(&family.to_lowercase()) {
            return Err(format!("RADV offers `{}`, and not the family `{family}`", facts.name));
        }
        // SAFETY: `physical` is a device of this instance.
        let extensions = unsafe { instance.enumerate_device_extension_properties(physical) }
            .map_err(failed("list its extensions"))?;
        let has = |name: &CStr| extensions.iter().any(|known| known.extension_name_as_c_str() == Ok(name));
        if facts.api_version < vk::API_VERSION_1_3 || !has(STATISTICS) {
            return Err(format!("{} has no Vulkan 1.3 with statistics of pipelines", facts.driver));
        }
        let optional = [ext::robustness2::NAME, ext::shader_atomic_float::NAME].map(|name| (name, has(name)));
        Self::with_features(entry, &instance, physical, facts, &optional)
    }

    /// Opens the device with all its features: those of them that change code are the ones that wgpu asks for.
    #[expect(unsafe_code, reason = "Vulkan has no safe interface that returns a compiler's statistics")]
    fn with_features(
        entry: Entry,
        instance: &Instance,
        physical: vk::PhysicalDevice,
        facts: Facts,
        optional: &[(&'static CStr, bool)],
    ) -> Result<Self, String> {
        let has = |name: &CStr| optional.contains(&(name, true));
        let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut v13 = vk::PhysicalDeviceVulkan13Features::default();
        let mut statistics = vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR::default();
        let mut robustness = vk::PhysicalDeviceRobustness2FeaturesEXT::default();
        let mut atomics = vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT::default();
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut v11)
            .push_next(&mut v12)
            .push_next(&mut v13)
            .push_next(&mut statistics);
        if has(ext::robustness2::NAME) {
            features = features.push_next(&mut robustness);
        }
        if has(ext::shader_atomic_float::NAME) {
            features = features.push_next(&mut atomics);
        }
        // SAFETY: the chain has structures of extensions that the device has, each once.
        unsafe { instance.get_physical_device_features2(physical, &mut features) };
        let queue = vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0]);
        let names = optional.iter().filter(|(_, has)| *has).map(|(name, _)| name.as_ptr());
        let names: Vec<_> = names.chain([STATISTICS.as_ptr()]).collect();
        let queues = [queue];
        let create = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&names)
            .push_next(&mut features);
        // SAFETY: the device reported these extensions and features, and every device has a first family of queues.
        let device =
            unsafe { instance.create_device(physical, &create, None) }.map_err(failed("open its device"))?;
        let core = features.features;
        let is_on = |feature: vk::Bool32| feature == vk::TRUE;
        let mut capabilities = Capabilities::MEMORY_DECORATION_COHERENT;
        capabilities.set(Capabilities::FLOAT64, is_on(core.shader_float64));
        capabilities.set(Capabilities::SHADER_INT64, is_on(core.shader_int64));
        capabilities.set(
            Capabilities::SHADER_FLOAT16,
            is_on(v12.shader_float16)
                && is_on(v11.storage_buffer16_bit_access)
                && is_on(v11.uniform_and_storage_buffer16_bit_access),
        );
        capabilities.set(
            Capabilities::SHADER_FLOAT32_ATOMIC,
            is_on(atomics.shader_buffer_float32_atomics) && is_on(atomics.shader_buffer_float32_atomic_add),
        );
        let varies_subgroups = is_on(v13.subgroup_size_control);
        capabilities.set(Capabilities::SUBGROUP, varies_subgroups);
        let target = Target {
            version: (1, 6),
            capabilities,
            has_half_io: is_on(v11.storage_input_output16),
            checks_buffers: is_on(robustness.robust_buffer_access2),
            clears_workgroups: is_on(v13.shader_zero_initialize_workgroup_memory),
        };
        let executables = khr::pipeline_executable_properties::Device::new(instance, &device);
        let Facts { driver, name, .. } = facts;
        Ok(Self { _entry: entry, device, executables, driver, name, target, varies_subgroups })
    }

    /// Compiles a kernel.
    ///
    /// # Errors
    /// Returns the reason of the driver.
    #[expect(unsafe_code, reason = "Vulkan has no safe interface that returns a compiler's statistics")]
    pub(super) fn compile(&self, spirv: &Spirv, entry_point: &str) -> Result<Described, String> {
        let device = &self.device;
        let name = CString::new(entry_point).map_err(|_| "its name has a zero byte".to_owned())?;
        let bindings: Vec<_> = spirv.bindings.iter().zip(0..).map(binding).collect();
        let layout = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: each structure points to values that live until its call returns, in all calls of this function.
        let set = unsafe { device.create_descriptor_set_layout(&layout, None) }
            .map_err(failed("accept its bindings"))?;
        let sets = [set];
        let layout = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        // SAFETY: see above.
        let layout =
            unsafe { device.create_pipeline_layout(&layout, None) }.map_err(failed("accept its bindings"))?;
        let module = vk::ShaderModuleCreateInfo::default().code(&spirv.words);
        // SAFETY: the words are a module that was translated from a valid source.
        let module = unsafe { device.create_shader_module(&module, None) }
            .map_err(failed("accept its translation"))?;
        let mut flags = vk::PipelineShaderStageCreateFlags::empty();
        if self.varies_subgroups {
            flags |= vk::PipelineShaderStageCreateFlags::ALLOW_VARYING_SUBGROUP_SIZE;
        }
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .flags(flags)
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(&name);
        let create = vk::ComputePipelineCreateInfo::default()
            .flags(
                vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR
                    | vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR,
            )
            .stage(stage)
            .layout(layout);
        // SAFETY: the module has the entry point, and the layout its bindings.
        let made = unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &[create], None) };
        let pipelines = made.map_err(|(_, error)| failed("compile it")(error))?;
        let described = pipelines.first().ok_or("RADV returns no pipeline".to_owned());
        let described = described.and_then(|pipeline| self.describe(*pipeline));
        for pipeline in pipelines {
            // SAFETY: nothing executes on the device, here and below.
            unsafe { device.destroy_pipeline(pipeline, None) };
        }
        // SAFETY: as above.
        unsafe {
            device.destroy_shader_module(module, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_descriptor_set_layout(set, None);
        }
        described
    }

    #[expect(unsafe_code, reason = "Vulkan has no safe interface that returns a compiler's statistics")]
    fn describe(&self, pipeline: vk::Pipeline) -> Result<Described, String> {
        let all = &self.executables;
        let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        // SAFETY: the pipeline is alive and was created to keep its statistics, in all calls of this function.
        let properties =
            unsafe { all.get_pipeline_executable_properties(&info) }.map_err(failed("describe its code"))?;
        let executable = properties.first().ok_or("RADV describes no code of it")?;
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(0);
        // SAFETY: see above.
        let statistics = unsafe { all.get_pipeline_executable_statistics(&info) }
            .map_err(failed("tell its statistics"))?;
        let statistics = statistics.iter().filter_map(|statistic| {
            let name = statistic.name_as_c_str().ok()?.to_string_lossy().into_owned();
            // SAFETY: the format tells which member of the union is set.
            let value = unsafe {
                match statistic.format {
                    vk::PipelineExecutableStatisticFormatKHR::UINT64 => statistic.value.u64,
                    vk::PipelineExecutableStatisticFormatKHR::INT64 => {
                        u64::try_from(statistic.value.i64).ok()?
                    }
                    _ => return None,
                }
            };
            Some((name, value))
        });
        let statistics = statistics.collect();
        Ok(Described { subgroup: executable.subgroup_size, statistics, assembly: self.assembly(&info)? })
    }

    /// Returns the disassembly, if there is one.
    #[expect(unsafe_code, reason = "Vulkan has no safe interface that returns a compiler's statistics")]
    fn assembly(&self, info: &vk::PipelineExecutableInfoKHR<'_>) -> Result<Option<String>, String> {
        let all = &self.executables;
        // SAFETY: the pipeline is alive and was created to keep its representations, in both calls.
        let mut found = unsafe { all.get_pipeline_executable_internal_representations(info) }
            .map_err(failed("return its code"))?;
        // The first call tells the sizes, and the second one fills memory of these sizes.
        let mut texts: Vec<Vec<u8>> = found.iter().map(|found| vec![0; found.data_size]).collect();
        for (found, text) in found.iter_mut().zip(&mut texts) {
            found.p_data = text.as_mut_ptr().cast();
        }
        let mut count = found.len() as u32;
        let get = all.fp().get_pipeline_executable_internal_representations_khr;
        // SAFETY: each entry points to as many bytes as it says, and there are `count` of them.
        let result = unsafe { get(all.device(), info, &raw mut count, found.as_mut_ptr()) };
        if result != vk::Result::SUCCESS {
            return Err(failed("return its code")(result));
        }
        let is_assembly =
            |name: Result<&CStr, _>| name.is_ok_and(|name| name.to_bytes() == ASSEMBLY.as_bytes());
        let at = found.iter().position(|found| is_assembly(found.name_as_c_str()));
        let text = at.map(|at| String::from_utf8_lossy(&texts[at]).trim_end_matches('\0').to_owned());
        Ok(text.filter(|text| !text.trim().is_empty()))
    }
}

fn binding((kind, number): (&BindingKind, u32)) -> vk::DescriptorSetLayoutBinding<'static> {
    let kind = match kind {
        BindingKind::Uniform => vk::DescriptorType::UNIFORM_BUFFER,
        BindingKind::Storage => vk::DescriptorType::STORAGE_BUFFER,
    };
    vk::DescriptorSetLayoutBinding::default()
        .binding(number)
        .descriptor_type(kind)
        .descriptor_count(1)
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
}

/// Facts of a device that are known without opening it.
struct Facts {
    driver_id: vk::DriverId,
    driver: String,
    name: String,
    api_version: u32,
}

impl Facts {
    #[expect(unsafe_code, reason = "Vulkan has no safe interface that returns a compiler's statistics")]
    fn of(instance: &Instance, physical: vk::PhysicalDevice) -> Self {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut driver);
        // SAFETY: `physical` is a device of this instance, and drivers ignore structures that they do not know.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        let properties = properties.properties;
        let text =
            |name: Result<&CStr, _>| name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let names = [text(driver.driver_name_as_c_str()), text(driver.driver_info_as_c_str())];
        Self {
            driver_id: driver.driver_id,
            driver: names.join(" ").trim().to_owned(),
            name: text(properties.device_name_as_c_str()),
            api_version: properties.api_version,
        }
    }
}
