//! Definitions of workloads, as a worker describes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BenchmarkId, ClaimDef, Floor, MetricDef, Name, OutcomeKind};

/// Amount of time that a run may take. It selects cases and launches, and never changes the content of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// A first answer within seconds.
    Quick,
    /// The effort of the gate.
    Standard,
    /// Everything, however long it takes.
    Thorough,
}

impl Effort {
    /// All efforts, from the least to the most.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Thorough];

    /// Returns the word that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Thorough => "thorough",
        }
    }
}

/// Role of a variant in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The document's "before".
    Slow,
    /// The document's "after", literally.
    Documented,
    /// The best implementation that we know.
    Optimized,
    /// Anything else.
    #[default]
    Other,
}

impl Role {
    /// The word that users see and that JSON carries.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Documented => "documented",
            Self::Optimized => "optimized",
            Self::Other => "other",
        }
    }
}

/// Document that describes a hot path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// The document.
    pub document: String,
    /// Section of the document, if it has sections.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
}

/// Number of things that one iteration handles, from which a rate follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Items {
    /// Number of things per iteration.
    pub count: u64,
    /// Name of the things in the plural, e.g. `records`.
    pub unit: String,
}

/// One input size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseDef {
    /// Name within the workload, e.g. `n1000`.
    pub id: Name,
    /// Parameters of the case, e.g. `{"n": 1000}`.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
    /// Efforts that measure the case.
    #[serde(default = "all_efforts")]
    pub efforts: Vec<Effort>,
    /// Number of things that one iteration handles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
    /// Minimum work of one iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
}

fn all_efforts() -> Vec<Effort> {
    Effort::ALL.to_vec()
}

fn are_all(efforts: &[Effort]) -> bool {
    efforts == Effort::ALL
}

/// One implementation of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantDef {
    /// Name within the workload, e.g. `slow`.
    pub id: Name,
    /// Role of the variant.
    #[serde(default)]
    pub role: Role,
    /// Description in one line.
    #[serde(default)]
    pub summary: String,
    /// Variant that it is compared with; if absent, the one in the role `slow`, otherwise the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Name>,
    /// Efforts that measure the variant, if they measure the case.
    #[serde(default = "all_efforts", skip_serializing_if = "are_all")]
    pub efforts: Vec<Effort>,
    /// Requirements on the machine, e.g. `gpu`, for people to read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// Warning that a user should know before choosing the variant, e.g. the data that a crash loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

/// Properties of one combination of case and variant. Combinations that are not listed are ordinary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchmarkDef {
    /// The case.
    pub case: Name,
    /// The variant.
    pub variant: Name,
    /// Reason why it is skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// Outcome that counts as success.
    #[serde(default)]
    pub expect: OutcomeKind,
    /// Memory that one placement holds, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Time that `prepare` and loading a round take, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_ms: Option<u64>,
}

impl BenchmarkDef {
    /// Creates an ordinary combination.
    pub fn new(case: Name, variant: Name) -> Self {
        Self { case, variant, skip: None, expect: OutcomeKind::Ok, memory_bytes: None, setup_ms: None }
    }
}

/// Kind of the text of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
    /// Plain text.
    #[default]
    Text,
    /// A file or folder. In a configuration file it is relative to the folder of that file, on the command line to the
    /// working folder of the harness.
    Path,
}

/// A setting that a workload asks the user for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingDef {
    /// Name in `--set NAME=VALUE`. Workloads may share one, such as `images`.
    pub name: Name,
    /// Description and default in one line.
    #[serde(default)]
    pub summary: String,
    /// Kind of the text.
    #[serde(default)]
    pub kind: SettingKind,
}

/// One hot path, as a worker's answer to `describe` defines it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadDef {
    /// Name, unique over all workers of a run.
    pub id: Name,
    /// Version of the definition. It changes with the work of an iteration; figures of different versions are never
    /// compared.
    pub version: u32,
    /// Description in one line.
    #[serde(default)]
    pub summary: String,
    /// Whether the workload is measured only if its name is spelled out: neither `all` nor a pattern with wildcards in
    /// its place selects it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_request: bool,
    /// Documents that describe the hot path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Input sizes.
    pub cases: Vec<CaseDef>,
    /// Implementations.
    pub variants: Vec<VariantDef>,
    /// Combinations of case and variant with special properties.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<BenchmarkDef>,
    /// Metrics that its samples report in addition to those of the harness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricDef>,
    /// Claims to be judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimDef>,
    /// Settings that the user can set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingDef>,
}

