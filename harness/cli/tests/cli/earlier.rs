//! Records and a baseline that commit 105c4c4 wrote: they are read, shown, judged and reported as that commit did.
//!
//! `fixtures/earlier` holds a run of built-in workloads and of a Python worker, a gate of that worker against a base that is
//! a third faster and copies once less, figures accepted from five runs and calibrated, and the policy. `answers` holds what
//! the program of that commit made of them; set [`UPDATE`] to such a program to write the answers again. Answers keep
//! verdicts and figures: sentences may be reworded, and an answer may say more than it did, but not less.
//!
//! One answer differs on purpose, see [`RENAMED`], and so does whatever the rule for times decides, in the answers of `gate`
//! and `compare` and on the page of a gate: a time that is too noisy is open because it could not have seen what it must,
//! and not advisory, and what it could have seen takes the place of the smallest effect that it would have found. An
//! open time of a software adapter is advisory. The verdicts on what regressed stayed. Two things did change since, which these files do not show: a gate judges a
//! record by the policy of its base where the repository has that commit, and the journal of an interrupted run cannot be
//! resumed.
//! On the page of a run, the share of a floor on a GPU leaves out bytes that a cache may hold, so that one is 36.6 % for 36.7.
//! Baselines have format 2 since: what format 1 says of a calibration is neither shown nor written again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use perfharness_platform::env;
use rstest::{Context, rstest};
use serde_json::{Value, json};

use crate::fixture::{Done, Harness, PROGRAM};

/// With this variable set to the path of a program, its answers are written instead of compared.
const UPDATE: &str = "PERFHARNESS_UPDATE_EARLIER_ANSWERS";

/// Keys of JSON answers whose values are words, or the version of the format.
const LEFT_OUT: [&str; 7] = ["format", "sentence", "diagnosis", "reproduce", "title", "remarks", "extra"];

/// Keys of JSON answers that have another name in today's answers. By how much a size may change is its margin since format
/// 2 of the report of a gate, because the floor is the least work of a case.
const RENAMED: [(&str, &str); 1] = [("floor", "margin")];

/// Columns of the samples as 105c4c4 printed them.
const COLUMNS: &str = "workload,case,variant,launch,part,placement,block,round,position,mode,metric,value,unit,\
                       iterations,start,flags,dropped,origin";

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/earlier").join(name)
}

/// A folder with the files of the earlier version.
fn with_earlier_files() -> Harness {
    let harness = Harness::new();
    for name in ["run.json", "run.samples.parquet", "against-base.json", "perfharness.toml"] {
        harness.write(name, fs::read(stored(name)).unwrap());
    }
    harness.write("baselines/fixture.json", fs::read(stored("baseline.json")).unwrap());
    // A gate leaves its record and its report side by side.
    harness.write("gated/run.json", fs::read(stored("against-base.json")).unwrap());
    harness.write("gated/gate.json", fs::read(stored("gate.json")).unwrap());
    harness
}

/// The JSON on stdout, without words.
fn json(_: &Harness, done: &Done) -> Value {
    fn reduce(value: &mut Value) {
        match value {
            Value::Object(entries) => {
                entries.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
                for (former, name) in RENAMED {
                    if let Some(value) = entries.remove(former) {
                        entries.insert(name.into(), value);
                    }
                }
                entries.values_mut().for_each(reduce);
            }
            Value::Array(values) => values.iter_mut().for_each(reduce),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut answer = done.json();
    reduce(&mut answer);
    answer
}

/// The occurrences of figures in the text on stdout and stderr.
fn figures(_: &Harness, done: &Done) -> Value {
    figures_of(&format!("{}\n{}", done.stdout, done.stderr))
}

/// The occurrences of figures in what a reader of the page sees beside its plots.
fn page(harness: &Harness, done: &Done) -> Value {
    let path =
        done.stderr.lines().find_map(|line| line.strip_prefix("report: ")).expect("the path of a page");
    let mut text = harness.read(path);
    for element in ["style", "script", "svg"] {
        let (begin, end) = (format!("<{element}"), format!("</{element}>"));
        while let Some(from) = text.find(&begin) {
            let to = text[from..].find(&end).expect("an element ends") + from + end.len();
            text.replace_range(from..to, " ");
        }
    }
    let visible = text.split('<').map(|part| part.split_once('>').map_or(part, |(_tag, text)| text));
    figures_of(&visible.collect::<Vec<_>>().join(" "))
}

fn figures_of(text: &str) -> Value {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut occurrences: BTreeMap<String, bool> = BTreeMap::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation() && !"-+%~".contains(c));
        if word.contains(|c: char| c.is_ascii_digit()) {
            let count = counts.entry(word).or_default();
            *count += 1;
            occurrences.insert(format!("{word} ({count})"), true);
        }
    }
    json!(occurrences)
}

