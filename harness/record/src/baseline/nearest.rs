//! The nearest baseline, for a machine without one of its own.

use std::collections::BTreeMap;

use super::Baseline;
use crate::Machine;

/// Facts that machines have in common, with weights: facts that decide about counts weigh most.
const FACTS: [(&str, u32); 5] =
    [("os", 16), ("arch", 8), ("gpu-kind", 4), ("gpu-backend", 2), ("logical-cores", 1)];

/// The baseline whose machine has most in common with these facts; of several the one that was accepted last.
pub fn nearest<'a>(
    baselines: impl IntoIterator<Item = &'a Baseline>,
    facts: &BTreeMap<String, String>,
) -> Option<&'a Baseline> {
    let in_common = |baseline: &Baseline| -> u32 {
        let same = FACTS.iter().filter(|(fact, _)| baseline.facts.get(*fact) == facts.get(*fact));
        same.map(|(_, weight)| weight).sum()
    };
    let latest = |baseline: &Baseline| baseline.acceptances.last().map(|acceptance| acceptance.when.clone());
    baselines.into_iter().max_by_key(|baseline| (in_common(baseline), latest(baseline)))
}

/// The baseline of a machine's class, else the nearest.
pub fn of_machine<'a>(baselines: &'a [Baseline], machine: &Machine) -> Option<&'a Baseline> {
    let own = baselines.iter().find(|baseline| baseline.class == machine.class);
    own.or_else(|| nearest(baselines, &machine.facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Conditions;

    fn baseline(class: &str, facts: &[(&str, &str)]) -> Baseline {
        Baseline {
            class: class.into(),
            facts: facts.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            conditions: Conditions { seed: 1, device: "auto".into(), settings: BTreeMap::new() },
            acceptances: Vec::new(),
            benchmarks: Vec::new(),
        }
    }

    #[test]
    fn the_system_counts_more_than_the_number_of_cores() {
        let all = [
            baseline("linux", &[("os", "linux"), ("arch", "x86_64"), ("logical-cores", "2")]),
            baseline("mac", &[("os", "macos"), ("arch", "aarch64"), ("logical-cores", "8")]),
        ];
        let facts = |os: &str, arch: &str, cores: &str| {
            [("os", os), ("arch", arch), ("logical-cores", cores)].map(|(k, v)| (k.into(), v.into())).into()
        };
        let class = |facts| nearest(&all, &facts).map(|b| b.class.as_str());
        assert_eq!(class(facts("linux", "x86_64", "8")), Some("linux"));
        assert_eq!(class(facts("macos", "aarch64", "2")), Some("mac"));
        assert_eq!(nearest([], &BTreeMap::new()), None);
    }
}
