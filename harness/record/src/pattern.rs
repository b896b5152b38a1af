//! Patterns over benchmark ids.

use std::fmt;
use std::str::FromStr;

use globset::{GlobBuilder, GlobMatcher};
use perfharness_contract::{BenchmarkId, CaseDef, Effort, VariantDef, WorkloadDef};

/// A pattern over benchmark ids: `all`, or one to three globs `workload/case/variant`; missing parts match anything, but
/// only a workload that is spelled out matches one that is measured on request.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    parts: [GlobMatcher; 3],
    /// The workload is spelled out, which selects it even where it is measured on request only.
    literal_workload: bool,
    /// The case is spelled out, which overrides the effort's choice of cases.
    literal_case: bool,
    /// The variant is spelled out, which overrides the effort's choice of variants.
    literal_variant: bool,
}

/// A pattern that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// It has more than three parts, or an empty one.
    #[error(
        "pattern `{text}` is not of the form workload/case/variant; write `all`, `json-logging` or 'json-logging/*/slow'"
    )]
    Form {
        /// The pattern.
        text: String,
    },
    /// One of its globs is broken.
    #[error("pattern `{text}`: {source}")]
    Glob {
        /// The pattern.
        text: String,
        /// Reason, as a clause.
        source: globset::Error,
    },
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let parts: Vec<&str> = if text == "all" { vec!["*"] } else { text.split('/').collect() };
        if parts.len() > 3 || parts.iter().any(|p| p.is_empty()) {
            return Err(PatternError::Form { text: text.into() });
        }
        let glob = |at: usize| {
            let part = parts.get(at).copied().unwrap_or("*");
            let glob = GlobBuilder::new(part).literal_separator(true).build();
            glob.map(|g| g.compile_matcher())
                .map_err(|source| PatternError::Glob { text: text.into(), source })
        };
        let literal = |part: &str| !part.contains(['*', '?', '[', '{', '\\']);
        Ok(Self {
            text: text.into(),
            parts: [glob(0)?, glob(1)?, glob(2)?],
            literal_workload: literal(parts[0]),
            literal_case: parts.get(1).is_some_and(|p| literal(p)),
            literal_variant: parts.get(2).is_some_and(|p| literal(p)),
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Pattern {
    /// Whether it matches a benchmark's id.
    pub fn matches_id(&self, id: &BenchmarkId) -> bool {
        let parts = [&id.workload, &id.case, &id.variant];
        self.parts.iter().zip(parts).all(|(glob, name)| glob.is_match(name.as_str()))
    }

    /// Tells if it matches the name of a workload.
    pub fn matches_workload(&self, name: &str) -> bool {
        self.parts[0].is_match(name)
    }

    /// Whether a run of this effort measures a benchmark that belongs to these efforts.
    pub fn selects(&self, id: &BenchmarkId, efforts: &[Effort], effort: Effort) -> bool {
        let named = self.literal_case || self.literal_variant;
        self.matches_id(id) && (named || efforts.contains(&effort))
    }

    /// Whether it selects a case, at this effort where one is given.
    pub fn matches_case(&self, workload: &WorkloadDef, case: &CaseDef, effort: Option<Effort>) -> bool {
        let asked_for = self.literal_workload || !workload.on_request;
        let selected = self.literal_case || effort.is_none_or(|effort| case.efforts.contains(&effort));
        asked_for
            && selected
            && self.parts[0].is_match(workload.id.as_str())
            && self.parts[1].is_match(case.id.as_str())
    }

    /// Whether it selects a variant, at this effort where one is given.
    pub fn matches_variant(&self, variant: &VariantDef, effort: Option<Effort>) -> bool {
        let selected = self.literal_variant || effort.is_none_or(|effort| variant.efforts.contains(&effort));
        selected && self.parts[2].is_match(variant.id.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_patterns_are_refused() {
        for text in ["", "a/b/c/d", "a//c", "/", "a[/b"] {
            assert!(text.parse::<Pattern>().is_err(), "{text:?}");
        }
    }
}