/// The number of samples on stdout, and a digest of them in the columns of the earlier version.
fn samples(_: &Harness, done: &Done) -> Value {
    let mut lines = done.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let at = |column| header.iter().position(|name| *name == column).unwrap_or_else(|| panic!("no {column}"));
    let columns: Vec<usize> = COLUMNS.split(',').map(at).collect();
    let (mut rows, mut text) = (0, String::new());
    for line in lines {
        rows += 1;
        writeln!(text, "{}", columns.iter().map(|at| line[*at]).collect::<Vec<_>>().join(",")).unwrap();
    }
    json!({ "rows": rows, "digest": Digest::of(text.as_bytes()) })
}

/// Digests of the benchmarks of the baseline.
fn benchmarks(harness: &Harness, _: &Done) -> Value {
    let text = harness.read("baselines/fixture.json");
    let lines =
        text.lines().filter_map(|line| Some((line.strip_prefix("{\"id\":\"")?.split('"').next()?, line)));
    json!(lines.map(|(id, line)| (id, Digest::of(line.as_bytes()))).collect::<BTreeMap<_, _>>())
}

/// Insists that an answer has everything that the earlier one had.
#[track_caller]
fn assert_has(place: &str, earlier: &Value, today: &Value) {
    match (earlier, today) {
        (Value::Object(earlier), Value::Object(today)) => {
            for (key, value) in earlier {
                assert_has(&format!("{place}/{key}"), value, today.get(key).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(earlier), Value::Array(today)) => {
            assert_eq!(earlier.len(), today.len(), "entries of {place}");
            for (at, (earlier, today)) in earlier.iter().zip(today).enumerate() {
                assert_has(&format!("{place}/{at}"), earlier, today);
            }
        }
        _ => assert_eq!(earlier, today, "{place}"),
    }
}

/// Reduces what a call did to the answer that is compared.
type Answer = fn(&Harness, &Done) -> Value;

#[rstest]
#[case::show("show run.json", 0, figures)]
#[case::show_against_base("show against-base.json", 0, figures)]
#[case::show_check("show run.json --check", 0, figures)]
#[case::show_check_without_samples("show against-base.json --check", 1, figures)]
#[case::gate("gate run.json --format json", 3, json)]
#[case::gate_text("gate run.json", 3, figures)]
#[case::gate_against_base("gate against-base.json --format json", 3, json)]
#[case::gate_against_base_text("gate against-base.json", 3, figures)]
#[case::compare("compare against-base.json run.json --format json", 0, json)]
#[case::baseline_show("baseline show", 0, figures)]
#[case::baseline_check("baseline check", 0, figures)]
#[case::accept("baseline accept run.json --reason again", 0, benchmarks)]
#[case::page("report run.json", 0, page)]
#[case::page_of_a_gate("report gated/run.json", 0, page)]
#[case::csv("report run.json --format csv", 0, samples)]
#[case::bencher("report run.json --format bencher", 0, json)]
#[case::smaller("report run.json --format github-action-benchmark-smaller", 0, json)]
#[case::bigger("report run.json --format github-action-benchmark-bigger", 0, json)]
fn what_an_earlier_version_wrote_is_read_shown_judged_and_reported_as_before(
    #[context] context: Context,
    #[case] line: &str,
    #[case] code: i32,
    #[case] answer: Answer,
) {
    let harness = with_earlier_files();
    let earlier = env::var(UPDATE);
    let program = earlier.as_deref().unwrap_or(PROGRAM);
    let words: Vec<&str> = line.split_whitespace().collect();
    let done = harness.call_of(harness.command(Path::new(program), &words)).done().code(code);
    let today = answer(&harness, &done);
    let path = stored(&format!("answers/{}.json", context.description.unwrap()));
    if earlier.is_some() {
        fs::write(&path, format!("{today}\n")).unwrap();
    }
    assert_has(line, &serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap(), &today);
}

#[test]
fn a_record_of_an_earlier_version_is_printed_as_it_is() {
    let harness = with_earlier_files();
    let mut record: Value = serde_json::from_str(&harness.read("run.json")).unwrap();
    // The one field that records had once, and that nothing reads.
    for benchmark in record["benchmarks"].as_array_mut().unwrap() {
        if let Some(warm_up) = benchmark.get_mut("warm_up").and_then(Value::as_object_mut) {
            warm_up.remove("first_over_best");
        }
    }
    for line in ["show run.json --json", "report run.json --format json"] {
        assert_eq!(harness.call(line).done().code(0).json(), record, "{line}");
    }
}
