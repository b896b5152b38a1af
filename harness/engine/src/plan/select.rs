//! Selection of benchmarks: patterns and effort against the catalog.

use perfharness_contract::{Effort, VariantDef};
use perfharness_record::{Origin, Pattern, Side};

use super::{CaseDesign, CasePlan, Catalog};

/// Why nothing could be selected.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// No benchmark has such an id.
    #[error("no benchmark matches `{pattern}`; {}`perfharness list` shows all", suggestion(.nearest.as_deref()))]
    Unknown {
        /// The pattern.
        pattern: String,
        /// The most similar id, if one is similar.
        nearest: Option<String>,
    },
    /// There are such benchmarks, but not at this effort.
    #[error("`{pattern}` matches no case of effort {effort}; add `--effort {needed}` or name the case")]
    Effort {
        /// The pattern.
        pattern: String,
        /// The effort that was asked for.
        effort: &'static str,
        /// An effort that has cases.
        needed: &'static str,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |id| format!("did you mean `{id}`? "))
}

/// Selected cases and the benchmarks to compare in each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// The cases, in the catalog's order.
    pub cases: Vec<CasePlan>,
}

/// Selects what matches any of the patterns; every pattern must match something.
///
/// # Errors
/// When a pattern matches nothing at all, or nothing at this effort.
pub fn select(catalog: &Catalog, patterns: &[Pattern], effort: Effort) -> Result<Selection, SelectError> {
    for pattern in patterns {
        must_match(catalog, pattern, effort)?;
    }
    let mut cases = Vec::new();
    for entry in &catalog.entries {
        let workload = &entry.definition;
        for case in &workload.cases {
            let matching: Vec<&Pattern> =
                patterns.iter().filter(|p| p.matches_case(workload, case, Some(effort))).collect();
            let selected = |variant: &&VariantDef| {
                matching.iter().any(|pattern| pattern.matches_variant(variant, Some(effort)))
            };
            let variants: Vec<_> = workload.variants.iter().filter(selected).collect();
            let sides: Vec<Side> = variants
                .iter()
                .map(|variant| {
                    let special = workload.benchmark(&case.id, &variant.id);
                    let reference = workload.reference_of(variant);
                    Side {
                        benchmark: workload.benchmark_id(&case.id, &variant.id),
                        origin: Origin::Head,
                        worker: entry.worker,
                        reference: reference.and_then(|r| variants.iter().position(|v| v.id == *r)),
                        skip: special.skip,
                        expect: special.expect,
                        memory_bytes: special.memory_bytes,
                        layout: None,
                    }
                })
                .collect();
            if !sides.is_empty() {
                cases.push(CasePlan {
                    workload: workload.id.clone(),
                    version: workload.version,
                    case: case.id.clone(),
                    sides,
                    design: CaseDesign::default(),
                });
            }
        }
    }
    Ok(Selection { cases })
}

fn must_match(catalog: &Catalog, pattern: &Pattern, effort: Effort) -> Result<(), SelectError> {
    let any = |effort: Option<Effort>| {
        catalog.entries.iter().any(|entry| {
            let workload = &entry.definition;
            workload.cases.iter().any(|case| pattern.matches_case(workload, case, effort))
                && workload.variants.iter().any(|variant| pattern.matches_variant(variant, effort))
        })
    };
    if any(Some(effort)) {
        return Ok(());
    }
    if let Some(needed) = Effort::ALL.into_iter().find(|other| any(Some(*other))) {
        return Err(SelectError::Effort {
            pattern: pattern.to_string(),
            effort: effort.as_str(),
            needed: needed.as_str(),
        });
    }
    Err(SelectError::Unknown {
        pattern: pattern.to_string(),
        nearest: nearest(catalog, &pattern.to_string()),
    })
}

