//! Profiles for speedscope: <https://www.speedscope.app/file-format-schema.json>.

use std::collections::BTreeMap;

use perfharness_record::StackProfile;
use serde_json::{Value, json};

/// Encodes one profile; `benchmark` is the root of all stacks.
pub(super) fn speedscope(profile: &StackProfile, benchmark: &str) -> Value {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut frames = Vec::new();
    let mut number = |name| {
        *numbers.entry(name).or_insert_with(|| {
            frames.push(json!({ "name": name }));
            frames.len() - 1
        })
    };
    let mut samples = Vec::new();
    let mut weights = Vec::new();
    for (stack, count) in &profile.stacks {
        let names = std::iter::once(benchmark).chain(stack.iter().map(String::as_str));
        samples.push(names.map(&mut number).collect::<Vec<usize>>());
        weights.push(*count as f64 * profile.period());
    }
    let unit = match profile.unit.as_str() {
        "ns" => "nanoseconds",
        "bytes" => "bytes",
        _ => "none",
    };
    let end: f64 = weights.iter().sum();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("perfharness ", env!("CARGO_PKG_VERSION")),
        "name": benchmark,
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": [{
            "type": "sampled",
            "name": format!("{benchmark}, {} of {} iterations", profile.quantity(), profile.iterations),
            "unit": unit,
            "startValue": 0,
            "endValue": end,
            "samples": samples,
            "weights": weights,
        }],
    })
}

#[cfg(test)]
mod tests {
    use perfharness_record::testing::profile;

    use super::*;

    /// The part of its published schema that covers sampled profiles.
    fn schema() -> Value {
        let number = json!({ "type": "number" });
        let text = json!({ "type": "string" });
        json!({
            "type": "object",
            "required": ["$schema", "profiles", "shared"],
            "properties": {
                "$schema": { "const": "https://www.speedscope.app/file-format-schema.json" },
                "activeProfileIndex": number,
                "exporter": text,
                "name": text,
                "shared": {
                    "type": "object",
                    "required": ["frames"],
                    "properties": { "frames": { "type": "array", "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": { "name": text, "file": text, "line": number, "col": number },
                        "additionalProperties": false
                    } } }
                },
                "profiles": { "type": "array", "items": {
                    "type": "object",
                    "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"],
                    "properties": {
                        "type": { "const": "sampled" },
                        "name": text,
                        "unit": { "enum": ["bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"] },
                        "startValue": number,
                        "endValue": number,
                        "samples": { "type": "array", "items": {
                            "type": "array", "items": { "type": "integer", "minimum": 0 }
                        } },
                        "weights": { "type": "array", "items": number }
                    },
                    "additionalProperties": false
                } }
            },
            "additionalProperties": false
        })
    }

    #[test]
    fn a_file_is_what_the_format_says() {
        let file = speedscope(&profile(10, 1_000.0, &[("run;a;b", 2), ("run;a", 1), ("run", 3)]), "w/c/v");
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let problems: Vec<String> = validator.iter_errors(&file).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        let names: Vec<&str> = file["shared"]["frames"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["w/c/v", "run", "a", "b"]);
        let profile = &file["profiles"][0];
        assert_eq!(profile["samples"], json!([[0, 1], [0, 1, 2], [0, 1, 2, 3]]));
        assert_eq!(profile["weights"], json!([3_000.0, 1_000.0, 2_000.0]));
        assert_eq!(profile["endValue"], json!(6_000.0));
    }

    #[test]
    fn units_that_the_format_does_not_know_are_none() {
        for (unit, due) in [("bytes", "bytes"), ("misses", "none")] {
            let profile = StackProfile { unit: unit.into(), ..profile(1, 1.0, &[("run", 1)]) };
            assert_eq!(speedscope(&profile, "w/c/v")["profiles"][0]["unit"], due);
        }
    }
}
