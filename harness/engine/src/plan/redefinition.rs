//! Definitions of a change against those of its base: the base's hold, and each difference is told.

use perfharness_contract::{BenchmarkDef, CaseDef, MetricDef, SettingDef, VariantDef, WorkloadDef};
use perfharness_record::Redefinition;
use serde::Serialize;

use super::{Catalog, CatalogEntry};

/// The workloads of a change as its base defines them, as far as it has them in the same version, and what the change says
/// otherwise. What is new in the change stays as it is there.
pub fn defined_by_base(head: &Catalog, base: &Catalog) -> (Catalog, Vec<Redefinition>) {
    let mut redefinitions = Vec::new();
    let entry = |entry: &CatalogEntry| {
        let theirs = &entry.definition;
        let before = base.definition(theirs.id.as_str()).filter(|before| before.version == theirs.version);
        let definition = before.map_or_else(
            || theirs.clone(),
            |before| {
                let mut changes = Vec::new();
                let merged = merged(before, theirs, &mut changes);
                if !changes.is_empty() {
                    redefinitions.push(Redefinition { subject: theirs.id.to_string(), changes });
                }
                merged
            },
        );
        CatalogEntry { worker: entry.worker, definition }
    };
    let entries = head.entries.iter().map(entry).collect();
    (Catalog { workers: head.workers.clone(), entries }, redefinitions)
}

fn merged(base: &WorkloadDef, head: &WorkloadDef, changes: &mut Vec<String>) -> WorkloadDef {
    differ(changes, "whether it is measured on request", &base.on_request, &head.on_request);
    let case = |theirs: &CaseDef| {
        let Some(ours) = base.cases.iter().find(|case| case.id == theirs.id) else { return theirs.clone() };
        let of = |what: &str| format!("{what} of case `{}`", theirs.id);
        differ(changes, &of("the parameters"), &ours.params, &theirs.params);
        differ(changes, &of("the efforts"), &ours.efforts, &theirs.efforts);
        differ(changes, &of("the items"), &ours.items, &theirs.items);
        differ(changes, &of("the floor"), &ours.floor, &theirs.floor);
        ours.clone()
    };
    let cases: Vec<CaseDef> = head.cases.iter().map(case).collect();
    let variant = |theirs: &VariantDef| {
        let Some(ours) = base.variants.iter().find(|variant| variant.id == theirs.id) else {
            return theirs.clone();
        };
        let of = |what: &str| format!("{what} of variant `{}`", theirs.id);
        differ(changes, &of("the role"), &ours.role, &theirs.role);
        differ(changes, &of("the reference"), &ours.reference, &theirs.reference);
        differ(changes, &of("the efforts"), &ours.efforts, &theirs.efforts);
        differ(changes, &of("the needs"), &ours.needs, &theirs.needs);
        ours.clone()
    };
    let variants: Vec<VariantDef> = head.variants.iter().map(variant).collect();
    let known = |case: &CaseDef, variant: &VariantDef| {
        base.cases.iter().any(|c| c.id == case.id) && base.variants.iter().any(|v| v.id == variant.id)
    };
    let mut benchmarks = Vec::new();
    for (case, variant) in cases.iter().flat_map(|case| variants.iter().map(move |variant| (case, variant))) {
        let theirs = head.benchmark(&case.id, &variant.id);
        let special = if known(case, variant) {
            let ours = base.benchmark(&case.id, &variant.id);
            let what = format!("the expected outcome of `{}/{}`", case.id, variant.id);
            differ(changes, &what, &ours.expect, &theirs.expect);
            BenchmarkDef {
                // What the change leaves out is not run, and accounted for as what it is.
                skip: theirs.skip,
                memory_bytes: ours.memory_bytes.max(theirs.memory_bytes),
                setup_ms: ours.setup_ms.max(theirs.setup_ms),
                ..ours
            }
        } else {
            theirs
        };
        if special != BenchmarkDef::new(case.id.clone(), variant.id.clone()) {
            benchmarks.push(special);
        }
    }
    let metric = |ours: &MetricDef| {
        match head.metric(ours.id.as_str()) {
            None => changes.push(format!("metric `{}` is not reported any more", ours.id)),
            Some(theirs) => {
                let of = |what: &str| format!("the {what} of metric `{}`", ours.id);
                differ(changes, &of("unit"), &ours.unit, &theirs.unit);
                differ(changes, &of("kind"), &ours.kind, &theirs.kind);
                differ(changes, &of("direction"), &ours.direction, &theirs.direction);
                differ(changes, &of("scope"), &ours.scope, &theirs.scope);
                differ(changes, &of("portability"), &ours.portability, &theirs.portability);
                differ(changes, &of("use as a work counter"), &ours.work, &theirs.work);
                differ(changes, &of("version"), &ours.version, &theirs.version);
            }
        }
        ours.clone()
    };
    let metrics: Vec<MetricDef> = base.metrics.iter().map(metric).collect();
    let fresh = head.metrics.iter().filter(|theirs| base.metric(theirs.id.as_str()).is_none());
    let metrics = metrics.into_iter().chain(fresh.cloned()).collect();
    let setting = |theirs: &SettingDef| match base.settings.iter().find(|ours| ours.name == theirs.name) {
        None => theirs.clone(),
        Some(ours) => {
            differ(changes, &format!("the kind of setting `{}`", ours.name), &ours.kind, &theirs.kind);
            SettingDef { kind: ours.kind, ..theirs.clone() }
        }
    };
    let settings: Vec<SettingDef> = head.settings.iter().map(setting).collect();
    for ours in base.settings.iter().filter(|ours| settings.iter().all(|s| s.name != ours.name)) {
        changes.push(format!("setting `{}` is not asked for any more", ours.name));
    }
    WorkloadDef {
        on_request: base.on_request,
        cases,
        variants,
        benchmarks,
        metrics,
        settings,
        ..head.clone()
    }
}

