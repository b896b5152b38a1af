//! What a worker says about its workloads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{BenchmarkId, ClaimDef, Floor, MetricDef, Name, OutcomeKind};

/// How much time a run may take; selects cases and launches, never the content of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// A first answer within seconds.
    Quick,
    /// What the gate measures.
    Standard,
    /// Everything, however long it takes.
    Thorough,
}

impl Effort {
    /// All efforts, least first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::Thorough];

    /// The word that users type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Thorough => "thorough",
        }
    }
}

/// What a variant stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The document's "before".
    Slow,
    /// The document's "after", literally.
    Documented,
    /// The best we can do.
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

/// Where a hot path is described.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Source {
    /// The document.
    pub document: String,
    /// Its section, where it has some.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub section: String,
}

/// How many things one iteration handles; gives a rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Items {
    /// How many in one iteration.
    pub count: u64,
    /// What they are, in the plural, e.g. `records`.
    pub unit: String,
}

/// One input size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaseDef {
    /// Name within the workload, e.g. `n1000`.
    pub id: Name,
    /// The parameters that make it, e.g. `{"n": 1000}`.
    #[serde(default)]
    pub params: BTreeMap<String, serde_json::Value>,
    /// The efforts that measure it.
    #[serde(default = "all_efforts")]
    pub efforts: Vec<Effort>,
    /// What one iteration handles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Items>,
    /// What one iteration cannot do without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
}

fn all_efforts() -> Vec<Effort> {
    Effort::ALL.to_vec()
}

fn are_all(efforts: &[Effort]) -> bool {
    efforts == Effort::ALL
}

/// One implementation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantDef {
    /// Name within the workload, e.g. `slow`.
    pub id: Name,
    /// What it stands for.
    #[serde(default)]
    pub role: Role,
    /// What it does, in one line.
    #[serde(default)]
    pub summary: String,
    /// The variant that it is compared with; where absent, the one in the role `slow`, else the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Name>,
    /// The efforts that measure it, where they measure the case.
    #[serde(default = "all_efforts", skip_serializing_if = "are_all")]
    pub efforts: Vec<Effort>,
    /// What it needs of the machine, e.g. `gpu`; for people to read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// What a user should know before choosing it, e.g. what a crash loses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caveat: Option<String>,
}

/// What is special about one combination of case and variant; combinations that are not listed are ordinary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchmarkDef {
    /// The case.
    pub case: Name,
    /// The variant.
    pub variant: Name,
    /// Why it is not to be run (here).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip: Option<String>,
    /// The outcome that counts as success.
    #[serde(default = "expect_ok")]
    pub expect: OutcomeKind,
    /// Memory that one placement holds, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What `prepare` and loading a round cost, in ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_ms: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

fn expect_ok() -> OutcomeKind {
    OutcomeKind::Ok
}

impl BenchmarkDef {
    /// An ordinary combination.
    pub fn new(case: Name, variant: Name) -> Self {
        Self { case, variant, skip: None, expect: OutcomeKind::Ok, memory_bytes: None, setup_ms: None }
    }
}

/// What the text of a setting stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SettingKind {
    /// Nothing but itself.
    #[default]
    Text,
    /// A file or folder. In a configuration file it is relative to that file's folder, on the command line to the
    /// folder that the harness is started in.
    Path,
}

/// Something that the user can set for a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SettingDef {
    /// What it is called in `--set NAME=VALUE`. Workloads may share one, such as `images`.
    pub name: Name,
    /// What it is, and what holds without it, in one line.
    #[serde(default)]
    pub summary: String,
    /// What its text stands for.
    #[serde(default)]
    pub kind: SettingKind,
}

/// One hot path: what a worker's `describe` answers for each of its workloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadDef {
    /// Name, unique over all workers of a run.
    pub id: Name,
    /// Version of the definition. It changes whenever an iteration does something else than before; figures of
    /// different versions are never compared.
    pub version: u32,
    /// What it is, in one line.
    #[serde(default)]
    pub summary: String,
    /// Measured only where its name is spelled out: neither `all` nor a pattern with wildcards in its place selects it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub on_request: bool,
    /// Where it is described.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
    /// Input sizes.
    pub cases: Vec<CaseDef>,
    /// Implementations.
    pub variants: Vec<VariantDef>,
    /// Combinations of case and variant that are special.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<BenchmarkDef>,
    /// Metrics that its samples report beside the harness's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricDef>,
    /// Statements to be judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimDef>,
    /// What the user can set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingDef>,
}

impl WorkloadDef {
    /// What is known of one combination; the ordinary one where nothing is listed.
    pub fn benchmark(&self, case: &Name, variant: &Name) -> BenchmarkDef {
        self.benchmarks
            .iter()
            .find(|b| b.case == *case && b.variant == *variant)
            .cloned()
            .unwrap_or_else(|| BenchmarkDef::new(case.clone(), variant.clone()))
    }

    /// The id of one combination.
    pub fn benchmark_id(&self, case: &Name, variant: &Name) -> BenchmarkId {
        BenchmarkId { workload: self.id.clone(), case: case.clone(), variant: variant.clone() }
    }

    /// The variant that `variant` is compared with: the declared one, else the one in the role `slow`, else the
    /// first; `None` for that variant itself.
    pub fn reference_of(&self, variant: &VariantDef) -> Option<&Name> {
        let declared = variant.reference.as_ref().and_then(|id| self.variants.iter().find(|v| v.id == *id));
        let slow = || self.variants.iter().find(|v| v.role == Role::Slow);
        let reference = declared.or_else(slow).or(self.variants.first());
        reference.map(|v| &v.id).filter(|id| **id != variant.id)
    }

    /// Definition of a metric that this workload reports.
    pub fn metric(&self, id: &str) -> Option<&MetricDef> {
        self.metrics.iter().find(|m| m.id == id)
    }

    /// What is wrong with the definition, in words for its author; empty when nothing is.
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
        let known_case = |id: &Name| self.cases.iter().any(|c| c.id == *id);
        let known_variant = |id: &Name| self.variants.iter().any(|v| v.id == *id);
        for variant in &self.variants {
            if let Some(reference) = variant.reference.as_ref().filter(|r| !known_variant(r)) {
                problems
                    .push(format!("variant `{}` refers to the unknown variant `{reference}`", variant.id));
            }
        }
        for b in &self.benchmarks {
            if !known_case(&b.case) || !known_variant(&b.variant) {
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
        for claim in &self.claims {
            for variant in [&claim.reference, &claim.candidate] {
                if !known_variant(variant) {
                    problems.push(format!("claim `{}` names the unknown variant `{variant}`", claim.id));
                }
            }
            for case in claim.cases.iter().filter(|c| !known_case(c)) {
                problems.push(format!("claim `{}` names the unknown case `{case}`", claim.id));
            }
            if self.metric(claim.metric.as_str()).is_none() && !standard.iter().any(|m| m.id == claim.metric)
            {
                problems.push(format!("claim `{}` names the unknown metric `{}`", claim.id, claim.metric));
            }
        }
        problems
    }
}
