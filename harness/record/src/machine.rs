//! The machine and the class under which its absolute figures may be compared.

use perfharness_verdict::judge::Adapter;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::file_name::{self, MOST_CHARS, slug};

/// The machine that a run was measured on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Key under which absolute figures may be compared.
    #[serde(deserialize_with = "file_name::id")]
    pub class: String,
    /// Whether the user set the key; otherwise it follows from the facts.
    pub class_is_set: bool,
    /// All facts, those that are no part of the key included: a driver update is visible, but orphans no baseline.
    pub facts: BTreeMap<String, String>,
}

/// The fact `gpu-kind` of an adapter that computes on the CPU.
pub const SOFTWARE_ADAPTER: &str = "software";

impl Machine {
    /// A machine with these facts; `class` overrides the key that follows from them.
    pub fn new(class: Option<&str>, facts: BTreeMap<String, String>) -> Self {
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
        self.facts.get("gpu-kind").is_some_and(|kind| kind == SOFTWARE_ADAPTER)
    }

    /// The device that computes for a GPU.
    pub fn adapter(&self) -> Adapter {
        if self.has_software_adapter() {
            Adapter::Software
        } else if self.no_gpu_times().is_some() {
            Adapter::Unknown
        } else {
            Adapter::Hardware
        }
    }
}

/// OS, architecture, processor, cores and the GPU that is used. A software adapter is no GPU: it computes on the
/// processor, and whether it is installed changes nothing for what does without it. Kernel, driver and clock settings are facts beside the
/// key: they change without the machine becoming another one.
fn computed_class(facts: &BTreeMap<String, String>) -> String {
    let part = |key: &str| facts.get(key).map_or("unknown", String::as_str);
    let is_software = part("gpu-kind") == SOFTWARE_ADAPTER;
    let gpu = if is_software { "" } else { facts.get("gpu").map_or("", String::as_str) };
    let mut class =
        slug(&format!("{} {} {} {}c {gpu}", part("os"), part("arch"), part("cpu"), part("logical-cores")));
    class.truncate(MOST_CHARS);
    class
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
    fn a_class_that_the_user_sets_is_kept() {
        let machine = Machine::new(Some("CI Runner #3"), BTreeMap::new());
        assert_eq!((machine.class.as_str(), machine.class_is_set), ("ci-runner-3", true));
    }
}