/// As a definition is written in the protocol; a text without its quotes, and nothing for what is absent.
fn json(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(serde_json::Value::Null) | Err(_) => "absent".into(),
        Ok(value) => value.to_string(),
    }
}

fn differ<T: PartialEq + Serialize>(changes: &mut Vec<String>, what: &str, base: &T, head: &T) {
    if base != head {
        changes.push(format!("{what}: {} in the base, {} here", json(base), json(head)));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn definition() -> Value {
        json!({
            "id": "sort", "version": 1,
            "cases": [{"id": "n1", "params": {"n": 1}}, {"id": "n2"}],
            "variants": [{"id": "slow", "role": "slow"}, {"id": "fast"}],
            "metrics": [{"id": "copies", "unit": "count", "kind": "exact", "direction": "lower"}],
            "settings": [{"name": "images", "kind": "path"}],
        })
    }

    fn catalog(definition: &Value) -> Catalog {
        let mut catalog = Catalog::default();
        let definition = serde_json::from_value(definition.clone()).unwrap();
        assert_eq!(catalog.add(0, vec![definition]), Vec::<String>::new());
        catalog
    }

    #[rstest]
    #[case::role("/variants/1/role", json!("slow"), "role of variant `fast`: other in the base, slow here")]
    #[case::reference("/variants/1/reference", json!("fast"), "reference of variant `fast`: absent in the base, fast here")]
    #[case::direction("/metrics/0/direction", json!("neutral"), "direction of metric `copies`: lower in the base, neutral here")]
    #[case::kind("/metrics/0/kind", json!("time"), "kind of metric `copies`: exact in the base, time here")]
    #[case::unit("/metrics/0/unit", json!("ns"), "unit of metric `copies`")]
    #[case::scope("/metrics/0/scope", json!("launch"), "scope of metric `copies`")]
    #[case::work("/metrics/0/work", json!(true), "work counter")]
    #[case::metered("/metrics/0/version", json!(2), "version of metric `copies`: 1 in the base, 2 here")]
    #[case::parameters("/cases/0/params", json!({"n": 0}), "parameters of case `n1`")]
    #[case::efforts("/cases/0/efforts", json!(["thorough"]), "efforts of case `n1`")]
    #[case::variants("/variants/1/efforts", json!([]), "efforts of variant `fast`")]
    #[case::on_request("/on_request", json!(true), "on request: false in the base, true here")]
    #[case::expected("/benchmarks", json!([{"case": "n1", "variant": "fast", "expect": "crashed"}]),
        "expected outcome of `n1/fast`: ok in the base, crashed here")]
    #[case::gone("/metrics", json!([]), "metric `copies` is not reported any more")]
    #[case::setting("/settings/0/kind", json!("text"), "kind of setting `images`: path in the base, text here")]
    fn the_base_defines_and_a_difference_is_told(
        #[case] place: &str,
        #[case] value: Value,
        #[case] says: &str,
    ) {
        let base = definition();
        let mut head = definition();
        let (above, name) = place.rsplit_once('/').unwrap();
        head.pointer_mut(above).unwrap()[name] = value;
        let (merged, found) = defined_by_base(&catalog(&head), &catalog(&base));
        let [only] = found.as_slice() else { panic!("{found:?}") };
        assert!(only.subject == "sort" && only.changes.len() == 1, "{only:?}");
        assert!(only.changes[0].contains(says), "{only:?}");
        assert_eq!(merged.entries, catalog(&base).entries);
    }

    #[test]
    fn what_is_new_stays_and_what_is_gone_is_gone() {
        let base = definition();
        let mut head = definition();
        head["cases"] = json!([{"id": "n2"}, {"id": "n3"}]);
        head["variants"].as_array_mut().unwrap().push(json!({"id": "faster"}));
        head["metrics"]
            .as_array_mut()
            .unwrap()
            .push(json!({"id": "syncs", "unit": "count", "kind": "exact"}));
        let (merged, found) = defined_by_base(&catalog(&head), &catalog(&base));
        assert_eq!(found, []);
        assert_eq!(merged.entries, catalog(&head).entries);
    }

    #[test]
    fn what_the_change_leaves_out_stays_left_out() {
        let mut head = definition();
        head["benchmarks"] = json!([{"case": "n1", "variant": "fast", "skip": "flaky"}]);
        let (merged, _) = defined_by_base(&catalog(&head), &catalog(&definition()));
        assert_eq!(merged.entries, catalog(&head).entries);
    }

    #[test]
    fn another_version_is_another_definition() {
        let mut head = definition();
        head["version"] = json!(2);
        head["variants"][1]["role"] = json!("slow");
        let (merged, found) = defined_by_base(&catalog(&head), &catalog(&definition()));
        assert_eq!((merged.entries, found), (catalog(&head).entries, Vec::new()));
    }
}
