//! The machine and the class under which its absolute figures may be compared.

use std::collections::BTreeMap;

use perfharness_gpu::{AdapterFacts, AdapterKind};
use perfharness_platform as platform;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The machine that a run was measured on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Key under which absolute figures may be compared.
    #[serde(deserialize_with = "super::file_name::id")]
    pub class: String,
    /// Whether the user set the key; otherwise it follows from the facts.
    pub class_is_set: bool,
    /// All facts, those that are no part of the key included: a driver update is visible, but orphans no baseline.
    pub facts: BTreeMap<String, String>,
}

impl Machine {
    /// Reads the facts; `class` overrides the key, and `gpu` is the adapter that the run uses, or why it is not known.
    pub fn read(class: Option<&str>, gpu: Result<Option<&AdapterFacts>, &String>) -> Self {
        let kind = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind).ok();
        let cpus = system.as_ref().map(System::cpus).unwrap_or_default();
        let mut facts = BTreeMap::new();
        let mut fact = |key: &str, value: Option<String>| {
            if let Some(value) = value.filter(|v| !v.is_empty()) {
                facts.insert(key.to_owned(), value);
            }
        };
        fact("os", Some(std::env::consts::OS.into()));
        fact("os-version", System::long_os_version().ok());
        fact("kernel", System::kernel_version().ok());
        fact("arch", Some(System::cpu_arch()));
        fact("cpu", cpus.first().map(|cpu| cpu.brand().trim().to_owned()));
        fact("logical-cores", Some(cpus.len()).filter(|n| *n > 0).map(|n| n.to_string()));
        fact("physical-cores", System::physical_core_count().ok().map(|n| n.to_string()));
        fact("memory-bytes", system.as_ref().map(|s| s.total_memory().to_string()));
        fact("governor", platform::governor());
        fact("turbo", platform::turbo().map(|on| on.to_string()));
        fact("aslr", platform::aslr().map(|on| on.to_string()));
        fact("cpu-hz", platform::cpu_frequency_hz().map(|hz| hz.to_string()));
        fact("gpu-fault", gpu.err().cloned());
        let gpu = gpu.unwrap_or_default();
        fact("gpu", gpu.map(|gpu| gpu.name.clone()));
        fact("gpu-kind", gpu.map(|gpu| gpu.kind.as_str().to_owned()));
        fact("gpu-backend", gpu.map(|gpu| gpu.backend.clone()));
        fact("gpu-driver", gpu.map(|gpu| gpu.driver.clone()));
        let key = class.map_or_else(|| computed_class(&facts), slug);
        Self { class: key, class_is_set: class.is_some(), facts }
    }

    /// Why the times of this run say nothing of a GPU: it uses a software adapter, or nobody knows what it uses.
    pub fn no_gpu_times(&self) -> Option<String> {
        if let Some(fault) = self.facts.get("gpu-fault") {
            return Some(format!("the adapter is not known: {fault}"));
        }
        self.facts
            .get("gpu")
            .filter(|_| self.has_software_adapter())
            .map(|name| format!("{name} computes on the CPU"))
    }

    /// Whether the adapter is known to compute on the CPU.
    pub fn has_software_adapter(&self) -> bool {
        self.facts.get("gpu-kind").is_some_and(|kind| kind == AdapterKind::Software.as_str())
    }
}

/// OS, architecture, processor, cores and the GPU that is used. A software adapter is no GPU: it computes on the
/// processor, and whether it is installed changes nothing for what does without it. Kernel, driver and clock settings are facts beside the
/// key: they change without the machine becoming another one.
fn computed_class(facts: &BTreeMap<String, String>) -> String {
    let part = |key: &str| facts.get(key).map_or("unknown", String::as_str);
    let is_software = part("gpu-kind") == AdapterKind::Software.as_str();
    let gpu = if is_software { "" } else { facts.get("gpu").map_or("", String::as_str) };
    let mut class =
        slug(&format!("{} {} {} {}c {gpu}", part("os"), part("arch"), part("cpu"), part("logical-cores")));
    class.truncate(super::file_name::MOST_CHARS);
    class
}

/// Lower-case letters, digits and single dashes: a key is a file name, too.
pub(super) fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_a_file_name_made_of_the_lasting_facts() {
        let facts = [
            ("os", "linux"),
            ("arch", "x86_64"),
            ("cpu", "AMD EPYC 9B14 (16 @ 2.6)"),
            ("logical-cores", "2"),
            ("kernel", "6.1"),
        ];
        let facts = facts.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(computed_class(&facts), "linux-x86_64-amd-epyc-9b14-16-2.6-2c");
        assert_eq!(computed_class(&BTreeMap::new()), "unknown-unknown-unknown-unknownc");
    }

    #[test]
    fn the_class_has_the_name_of_the_gpu_but_not_its_driver() {
        let class = |name: &str, kind: &str, driver: &str| {
            let facts = [("gpu", name), ("gpu-kind", kind), ("gpu-driver", driver)];
            computed_class(&facts.map(|(k, v)| (k.to_owned(), v.to_owned())).into())
        };
        let nvidia = class("NVIDIA H200", "discrete", "550");
        assert_eq!(nvidia, "unknown-unknown-unknown-unknownc-nvidia-h200");
        assert_eq!(nvidia, class("NVIDIA H200", "discrete", "570"));
        assert_eq!(
            class("llvmpipe (LLVM 15.0.6, 256 bits)", "software", "Mesa 22"),
            computed_class(&BTreeMap::new()),
        );
    }

    #[test]
    fn the_facts_name_the_adapter_and_its_driver() {
        let gpu: AdapterFacts = serde_json::from_value(serde_json::json!({
            "name": "NVIDIA H200", "kind": "discrete", "backend": "vulkan", "driver": "NVIDIA 550.1", "features": [],
            "max_buffer_bytes": 1, "max_binding_bytes": 1, "binding_alignment": 1, "max_workgroups": 1,
            "max_invocations": 1, "workgroup_bytes": 1,
        }))
        .unwrap();
        let machine = Machine::read(None, Ok(Some(&gpu)));
        let facts = ["gpu", "gpu-kind", "gpu-backend", "gpu-driver"].map(|key| machine.facts[key].as_str());
        assert_eq!(facts, ["NVIDIA H200", "discrete", "vulkan", "NVIDIA 550.1"]);
        assert!(machine.class.ends_with("-nvidia-h200"), "{}", machine.class);
        assert_eq!(machine.no_gpu_times(), None);
        let gpu = AdapterFacts { name: "llvmpipe".into(), kind: AdapterKind::Software, ..gpu };
        let software = Machine::read(None, Ok(Some(&gpu)));
        assert_eq!(software.no_gpu_times().as_deref(), Some("llvmpipe computes on the CPU"));
        let unknown = Machine::read(None, Err(&"the driver hung".to_owned()));
        assert!(unknown.no_gpu_times().is_some_and(|why| why.contains("the driver hung")));
        let without = Machine::read(None, Ok(None));
        assert!(without.facts.keys().all(|key| !key.starts_with("gpu")), "{without:?}");
    }

    #[test]
    fn a_class_that_the_user_sets_is_kept() {
        let machine = Machine::read(Some("CI Runner #3"), Ok(None));
        assert_eq!((machine.class.as_str(), machine.class_is_set), ("ci-runner-3", true));
        assert!(!Machine::read(None, Ok(None)).class.is_empty());
    }
}
