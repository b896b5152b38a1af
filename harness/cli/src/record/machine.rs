//! The machine and the class under which its absolute figures may be compared.

use std::collections::BTreeMap;

use perfharness_platform as platform;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The machine that a run was measured on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Key under which absolute figures may be compared.
    pub class: String,
    /// Whether the user set the key; otherwise it follows from the facts.
    pub class_is_set: bool,
    /// All facts, those that are no part of the key included: a driver update is visible, but orphans no baseline.
    pub facts: BTreeMap<String, String>,
}

impl Machine {
    /// Reads the facts; `class` overrides the key.
    pub fn read(class: Option<&str>) -> Self {
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
        let key = class.map_or_else(|| computed_class(&facts), slug);
        Self { class: key, class_is_set: class.is_some(), facts }
    }
}

/// OS, architecture, processor and cores. Kernel, driver and clock settings are facts beside the key: they change
/// without the machine becoming another one.
fn computed_class(facts: &BTreeMap<String, String>) -> String {
    let part = |key: &str| facts.get(key).map_or("unknown", String::as_str);
    slug(&format!("{} {} {} {}c", part("os"), part("arch"), part("cpu"), part("logical-cores")))
}

/// Lower-case letters, digits and single dashes: a key is a file name, too.
fn slug(text: &str) -> String {
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
    fn a_class_that_the_user_sets_is_kept() {
        let machine = Machine::read(Some("CI Runner #3"));
        assert_eq!((machine.class.as_str(), machine.class_is_set), ("ci-runner-3", true));
        assert!(!Machine::read(None).class.is_empty());
    }
}
