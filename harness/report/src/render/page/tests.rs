use std::path::Path;

use perfharness_contract::Number;
use perfharness_contract::protocol::Reading;
use perfharness_record::compare::GateReport;
use perfharness_record::{RunRecord, file, testing as sample};
use rstest::rstest;

use super::view::{Material, Page, fragment, index, page};
use super::{render_index, render_page};
use crate::history::{BenchmarkSummary, RunSummary, Standing, mark_accepted};
use crate::memory::MemoryIndex;
use crate::profile::FlameIndex;

/// Names that show whether a page executes them. A name cannot contain a slash; other text can.
const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>&{{7*7}}\u{202e}\u{9b}";
const HOSTILE_NAME: &str = "\"><script>alert(1)<img src=x onerror='alert(2)'>";

fn fixture() -> RunRecord {
    file::parse(Path::new("record.json"), include_str!("../../../../cli/tests/fixtures/record.json")).unwrap()
}

fn view(record: &RunRecord, gate: Option<&GateReport>, history: &[RunSummary]) -> Page {
    page(&Material {
        record,
        samples: Err("they are not needed here"),
        gate,
        flames: None,
        memory: None,
        history,
        remarks: &[],
    })
}

/// The fixture with hostile text wherever a worker or a record can supply text.
fn hostile() -> RunRecord {
    let mut value = serde_json::to_value(fixture()).unwrap();
    poison(&mut value, &[]);
    serde_json::from_value(value).unwrap()
}

/// Keys whose values are words of the format or must keep their form.
const KEPT: [&str; 17] = [
    "kind",
    "pairing",
    "format",
    "effort",
    "role",
    "expected",
    "status",
    "unit",
    "started",
    "finished",
    "digest",
    "input",
    "output",
    "ended",
    "scope",
    "direction",
    "portability",
];

