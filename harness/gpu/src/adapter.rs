//! Adapters of this machine, and the selection of one of them.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::device::open_adapter;
use crate::testing::own_adapter;
use crate::{Gpu, GpuError, GpuOptions};

/// Features that a device is opened with if the adapter supports them: for measuring, or for workloads to choose from.
const WANTED: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY
    .union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS)
    .union(wgpu::Features::SHADER_F16)
    .union(wgpu::Features::SHADER_F64)
    .union(wgpu::Features::SHADER_INT64)
    .union(wgpu::Features::SHADER_FLOAT32_ATOMIC)
    .union(wgpu::Features::SUBGROUP)
    .union(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS);

/// Kind of an adapter. The order is the order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdapterKind {
    /// A GPU with its own memory.
    Discrete,
    /// A GPU that shares the memory of the CPU.
    Integrated,
    /// A GPU of a virtual machine.
    Virtual,
    /// The driver does not report a kind.
    Other,
    /// No GPU: the CPU does the work, as in lavapipe and WARP.
    Software,
    /// wgpu's backend that executes nothing, for tests of everything around the device.
    Noop,
}

impl AdapterKind {
    /// Returns the word for the kind, which also selects it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Discrete => "discrete",
            Self::Integrated => "integrated",
            Self::Virtual => "virtual",
            Self::Other => "other",
            Self::Software => "software",
            Self::Noop => "noop",
        }
    }

    fn of(info: &wgpu::AdapterInfo) -> Self {
        if info.backend == wgpu::Backend::Noop {
            return Self::Noop;
        }
        match info.device_type {
            wgpu::DeviceType::DiscreteGpu => Self::Discrete,
            wgpu::DeviceType::IntegratedGpu => Self::Integrated,
            wgpu::DeviceType::VirtualGpu => Self::Virtual,
            wgpu::DeviceType::Other => Self::Other,
            wgpu::DeviceType::Cpu => Self::Software,
        }
    }
}

/// Facts about an adapter that are known without using it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdapterFacts {
    /// Name, such as `llvmpipe (LLVM 15.0.6, 256 bits)`.
    pub name: String,
    /// Kind of the adapter.
    pub kind: AdapterKind,
    /// `vulkan`, `metal`, `dx12` or `noop`.
    pub backend: String,
    /// The driver and its version.
    pub driver: String,
    /// Place on the PCI bus, such as `0000:3b:00.0`; `None` where the driver does not report that of this very adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_id: Option<String>,
    /// Features that a device is opened with, by their names in the WebGPU standard or in wgpu.
    pub features: Vec<String>,
    /// Largest size of a buffer in bytes.
    pub max_buffer_bytes: u64,
    /// Largest binding of a shader in bytes.
    pub max_binding_bytes: u64,
    /// Alignment of a binding in bytes.
    pub binding_alignment: u64,
    /// Largest number of workgroups of a dispatch in one dimension.
    pub max_workgroups: u32,
    /// Largest number of invocations in a workgroup.
    pub max_invocations: u32,
    /// Largest memory that a workgroup shares, in bytes.
    pub workgroup_bytes: u32,
}

impl AdapterFacts {
    fn of(adapter: &wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let limits = adapter.limits();
        let features = adapter.features() & WANTED;
        Self {
            kind: AdapterKind::of(&info),
            // Under DX12 wgpu reports the first card of the same model, which need not be this one.
            bus_id: Some(info.device_pci_bus_id)
                .filter(|id| info.backend == wgpu::Backend::Vulkan && !id.is_empty()),
            backend: info.backend.to_str().to_owned(),
            driver: [info.driver, info.driver_info].join(" ").trim().to_owned(),
            name: info.name,
            features: feature_names(features),
            max_buffer_bytes: limits.max_buffer_size,
            max_binding_bytes: limits.max_storage_buffer_binding_size,
            binding_alignment: u64::from(limits.min_storage_buffer_offset_alignment),
            max_workgroups: limits.max_compute_workgroups_per_dimension,
            max_invocations: limits.max_compute_invocations_per_workgroup,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
        }
    }
}