/// The id, of a workload, a case or a benchmark, that is most like a text.
fn nearest(catalog: &Catalog, text: &str) -> Option<String> {
    const SIMILAR: f64 = 0.8;
    let ids = catalog.entries.iter().flat_map(|entry| {
        let workload = &entry.definition;
        let cases = workload.cases.iter().flat_map(|case| {
            let id = format!("{}/{}", workload.id, case.id);
            let variants = workload.variants.iter().map(|v| format!("{}/{}/{}", workload.id, case.id, v.id));
            variants.chain([id.clone()]).collect::<Vec<_>>()
        });
        cases.chain([workload.id.to_string()]).collect::<Vec<_>>()
    });
    ids.map(|id| (strsim::jaro_winkler(&id, text), id))
        .filter(|(similarity, _)| *similarity > SIMILAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn catalog() -> Catalog {
        let definition = serde_json::from_value(json!({
            "id": "sort", "version": 1,
            "cases": [{"id": "n10", "efforts": ["quick", "standard", "thorough"]}, {"id": "n20", "efforts": ["standard"]}],
            "variants": [
                {"id": "slow", "role": "slow"}, {"id": "fast"}, {"id": "other", "reference": "fast"},
                {"id": "rare", "efforts": ["thorough"]}
            ],
            "benchmarks": [{"case": "n10", "variant": "other", "skip": "no"}]
        }));
        let mut catalog = Catalog::default();
        assert_eq!(catalog.add(0, vec![definition.unwrap()]), Vec::<String>::new());
        catalog
    }

    fn ids(patterns: &[&str], effort: Effort) -> Vec<String> {
        let patterns: Vec<Pattern> = patterns.iter().map(|p| p.parse().unwrap()).collect();
        let selection = select(&catalog(), &patterns, effort).unwrap();
        let sides = selection.cases.iter().flat_map(|c| &c.sides);
        sides.map(|s| s.benchmark.to_string()).collect()
    }

    #[test]
    fn efforts_select_cases_unless_one_is_named() {
        let quick = ["sort/n10/slow", "sort/n10/fast", "sort/n10/other"];
        assert_eq!(ids(&["all"], Effort::Quick), quick);
        assert_eq!(ids(&["sort/*"], Effort::Quick), quick);
        assert_eq!(ids(&["all"], Effort::Standard).len(), 6);
        assert_eq!(ids(&["sort/n20/slow"], Effort::Quick), ["sort/n20/slow"]);
    }

    #[test]
    fn efforts_select_variants_unless_one_is_named() {
        assert_eq!(ids(&["sort/n10"], Effort::Quick).len(), 3);
        assert_eq!(ids(&["sort/n10"], Effort::Thorough).len(), 4);
        assert_eq!(ids(&["sort/n10/rare"], Effort::Quick), ["sort/n10/rare"]);
        let patterns = ["sort/*/r*".parse().unwrap()];
        let error = select(&catalog(), &patterns, Effort::Standard).unwrap_err().to_string();
        assert!(error.contains("thorough"), "{error}");
    }

    #[test]
    fn a_workload_on_request_is_selected_by_its_name_alone() {
        let mut catalog = catalog();
        let definition = serde_json::from_value(json!({
            "id": "known", "version": 1, "on_request": true,
            "cases": [{"id": "n10"}], "variants": [{"id": "a"}]
        }));
        catalog.add(0, vec![definition.unwrap()]);
        let workloads = |pattern: &str| -> Result<Vec<String>, SelectError> {
            let selection = select(&catalog, &[pattern.parse().unwrap()], Effort::Quick)?;
            Ok(selection.cases.iter().map(|case| case.workload.to_string()).collect())
        };
        for pattern in ["all", "*", "*/n10"] {
            assert_eq!(workloads(pattern).unwrap(), ["sort"], "{pattern}");
        }
        for pattern in ["known", "known/*", "known/n10/a", "known/*/[ab]"] {
            assert_eq!(workloads(pattern).unwrap(), ["known"], "{pattern}");
        }
        let error = workloads("know*").unwrap_err().to_string();
        assert!(error.contains("did you mean `known`"), "{error}");
    }

    #[test]
    fn patterns_are_globs_for_each_part() {
        assert_eq!(ids(&["s*/n?0/{slow,fast}"], Effort::Quick), ["sort/n10/slow", "sort/n10/fast"]);
        assert_eq!(ids(&["sort/*/slow", "sort/*/slow"], Effort::Quick), ["sort/n10/slow"]);
    }

    #[test]
    fn references_count_only_where_they_are_selected() {
        let patterns = ["sort/n10/*".parse().unwrap()];
        let selection = select(&catalog(), &patterns, Effort::Quick).unwrap();
        let references: Vec<_> = selection.cases[0].sides.iter().map(|s| s.reference).collect();
        assert_eq!(references, [None, Some(0), Some(1)]);
        assert_eq!(selection.cases[0].sides[2].skip.as_deref(), Some("no"));
        let patterns = ["sort/n10/other".parse().unwrap()];
        let selection = select(&catalog(), &patterns, Effort::Quick).unwrap();
        assert_eq!(selection.cases[0].sides[0].reference, None);
    }

    #[test]
    fn what_matches_nothing_is_an_error_with_the_next_step() {
        let error = |text: &str, effort| {
            let patterns: Vec<Pattern> = vec![text.parse().unwrap()];
            select(&catalog(), &patterns, effort).unwrap_err().to_string()
        };
        assert!(error("sotr", Effort::Quick).contains("did you mean `sort`"));
        assert!(error("zzz", Effort::Quick).contains("perfharness list"));
        let message = error("sort/n2*", Effort::Quick);
        assert!(message.contains("--effort standard"), "{message}");
    }
}