fn poison(value: &mut serde_json::Value, path: &[&str]) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            let last = path.last().copied().unwrap_or_default();
            // Parts of paths have an alphabet, and the reader refuses anything else.
            let is_checked = matches!(last, "commit" | "class" | "file") || path == ["run", "id"];
            if is_checked || KEPT.contains(&last) || path.contains(&"end") || text.parse::<f64>().is_ok() {
                return;
            }
            // Names and ids keep their relations: each gets the same addition.
            *text = match last {
                "id" | "benchmark" if text.matches('/').count() == 2 => {
                    text.split('/').map(|part| format!("{part}{HOSTILE_NAME}")).collect::<Vec<_>>().join("/")
                }
                "candidate" | "reference" if text.contains('/') => {
                    text.split('/').map(|part| format!("{part}{HOSTILE_NAME}")).collect::<Vec<_>>().join("/")
                }
                "workload" | "case" | "variant" | "claim" | "metric" | "candidate" | "reference" | "id"
                | "name" => {
                    format!("{text}{HOSTILE_NAME}")
                }
                _ => format!("{text}{HOSTILE}"),
            };
        }
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, path)),
        Value::Object(entries) => {
            for (key, value) in entries.iter_mut() {
                let path: Vec<&str> = path.iter().copied().chain([key.as_str()]).collect();
                // Keys of the harness's own metrics stay, or the view would find no metric.
                if !matches!(key.as_str(), "metrics" | "efforts" | "cases_of_claim") {
                    poison(value, &path);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Flame graphs of every benchmark, with hostile function names.
fn flames(record: &RunRecord) -> FlameIndex {
    let of = |id: &str| {
        serde_json::json!({
            "id": id, "taken": "t", "outcome": {"kind": "ok"}, "profile": {
                "samples": 2, "period": 1.5, "unit": "ns", "clock": "cpu", "per_iteration": 3.0, "iterations": 1,
                "wall_ns": 4, "hottest": [{"function": HOSTILE, "share": 1.0}],
                "files": [{"format": "svg", "file": "\"><script>alert(1)<.svg"}]
            }
        })
    };
    let ids: Vec<_> = record.benchmarks.iter().map(|b| of(&b.id.to_string())).collect();
    let index = serde_json::json!({"format": 1, "harness": "h", "benchmarks": ids, "differences": []});
    FlameIndex::parse(&index.to_string()).unwrap()
}

/// Memory stories of every benchmark, with hostile words.
fn memory(record: &RunRecord) -> MemoryIndex {
    let of = |id: &str| {
        serde_json::json!({
            "id": id, "taken": "t", "outcome": {"kind": "ok"}, "memory": {
                "verdict": "grows", "sentence": HOSTILE, "asked": 1, "iterations": 1, "iteration_ns": 1.0,
                "series": [], "points": [], "file": "\"><script>alert(1)<.svg"
            }
        })
    };
    let ids: Vec<_> = record.benchmarks.iter().map(|b| of(&b.id.to_string())).collect();
    let index = serde_json::json!({"format": 1, "harness": "h", "benchmarks": ids});
    MemoryIndex::parse(&index.to_string()).unwrap()
}

/// Text from outside stays text: between tags, in attributes and in drawings.
fn assert_inert(html: &str) {
    let body = html.split_once("</style>").unwrap().1;
    let (body, _) = body.rsplit_once("<script>").unwrap();
    assert!(!body.contains("<script"), "a foreign script");
    assert!(!body.contains("<img"), "a foreign element");
    assert!(!body.contains("onerror='") && !body.contains("onerror=\""), "a foreign attribute");
    assert!(!body.contains("javascript:"));
    assert!(!body.contains(['\u{202e}', '\u{9b}']), "a character that turns what follows around");
    assert!(body.contains("{{7*7}}"), "a template in a template, or nothing hostile at all");
}

#[test]
fn the_view_of_a_record_has_what_people_look_for() {
    let gate = sample::report(sample::rows());
    let view = view(&fixture(), Some(&gate), &[]);
    insta::assert_snapshot!("view", serde_json::to_string_pretty(&view).unwrap());
}

#[test]
fn a_page_answers_the_questions_in_their_order() {
    let gate = sample::report(sample::rows());
    let html = render_page(&view(&fixture(), Some(&gate), &[])).unwrap();
    let place = |id: &str| html.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no #{id}"));
    let places = [place("summary"), place("claims"), place("workloads"), place("comparison")];
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn nothing_in_a_page_comes_from_elsewhere() {
    let gate = sample::report(sample::rows());
    let html = render_page(&view(&fixture(), Some(&gate), &[])).unwrap();
    for forbidden in ["src=", "url(", "@import", "<link", "<iframe", "style=\"", "onclick"] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    // The only address is the namespace of SVG.
    let without = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!without.contains("http://") && !without.contains("https://"));
}

#[test]
fn hostile_names_and_messages_are_text_everywhere() {
    let record = hostile();
    let mut rows = sample::rows();
    for row in &mut rows {
        row.benchmark = format!("{HOSTILE_NAME}/{HOSTILE_NAME}/{HOSTILE_NAME}");
        row.title = Some(HOSTILE.into());
        row.unit = Some(HOSTILE.into());
        row.sentence = Some(HOSTILE.into());
        row.reproduce = HOSTILE.into();
    }
    let mut gate = sample::report(rows);
    gate.remarks.push(HOSTILE.to_owned().into());
    gate.machine_class = HOSTILE.into();
    let mut summary = summary("2025-01-01T00:00:00Z", 1.0);
    summary.benchmarks = record
        .benchmarks
        .iter()
        .map(|b| (b.id.to_string(), BenchmarkSummary { wall: Some(1.0), ..BenchmarkSummary::default() }))
        .collect();
    summary.class.clone_from(&record.machine.class);
    let history = [summary.clone(), RunSummary { run: "other".into(), ..summary.clone() }];
    let (flames, memory) = (flames(&record), memory(&record));
    let material = Material {
        record: &record,
        samples: Err(HOSTILE),
        gate: Some(&gate),
        flames: Some((&flames, "flamegraphs")),
        memory: Some((&memory, "memory")),
        history: &history,
        remarks: &[HOSTILE.to_owned()],
    };
    let view = page(&material);
    assert!(view.workloads.iter().any(|w| w.name.contains(HOSTILE_NAME)), "nothing hostile is in the page");
    assert!(view.history.is_some() && !view.claims.is_empty());
    let html = render_page(&view).unwrap();
    assert!(html.contains("memory over iterations"));
    assert_inert(&html);
    // Plots contain names as well.
    let svg = html.split("<svg").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(svg.contains("&lt;script") || svg.contains("&quot;&gt;"), "{svg}");

    let odd = RunSummary {
        name: HOSTILE.into(),
        branch: Some(HOSTILE.into()),
        page: format!("{HOSTILE}/index.html"),
        class: HOSTILE.into(),
        ..summary
    };
    assert_inert(&render_index(&index(&[odd], vec![HOSTILE.into()])).unwrap());
}

#[rstest]
#[case::no_benchmarks(|record: &mut RunRecord| { record.benchmarks.clear(); record.cases.clear(); })]
#[case::no_workloads(|record: &mut RunRecord| record.workloads.clear())]
#[case::no_claims(|record: &mut RunRecord| record.claims.clear())]
#[case::no_facts(|record: &mut RunRecord| record.machine.facts.clear())]
#[case::odd_times(|record: &mut RunRecord| record.run.started = "yesterday".into())]
#[case::no_metrics(|record: &mut RunRecord| record.benchmarks.iter_mut().for_each(|b| b.metrics.clear()))]
#[case::only_nan(|record: &mut RunRecord| values(record, f64::NAN))]
#[case::only_infinity(|record: &mut RunRecord| values(record, f64::INFINITY))]
#[case::only_zero(|record: &mut RunRecord| values(record, 0.0))]
#[case::only_negative(|record: &mut RunRecord| values(record, -1.0))]
#[case::only_tiny(|record: &mut RunRecord| values(record, 1e-300))]
#[case::only_huge(|record: &mut RunRecord| values(record, 1e300))]
fn a_record_with_odd_values_in_every_place_still_gives_a_page(#[case] edit: fn(&mut RunRecord)) {
    let mut record = fixture();
    edit(&mut record);
    let html = render_page(&view(&record, None, &[])).unwrap();
    assert!(html.ends_with("</html>\n") || html.ends_with("</html>"), "the page is whole");
    let drawings = html.matches("<svg").count();
    assert_eq!(drawings, html.matches("</svg>").count());
    for number in html.split(['x', 'y', 'r', 'd']).filter_map(|part| part.strip_prefix("=\"")) {
        assert!(!number.starts_with("NaN") && !number.starts_with("inf"), "{}", &number[..20]);
    }
}

/// Replaces every value.
fn values(record: &mut RunRecord, value: f64) {
    for metric in record.benchmarks.iter_mut().flat_map(|b| b.metrics.values_mut()) {
        metric.value = Reading::Value(Number(value));
        metric.launches = vec![Number(value); 8];
        metric.interval = Some(perfharness_verdict::Interval { lower: value, upper: value });
    }
    for comparison in &mut record.comparisons {
        comparison.estimate.theta = value;
        comparison.smallest_detectable = Some(value);
    }
    for claim in &mut record.claims {
        claim.measured = Some(Number(value));
    }
}

#[test]
fn fragments_need_no_escaping_and_different_names_have_different_ones() {
    let names = ["a/b", "a-b", "a b", "a\"b", "a'b", "ä", "", "a/b/c", "a/b-c", "a-b/c"];
    let mut fragments: Vec<String> = names.iter().map(|name| fragment("case", name)).collect();
    assert!(fragments.iter().all(|a| a.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))));
    fragments.sort();
    fragments.dedup();
    assert_eq!(fragments.len(), names.len());
}

#[test]
fn every_link_within_a_page_has_its_place() {
    let gate = sample::report(sample::rows());
    let html = render_page(&view(&fixture(), Some(&gate), &[])).unwrap();
    let body = html.rsplit_once("<script>").unwrap().0;
    let links: Vec<&str> = body.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 8, "{links:?}");
    for link in links {
        assert!(body.contains(&format!("id=\"{link}\"")), "#{link}");
    }
    let mut ids: Vec<&str> = body.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id is there twice");
}