/// Whether device time can be measured, as found by measuring some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timestamps {
    /// It can be measured.
    Work {
        /// Length of a tick in ns.
        period_ns: f32,
    },
    /// It cannot be measured, or not all of it.
    Absent {
        /// The reason.
        reason: String,
    },
}

/// An adapter and the result of a probe of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbedAdapter {
    /// Facts about the adapter.
    #[serde(flatten)]
    pub facts: AdapterFacts,
    /// Whether its timestamps work.
    pub timestamps: Timestamps,
}

/// Returns the facts of every adapter of this machine, in order of preference, without using any of them.
pub fn list_adapters() -> Vec<AdapterFacts> {
    real_adapters().into_iter().map(|(_, facts)| facts).collect()
}

/// Probes the adapter at this position of [`list_adapters`] with a small dispatch and a copy; `None` if the list is
/// shorter.
pub fn probe_adapter(at: usize) -> Option<ProbedAdapter> {
    real_adapters().into_iter().nth(at).map(probe)
}

fn probe((adapter, facts): (wgpu::Adapter, AdapterFacts)) -> ProbedAdapter {
    let probed = open_adapter(&adapter, facts.clone(), &GpuOptions::default()).and_then(|gpu| gpu.probe());
    let timestamps = probed.unwrap_or_else(|e| Timestamps::Absent { reason: e.to_string() });
    ProbedAdapter { facts, timestamps }
}

/// Returns the names of features, as in their documentation.
pub(crate) fn feature_names(features: wgpu::Features) -> Vec<String> {
    features.iter().filter_map(|feature| feature.as_str().map(str::to_owned)).collect()
}

pub(crate) fn wanted_features(adapter: &wgpu::Adapter, options: &GpuOptions) -> wgpu::Features {
    let features = adapter.features() & WANTED;
    if options.hide_timestamps {
        features - wgpu::Features::TIMESTAMP_QUERY - wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
    } else {
        features
    }
}

/// Finds the adapter for `asked`: `auto`, `none`, a kind, or a part of a name, driver or backend.
pub(crate) fn find(asked: &str) -> Result<(wgpu::Adapter, AdapterFacts), GpuError> {
    if let Some(adapter) = own_adapter() {
        let facts = AdapterFacts::of(&adapter);
        return Ok((adapter, facts));
    }
    let mut list = match asked {
        // Not even a driver is loaded.
        "none" => Vec::new(),
        "noop" => noop_adapters(),
        _ => real_adapters(),
    };
    let facts: Vec<AdapterFacts> = list.iter().map(|(_, facts)| facts.clone()).collect();
    choose_adapter(&facts, asked).map(|at| list.swap_remove(at))
}

fn no_adapter(reason: impl Into<String>, next: impl Into<String>) -> GpuError {
    GpuError::NoAdapter { reason: reason.into(), next: next.into() }
}

