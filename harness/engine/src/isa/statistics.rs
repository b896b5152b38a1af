//! Statistics of machine code, by the names that RADV gives them.

use perfharness_contract::Digest;
use perfharness_record::CompiledKernel;

/// Machine code as the driver describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) subgroup: u32,
    /// Statistics by name.
    pub(super) statistics: Vec<(String, u64)>,
    /// Disassembly, if the driver disassembles.
    pub(super) assembly: Option<String>,
}

impl Described {
    pub(super) fn compiled(&self) -> CompiledKernel {
        let get =
            |name: &str| self.statistics.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        let spills = [get("Spilled VGPRs"), get("Spilled SGPRs")];
        CompiledKernel {
            digest: self.digest(),
            subgroup: self.subgroup,
            instructions: get("Instructions"),
            code_bytes: get("Code size"),
            vgprs: get("VGPRs"),
            sgprs: get("SGPRs"),
            spills: spills.into_iter().flatten().reduce(|vector, scalar| vector + scalar),
            scratch_bytes: get("Scratch size"),
            lds_bytes: get("LDS size"),
            waves: get("Subgroups per SIMD"),
            latency: get("Latency"),
            inverse_throughput: get("Inverse Throughput"),
        }
    }

    fn digest(&self) -> Digest {
        if let Some(text) = &self.assembly {
            return Digest::of(text.as_bytes());
        }
        // One hash of the driver's is that of the code, and the other that of what it was compiled from.
        let of_code = self.statistics.iter().filter(|(name, _)| name != "Driver pipeline hash");
        let all: Vec<String> = of_code.map(|(name, value)| format!("{name} {value}")).collect();
        Digest::of(all.join("\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(statistics: &[(&str, u64)]) -> Described {
        let statistics = statistics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Described { subgroup: 64, statistics, assembly: None }
    }

    #[test]
    fn spills_are_of_both_kinds_of_registers_and_absent_if_not_reported() {
        assert_eq!(described(&[("Spilled VGPRs", 3), ("Spilled SGPRs", 4)]).compiled().spills, Some(7));
        let none = described(&[("Instructions", 9)]).compiled();
        assert_eq!((none.spills, none.waves, none.instructions), (None, None, Some(9)));
    }

    #[test]
    fn without_a_disassembly_the_digest_is_that_of_what_describes_the_code() {
        let digest = |hash, pipeline| {
            described(&[("Driver pipeline hash", pipeline), ("Hash", hash)]).compiled().digest
        };
        assert_eq!(digest(1, 2), digest(1, 3));
        assert_ne!(digest(1, 2), digest(2, 2));
    }
}