impl WorkloadDef {
    /// Returns the definition of one combination, or the ordinary one if none is listed.
    pub fn benchmark(&self, case: &Name, variant: &Name) -> BenchmarkDef {
        self.benchmarks
            .iter()
            .find(|b| b.case == *case && b.variant == *variant)
            .cloned()
            .unwrap_or_else(|| BenchmarkDef::new(case.clone(), variant.clone()))
    }

    /// Returns a case by its id.
    pub fn case(&self, id: &Name) -> Option<&CaseDef> {
        self.cases.iter().find(|case| case.id == *id)
    }

    /// Returns a variant by its id.
    pub fn variant(&self, id: &Name) -> Option<&VariantDef> {
        self.variants.iter().find(|variant| variant.id == *id)
    }

    /// Returns the id of one combination.
    pub fn benchmark_id(&self, case: &Name, variant: &Name) -> BenchmarkId {
        BenchmarkId { workload: self.id.clone(), case: case.clone(), variant: variant.clone() }
    }

    /// Returns the variant that `variant` is compared with: the declared one, otherwise the one in the role `slow`,
    /// otherwise the first; `None` for that variant itself.
    pub fn reference_of(&self, variant: &VariantDef) -> Option<&Name> {
        let declared = variant.reference.as_ref().and_then(|id| self.variant(id));
        let slow = || self.variants.iter().find(|v| v.role == Role::Slow);
        let reference = declared.or_else(slow).or(self.variants.first());
        reference.map(|v| &v.id).filter(|id| **id != variant.id)
    }

    /// Returns the definition of a metric that this workload reports.
    pub fn metric(&self, id: &str) -> Option<&MetricDef> {
        self.metrics.iter().find(|m| m.id == id)
    }

    /// Returns the errors of the definition, worded for its author; empty if there are none.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut duplicates = |what: &str, ids: Vec<&Name>| {
            for (i, id) in ids.iter().enumerate() {
                if ids[..i].contains(id) {
                    problems.push(format!("{what} `{id}` is defined twice"));
                }
            }
        };
        duplicates("case", self.cases.iter().map(|c| &c.id).collect());
        duplicates("variant", self.variants.iter().map(|v| &v.id).collect());
        duplicates("metric", self.metrics.iter().map(|m| &m.id).collect());
        duplicates("claim", self.claims.iter().map(|c| &c.id).collect());
        duplicates("setting", self.settings.iter().map(|s| &s.name).collect());
        if self.cases.is_empty() {
            problems.push("it has no case".into());
        }
        if self.variants.is_empty() {
            problems.push("it has no variant".into());
        }
        for variant in &self.variants {
            if let Some(reference) = variant.reference.as_ref().filter(|r| self.variant(r).is_none()) {
                problems
                    .push(format!("variant `{}` refers to the unknown variant `{reference}`", variant.id));
            }
        }
        for b in &self.benchmarks {
            if self.case(&b.case).is_none() || self.variant(&b.variant).is_none() {
                problems.push(format!("benchmarks lists the unknown combination `{}/{}`", b.case, b.variant));
            }
        }
        let standard = crate::standard::harness_metrics();
        let reserved =
            |m: &&MetricDef| m.id == crate::standard::RATE || standard.iter().any(|s| s.id == m.id);
        for metric in self.metrics.iter().filter(reserved) {
            problems
                .push(format!("metric `{}` is measured by the harness itself; choose another id", metric.id));
        }
        // Not every program that runs a workload counts its heap; where it does not, the claim is not measurable.
        let known = [standard, crate::standard::heap_metrics()].concat();
        for claim in &self.claims {
            problems.extend(claim.problems());
            for variant in [&claim.reference, &claim.candidate] {
                if self.variant(variant).is_none() {
                    problems.push(format!("claim `{}` names the unknown variant `{variant}`", claim.id));
                }
            }
            for case in claim.cases.iter().filter(|c| self.case(c).is_none()) {
                problems.push(format!("claim `{}` names the unknown case `{case}`", claim.id));
            }
            if self.metric(claim.metric.as_str()).is_none() && !known.iter().any(|m| m.id == claim.metric) {
                problems.push(format!("claim `{}` names the unknown metric `{}`", claim.id, claim.metric));
            }
        }
        problems
    }
}