fn summary(started: &str, wall: f64) -> RunSummary {
    let figures = BenchmarkSummary { wall: Some(wall), ..BenchmarkSummary::default() };
    RunSummary {
        format: 1,
        of: String::new(),
        run: format!("run-{started}"),
        started: started.into(),
        name: "0123456789ab".into(),
        branch: Some("main".into()),
        class: "a-class".into(),
        page: "0123456789ab/index.html".into(),
        standing: Standing::Measured,
        tally: None,
        benchmarks: [("w/c/v".to_owned(), figures)].into(),
    }
}

#[test]
fn the_index_has_the_latest_run_first_and_trends_from_the_oldest() {
    let days = ["2025-01-03", "2025-01-01", "2025-01-02"];
    let mut runs: Vec<RunSummary> = days
        .iter()
        .zip([3.0, 1.0, 2.0])
        .map(|(day, wall)| summary(&format!("{day}T00:00:00Z"), wall))
        .collect();
    mark_accepted(&mut runs, &[]);
    let view = index(&runs, Vec::new());
    assert_eq!(view.runs[0].when, "2025-01-03 00:00");
    let trend = &view.machines[0].trends[0];
    assert_eq!(trend.points.iter().map(|p| p.wall).collect::<Vec<_>>(), [1.0, 2.0, 3.0]);
    assert_eq!((trend.latest.value, trend.change.text.as_str()), (Some(3.0), "+50.0 %"));
}