/// Returns the position of the adapter that [`Gpu::new`] opens for `asked`: among those that match, the first in order
/// of preference. A pure function, so that every machine can be tested on any other.
///
/// # Errors
/// Returns [`GpuError::NoAdapter`] if none matches, or `none` was requested.
pub fn choose_adapter(sorted: &[AdapterFacts], asked: &str) -> Result<usize, GpuError> {
    let asked = asked.to_lowercase();
    if asked == "none" {
        return Err(no_adapter("this run uses no GPU (device `none`)", "run it with --device auto"));
    }
    if sorted.is_empty() {
        return Err(no_adapter(
            "Vulkan, Metal and DX12 offer none",
            "install a GPU driver, or a software adapter such as Mesa's lavapipe (package mesa-vulkan-drivers)",
        ));
    }
    // Two software adapters are known by other names than their drivers report.
    let part = match asked.as_str() {
        "auto" => return Ok(0),
        "lavapipe" => "llvmpipe",
        "warp" => "basic render driver",
        other => other,
    };
    let fits = |facts: &AdapterFacts| {
        part == facts.kind.as_str()
            || [&facts.name, &facts.driver, &facts.backend]
                .into_iter()
                .chain(&facts.bus_id)
                .any(|text| text.to_lowercase().contains(part))
    };
    sorted.iter().position(fits).ok_or_else(|| {
        let name = |f: &AdapterFacts| {
            let bus = f.bus_id.as_ref().map_or_else(String::new, |bus| format!(", bus {bus}"));
            format!("`{}` ({}{bus})", f.name, f.kind.as_str())
        };
        let names: Vec<String> = sorted.iter().map(name).collect();
        no_adapter(
            format!("no name or kind matches `{asked}`"),
            format!("use --device auto, or a part of one of these names or its bus: {}", names.join(", ")),
        )
    })
}

/// Returns the adapters of this machine. They are listed once: that takes milliseconds, and drivers print messages.
fn real_adapters() -> Vec<(wgpu::Adapter, AdapterFacts)> {
    // GL is left out on purpose, because its timestamps are broken on software adapters.
    const BACKENDS: wgpu::Backends =
        wgpu::Backends::VULKAN.union(wgpu::Backends::METAL).union(wgpu::Backends::DX12);
    static LISTED: OnceLock<Vec<(wgpu::Adapter, AdapterFacts)>> = OnceLock::new();
    LISTED.get_or_init(|| list(&instance(BACKENDS, wgpu::BackendOptions::default()), BACKENDS)).clone()
}

fn noop_adapters() -> Vec<(wgpu::Adapter, AdapterFacts)> {
    let options =
        wgpu::BackendOptions { noop: wgpu::NoopBackendOptions::enabled(), ..wgpu::BackendOptions::default() };
    list(&instance(wgpu::Backends::NOOP, options), wgpu::Backends::NOOP)
}

fn instance(backends: wgpu::Backends, backend_options: wgpu::BackendOptions) -> wgpu::Instance {
    wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends,
        // The driver's validation layers would be measured along with the work; wgpu's own checks stay.
        flags: wgpu::InstanceFlags::empty(),
        backend_options,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    })
}

fn list(instance: &wgpu::Instance, backends: wgpu::Backends) -> Vec<(wgpu::Adapter, AdapterFacts)> {
    let adapters = pollster::block_on(instance.enumerate_adapters(backends));
    let facts: Vec<_> = adapters.iter().map(AdapterFacts::of).collect();
    let mut list: Vec<_> = adapters.into_iter().zip(facts).collect();
    list.sort_by_key(|(adapter, facts)| (facts.kind, backend_rank(adapter.get_info().backend)));
    list
}

fn backend_rank(backend: wgpu::Backend) -> u8 {
    match backend {
        wgpu::Backend::Vulkan => 0,
        wgpu::Backend::Metal => 1,
        wgpu::Backend::Dx12 => 2,
        wgpu::Backend::Gl | wgpu::Backend::BrowserWebGpu | wgpu::Backend::Noop => 3,
    }
}

