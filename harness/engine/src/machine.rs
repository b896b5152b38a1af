//! Facts of the machine that a run is measured on.

use std::collections::BTreeMap;

use perfharness_gpu::AdapterFacts;
use perfharness_record::Machine;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Reads the facts; `class` overrides the machine class, and `gpu` is the adapter that the run uses, or why it is unknown.
pub fn read_machine(class: Option<&str>, gpu: Result<Option<&AdapterFacts>, &String>) -> Machine {
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
    fact("cpu-features", Some(cpu_features().join(" ")));
    fact("logical-cores", Some(cpus.len()).filter(|n| *n > 0).map(|n| n.to_string()));
    fact("physical-cores", System::physical_core_count().ok().map(|n| n.to_string()));
    fact("memory-bytes", system.as_ref().map(|s| s.total_memory().to_string()));
    fact("governor", perfharness_platform::governor());
    fact("turbo", perfharness_platform::turbo().map(|on| on.to_string()));
    fact("aslr", perfharness_platform::aslr().map(|on| on.to_string()));
    fact("cpu-hz", perfharness_platform::cpu_frequency_hz().map(|hz| hz.to_string()));
    fact("gpu-fault", gpu.err().cloned());
    let gpu = gpu.unwrap_or_default();
    fact("gpu", gpu.map(|gpu| gpu.name.clone()));
    fact("gpu-kind", gpu.map(|gpu| gpu.kind.as_str().to_owned()));
    fact("gpu-backend", gpu.map(|gpu| gpu.backend.clone()));
    fact("gpu-bus", gpu.and_then(|gpu| gpu.bus_id.clone()));
    fact("gpu-driver", gpu.map(|gpu| gpu.driver.clone()));
    Machine::new(class, facts)
}

/// Returns the extensions of the processor that a program may choose its code by, of those that Valgrind simulates.
#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<&'static str> {
    macro_rules! found {
        ($($feature:tt),*) => {
            [$(($feature, std::is_x86_feature_detected!($feature))),*]
        };
    }
    let all = found!(
        "sse3",
        "ssse3",
        "sse4.1",
        "sse4.2",
        "popcnt",
        "aes",
        "pclmulqdq",
        "avx",
        "avx2",
        "fma",
        "bmi1",
        "bmi2",
        "lzcnt",
        "f16c",
        "movbe",
        "rdrand",
        "rdseed"
    );
    all.into_iter().filter_map(|(feature, is_there)| is_there.then_some(feature)).collect()
}

/// Returns the extensions of the processor that a program may choose its code by.
#[cfg(target_arch = "aarch64")]
fn cpu_features() -> Vec<&'static str> {
    macro_rules! found {
        ($($feature:tt),*) => {
            [$(($feature, std::arch::is_aarch64_feature_detected!($feature))),*]
        };
    }
    let all = found!("neon", "fp16", "dotprod", "lse", "aes", "sha2", "crc", "sve");
    all.into_iter().filter_map(|(feature, is_there)| is_there.then_some(feature)).collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cpu_features() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use perfharness_gpu::AdapterKind;
    use perfharness_record::SOFTWARE_ADAPTER;

    use super::*;

    #[test]
    fn the_facts_name_the_adapter_and_its_driver() {
        let gpu: AdapterFacts = serde_json::from_value(serde_json::json!({
            "name": "NVIDIA H200", "kind": "discrete", "backend": "vulkan", "driver": "NVIDIA 550.1", "features": [],
            "max_buffer_bytes": 1, "max_binding_bytes": 1, "binding_alignment": 1, "max_workgroups": 1,
            "max_invocations": 1, "workgroup_bytes": 1,
        }))
        .unwrap();
        let machine = read_machine(None, Ok(Some(&gpu)));
        let facts = ["gpu", "gpu-kind", "gpu-backend", "gpu-driver"].map(|key| machine.facts[key].as_str());
        assert_eq!(facts, ["NVIDIA H200", "discrete", "vulkan", "NVIDIA 550.1"]);
        assert!(machine.class.ends_with("-nvidia-h200"), "{}", machine.class);
        assert_eq!(machine.no_gpu_times(), None);
        let gpu = AdapterFacts { name: "llvmpipe".into(), kind: AdapterKind::Software, ..gpu };
        let software = read_machine(None, Ok(Some(&gpu)));
        assert_eq!(software.no_gpu_times().as_deref(), Some("llvmpipe computes on the CPU"));
        let unknown = read_machine(None, Err(&"the driver hung".to_owned()));
        assert!(unknown.no_gpu_times().is_some_and(|why| why.contains("the driver hung")));
        let without = read_machine(None, Ok(None));
        assert!(without.facts.keys().all(|key| !key.starts_with("gpu")), "{without:?}");
    }

    #[test]
    fn a_class_that_the_user_sets_is_kept() {
        let machine = read_machine(Some("CI Runner #3"), Ok(None));
        assert_eq!((machine.class.as_str(), machine.class_is_set), ("ci-runner-3", true));
        assert!(!read_machine(None, Ok(None)).class.is_empty());
    }

    #[test]
    fn records_and_drivers_have_one_word_for_a_software_adapter() {
        assert_eq!(AdapterKind::Software.as_str(), SOFTWARE_ADAPTER);
    }
}