#[test]
fn times_of_another_machine_class_are_no_trend() {
    let here = summary("2025-01-01T00:00:00Z", 1.0);
    let there = RunSummary { class: "another".into(), ..summary("2025-01-02T00:00:00Z", 9.0) };
    let view = index(&[here, there], Vec::new());
    assert_eq!(view.machines.iter().map(|m| m.class.as_str()).collect::<Vec<_>>(), ["another", "a-class"]);
    assert!(view.machines.iter().all(|m| m.trends[0].points.len() == 1));
}

#[test]
fn many_runs_are_gathered_and_none_of_their_marks_is_lost() {
    let mut runs: Vec<RunSummary> =
        (0..1000).map(|i| summary(&format!("2025-01-01T00:{:02}:{:02}Z", i / 60, i % 60), 5.0)).collect();
    runs[617].benchmarks.get_mut("w/c/v").unwrap().regressed = true;
    let view = index(&runs, Vec::new());
    let trend = &view.machines[0].trends[0];
    assert_eq!((trend.runs, trend.points.len()), (1000, 120));
    assert_eq!(trend.points.iter().filter(|p| p.regressed).count(), 1);
}

#[test]
fn work_on_a_gpu_is_bound_by_its_ceilings_also_without_its_busy_time() {
    // Gives the benchmark `sort/n10/slow` a floor that is above the caches of a device, and shows what bounds it.
    let bound = |needs: &[&str], metrics: &[(&str, serde_json::Value)]| {
        let mut value = serde_json::to_value(fixture()).unwrap();
        let workload = &mut value["workloads"][1];
        workload["cases"][0]["floor"] = serde_json::json!({"device_bytes": 1e9});
        workload["variants"][0]["needs"] = serde_json::json!(needs);
        let benchmarks = value["benchmarks"].as_array_mut().unwrap();
        let slow = benchmarks.iter_mut().find(|benchmark| benchmark["id"] == "sort/n10/slow").unwrap();
        for (id, reading) in metrics {
            let mut metric = slow["metrics"]["wall-time"].clone();
            metric["value"] = reading.clone();
            slow["metrics"][*id] = metric;
        }
        let record: RunRecord = serde_json::from_value(value).unwrap();
        let page = serde_json::to_string(&view(&record, None, &[])).unwrap();
        (page.contains("(device-copy)"), page.contains("(host-copy)"))
    };
    let hidden = ("gpu-busy", serde_json::json!({"absent": "no timestamp queries around copies"}));
    assert_eq!(bound(&["gpu"], std::slice::from_ref(&hidden)), (true, false), "it needs one");
    assert_eq!(bound(&[], &[hidden.clone(), ("dispatches", 5.0.into())]), (true, false), "it dispatches");
    assert_eq!(bound(&[], &[("gpu-busy", 400.0.into())]), (true, false), "a device was busy");
    assert_eq!(bound(&[], &[hidden, ("dispatches", 0.0.into())]), (false, true), "it computes on the host");
}