impl Gpu {
    /// Runs each kind of timed command briefly, and returns whether its timestamps were read back.
    fn probe(&self) -> Result<Timestamps, GpuError> {
        const SOURCE: &str = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;
            @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { data[id.x] += id.x; }";
        let data = self.buffer_for::<u32>("probe", 1 << 16)?;
        let bound = self.pipeline("probe", SOURCE, "main")?.bind([("data", &data)])?;
        let mut meter = self.meter();
        let mut readings = std::collections::BTreeMap::new();
        meter.start();
        self.commands("probe").dispatch(&bound, bound.groups(1 << 16)).submit()?;
        self.read::<u32>(&data)?;
        meter.stop(&mut readings);
        Ok(match readings.remove(crate::metric::GPU_BUSY) {
            Some(perfharness_contract::Reading::Absent { absent }) => Timestamps::Absent { reason: absent },
            Some(perfharness_contract::Reading::Value(_)) | None => {
                Timestamps::Work { period_ns: self.queue().get_timestamp_period() }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, kind: AdapterKind, backend: &str) -> AdapterFacts {
        AdapterFacts {
            name: name.into(),
            kind,
            backend: backend.into(),
            driver: "driver 1.0".into(),
            bus_id: None,
            features: Vec::new(),
            max_buffer_bytes: 1,
            max_binding_bytes: 1,
            binding_alignment: 256,
            max_workgroups: 1,
            max_invocations: 1,
            workgroup_bytes: 1,
        }
    }

    fn machine() -> Vec<AdapterFacts> {
        vec![
            facts("NVIDIA H200", AdapterKind::Discrete, "vulkan"),
            facts("Intel UHD", AdapterKind::Integrated, "vulkan"),
            facts("llvmpipe (LLVM 15.0.6, 256 bits)", AdapterKind::Software, "vulkan"),
            facts("Microsoft Basic Render Driver", AdapterKind::Software, "dx12"),
        ]
    }

    #[test]
    fn adapters_are_chosen_by_auto_kind_name_backend_and_nickname() {
        for (asked, at) in [
            ("auto", 0),
            ("discrete", 0),
            ("integrated", 1),
            ("software", 2),
            ("uhd", 1),
            ("NVIDIA", 0),
            ("lavapipe", 2),
            ("WARP", 3),
            ("dx12", 3),
        ] {
            assert_eq!(choose_adapter(&machine(), asked), Ok(at), "{asked}");
        }
    }

    #[test]
    fn of_equal_adapters_each_is_chosen_by_its_bus() {
        let at = |bus: &str| AdapterFacts { bus_id: Some(bus.into()), ..machine().remove(0) };
        let cards = [at("0000:3b:00.0"), at("0000:af:00.0"), at("0001:3b:00.0")];
        for (asked, chosen) in [("0000:af:00.0", 1), ("AF:00", 1), ("0001:3b", 2), ("3b:00.0", 0)] {
            assert_eq!(choose_adapter(&cards, asked), Ok(chosen), "{asked}");
        }
        let error = choose_adapter(&cards, "0002:").unwrap_err().to_string();
        assert!(error.contains("bus 0000:af:00.0"), "{error}");
    }

    #[test]
    fn what_is_not_there_is_an_absence_that_names_what_is() {
        let error = choose_adapter(&machine(), "Radeon").unwrap_err().to_string();
        assert!(error.contains("`radeon`") && error.contains("`Intel UHD` (integrated)"), "{error}");
        let error = choose_adapter(&[], "auto").unwrap_err().to_string();
        assert!(error.contains("mesa-vulkan-drivers"), "{error}");
        assert!(choose_adapter(&[], "none").unwrap_err().to_string().contains("--device auto"));
    }

    #[test]
    fn what_is_known_of_an_adapter_can_be_handed_on_as_json() {
        let facts = machine().remove(0);
        for timestamps in
            [Timestamps::Work { period_ns: 1.5 }, Timestamps::Absent { reason: "no queries".into() }]
        {
            let probed = ProbedAdapter { facts: facts.clone(), timestamps };
            let json = serde_json::to_string(&probed).unwrap();
            assert_eq!(serde_json::from_str::<ProbedAdapter>(&json).unwrap(), probed);
        }
    }

    #[test]
    fn hardware_comes_before_software() {
        let mut kinds = [
            AdapterKind::Noop,
            AdapterKind::Software,
            AdapterKind::Other,
            AdapterKind::Integrated,
            AdapterKind::Discrete,
        ];
        kinds.sort();
        assert_eq!(kinds[0], AdapterKind::Discrete);
        assert_eq!(kinds[3..], [AdapterKind::Software, AdapterKind::Noop]);
    }
}
