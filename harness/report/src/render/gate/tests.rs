//! Tests of each format with a complete report and with hostile names.

use std::collections::BTreeMap;

use perfharness_record::compare::{GateReport, GateRow, Remark};
use perfharness_record::schema::gate_schema;
use perfharness_record::testing::{report, rows};
use perfharness_record::units;
use perfharness_verdict::judge::{Advisory, GateOutcome, Reason};
use proptest::array::uniform8;
use proptest::prelude::*;

use super::{GateFormat, render_gate};
use crate::render::{Layout, words};

fn render(report: &GateReport, format: GateFormat) -> String {
    render_gate(report, format, Layout::default()).unwrap()
}

fn unstyled(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn a_terminal_gets_what_matters_first_and_counts_of_the_rest() {
    insta::assert_snapshot!(unstyled(&render(&report(rows()), GateFormat::Text)));
}

#[test]
fn a_comment_has_one_table_worst_first_and_the_rest_folded() {
    insta::assert_snapshot!(render(&report(rows()), GateFormat::Markdown));
}

#[test]
fn annotations_are_at_most_ten_of_a_kind_and_say_what_they_leave_out() {
    let mut all = rows();
    let slower = all[3].clone();
    all.extend((0..12).map(|at| GateRow { benchmark: format!("spin/s/more-{at:02}"), ..slower.clone() }));
    insta::assert_snapshot!(render(&report(all), GateFormat::Github));
}

#[test]
fn every_row_is_a_test_case() {
    insta::assert_snapshot!(render(&report(rows()), GateFormat::Junit));
}

#[test]
fn json_is_the_report_itself_with_its_words_and_fits_the_published_schema() {
    let report = report(rows());
    let text = render(&report, GateFormat::Json);
    assert_eq!(serde_json::from_str::<GateReport>(&text).unwrap(), words::in_words(&report));
    let schema = jsonschema::validator_for(&gate_schema()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut wrong = value;
    wrong["rows"][0]["judgement"]["verdict"] = "fine".into();
    assert!(!schema.is_valid(&wrong));
}

#[test]
fn a_report_of_format_1_is_shown_in_its_own_words() {
    let text = include_str!("../../../../fuzz/corpus/gate/against-baseline.json");
    let report = crate::history::parse_gate(text).unwrap();
    assert_eq!(report.format, 1);
    let stored: serde_json::Value = serde_json::from_str(text).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&render(&report, GateFormat::Json)).unwrap();
    assert_eq!(shown["remarks"], stored["remarks"]);
    let (shown, stored) = (shown["rows"].as_array().unwrap(), stored["rows"].as_array().unwrap());
    assert_eq!(shown.len(), stored.len());
    for (shown, stored) in shown.iter().zip(stored) {
        assert_eq!(shown["sentence"], stored["sentence"]);
        assert_eq!(shown["diagnosis"], stored["diagnosis"]);
    }
    // The margin of a size was once called its floor.
    let is_size = |row: &&serde_json::Value| row["judgement"]["evidence"]["by"] == "size";
    let margins = shown.iter().filter(is_size).map(|row| &row["judgement"]["evidence"]["margin"]);
    let floors = stored.iter().filter(is_size).map(|row| &row["judgement"]["evidence"]["floor"]);
    assert!(margins.eq(floors) && stored.iter().any(|row| is_size(&row)));
}

#[test]
fn the_sample_holds_every_reason_and_advisory() {
    let rows = rows();
    // There is no wildcard, so that a new reason does not compile until the sample has it.
    let reason = |reason: &Reason| match reason {
        Reason::BeyondThreshold => 0,
        Reason::WithinThreshold => 1,
        Reason::AcrossThreshold => 2,
        Reason::NotWorse => 3,
        Reason::TooFewLaunches { .. } => 4,
        Reason::TooMuchDropped { .. } => 5,
        Reason::NoSpread => 6,
        Reason::NotConfirmed => 7,
        Reason::Unusable { .. } => 8,
        Reason::Missing => 9,
        Reason::Renamed { .. } => 10,
        Reason::Skipped { .. } => 11,
        Reason::NoSamples => 12,
        Reason::Failed { .. } => 13,
        Reason::New => 14,
        Reason::Redefined { .. } => 15,
        Reason::Identical => 16,
        Reason::Changed { .. } => 17,
        Reason::CouldNotSee { .. } => 18,
        Reason::WithinLayouts { .. } => 19,
        Reason::SameInstructions => 20,
        Reason::MaybeLayout { .. } => 21,
    };
    let advisory = |advisory: &Advisory| match advisory {
        Advisory::TooNoisy { .. } => 0,
        Advisory::FewRuns { .. } => 1,
        Advisory::OtherMachineClass => 2,
        Advisory::Exhibit => 3,
        Advisory::Diagnosis => 4,
        Advisory::Acknowledged { .. } => 5,
        Advisory::UnevenSides => 6,
        Advisory::SoftwareAdapter => 7,
        Advisory::NotSlower => 8,
    };
    let count = |mut all: Vec<i32>| {
        all.sort_unstable();
        all.dedup();
        all.len()
    };
    assert_eq!(count(rows.iter().map(|row| reason(&row.judgement.reason)).collect()), 22);
    assert_eq!(count(rows.iter().flat_map(|row| row.judgement.advisory.iter().map(advisory)).collect()), 9);
}

#[test]
fn a_gate_that_compared_nothing_passes_in_no_form() {
    let nothing = GateReport { base_commit: None, baseline: None, ..report(Vec::new()) };
    assert_eq!(nothing.outcome, GateOutcome::NothingCompared);
    let expected = [
        (GateFormat::Text, "nothing was compared: no rows"),
        (GateFormat::Markdown, "### ? perfharness: nothing was compared"),
        (GateFormat::Json, "\"outcome\": \"nothing-compared\""),
        (GateFormat::Junit, "errors=\"1\""),
        (GateFormat::Github, "::error title=perfharness::nothing was compared"),
    ];
    for (format, words) in expected {
        let text = render(&nothing, format);
        assert!(unstyled(&text).contains(words), "{text}");
    }
}

#[test]
fn a_comment_is_never_longer_than_github_takes_and_says_what_is_left_out() {
    let names = ["spin/s/plain".to_owned(), "@".repeat(300), "<!-- ".repeat(100), "\u{1f4a5}".repeat(300)];
    for name in names {
        let mut many = Vec::new();
        for at in 0..100 {
            many.extend(rows().into_iter().map(|row| GateRow {
                benchmark: format!("{}-{at}-{name}", row.benchmark),
                sentence: Some(format!("{}{name}", words::sentence(&row))),
                reproduce: format!("perfharness gate {name}{at}"),
                ..row
            }));
        }
        let report = GateReport {
            remarks: vec![Remark::Told(name.repeat(9)); 99],
            commit: Some(name.repeat(9)),
            run: name.repeat(9),
            machine_class: name.repeat(9),
            ..report(many)
        };
        let text = render(&report, GateFormat::Markdown);
        assert!(text.len() <= 65_000, "{} bytes", text.len());
        let shown = text
            .lines()
            .take_while(|line| !line.contains("<details>"))
            .filter(|l| l.starts_with("| "))
            .count();
        // The head of the table has two lines.
        let left_out =
            format!("{} left out because the comment is full", units::counted(2_900 - (shown - 2), "row"));
        assert!(text.contains(&left_out), "{shown} shown, no {left_out:?} in\n{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }
}

#[test]
fn nothing_is_left_of_markup_mentions_links_and_references() {
    let hostile =
        r#"a"><script>|`@team`|[x](http://evil.example) **b** www.evil.example #12 <!-- --> \| $x$ ~~y~~"#;
    let all = rows().into_iter().map(|row| GateRow {
        sentence: Some(hostile.into()),
        benchmark: hostile.into(),
        ..row
    });
    let text = render(&report(all.take(1).collect()), GateFormat::Markdown);
    insta::assert_snapshot!(text.lines().find(|line| line.contains("script")).unwrap());
}

/// Text with a meaning in Markdown, HTML, GitHub, XML, a terminal or the runner, and arbitrary text.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\">'<script>alert(1)</script>".to_owned()),
        Just("@team ".to_owned()),
        Just("[x](http://evil.example)".to_owned()),
        Just("![](https://evil.example/a.png)".to_owned()),
        Just("www.evil.example".to_owned()),
        Just("a@evil.example".to_owned()),
        Just("fixes #1".to_owned()),
        Just("|\n| a | b |".to_owned()),
        Just("\n\n```\n# heading\n- item\n1. one\n---\n".to_owned()),
        Just("`` ` ``".to_owned()),
        Just("<!-- perfharness -->".to_owned()),
        Just("</details></code></pre>".to_owned()),
        Just("]]>&amp;&#64;&lt;".to_owned()),
        Just("\r\n::error title=x::y".to_owned()),
        Just("%0A::stop-commands::x,y:z".to_owned()),
        Just("\u{1b}[31m\u{9b}1m\u{7}\0\u{202e}\u{fffe}\u{ffff}".to_owned()),
        Just("\\\\|\\`*_{}[]()#+-.!~^$=".to_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// Returns the report with other texts from outside.
fn with_texts(texts: &[String; 8]) -> GateReport {
    let [name, title, sentence, command, remark, commit, class, run] = texts;
    // One row of each weight: deciding, informative, new, undecided and unchanged.
    let kept =
        ["spin/s/slower", "spin/s/faster", "spin/s/added", "spin/s/better", "spin/s/same", "spin/s/skipped"];
    let rows = rows().into_iter().filter(|row| kept.contains(&row.benchmark.as_str()));
    let rows: Vec<GateRow> = rows
        .map(|row| GateRow {
            benchmark: name.clone(),
            title: row.title.map(|_| title.clone()),
            sentence: Some(sentence.clone()),
            reproduce: command.clone(),
            ..row
        })
        .collect();
    let report = report(rows);
    GateReport {
        remarks: vec![Remark::Told(remark.clone())],
        // One word, because the text after a hash would be part of it.
        commit: Some(commit.replace(char::is_whitespace, "")),
        machine_class: class.clone(),
        run: run.clone(),
        ..report
    }
}

fn plain_texts() -> [String; 8] {
    ["x"; 8].map(str::to_owned)
}

/// Removes all characters that cannot form markup. `&`, `#` and `;` form character references.
fn skeleton(text: &str) -> String {
    text.chars()
        .filter(|c| (c.is_ascii_punctuation() && !"&#;,:.-+=/%?'".contains(*c)) || *c == '\n')
        .collect()
}

/// Counts the occurrences of each character.
fn census(text: &str) -> BTreeMap<char, usize> {
    let mut census = BTreeMap::new();
    for c in text.chars() {
        *census.entry(c).or_insert(0) += 1;
    }
    census
}

/// Renders the report in a format with these texts, and with harmless ones.
fn both(texts: &[String; 8], format: GateFormat) -> (String, String) {
    (render(&with_texts(texts), format), render(&with_texts(&plain_texts()), format))
}

fn has_the_same_markup(texts: &[String; 8]) {
    let (text, plain) = both(texts, GateFormat::Markdown);
    assert_eq!(skeleton(&text), skeleton(&plain), "{text}");
    assert!(!text.contains("://") && !text.to_lowercase().contains("www."), "{text}");
    // `#` only starts the heading and character references, which form neither a mention nor a reference.
    let heading = text.find("### ").unwrap();
    assert!(text.match_indices('#').all(|(at, _)| at < heading + 3 || text[..at].ends_with('&')), "{text}");
    for reference in ["&#64;", "&#35;"] {
        assert!(text.split(reference).skip(1).all(|after| after.starts_with("&#8203;")), "{text}");
    }
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

fn has_nothing_to_obey(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control() && c != '\u{202e}')
}

fn is_one_command_a_line(texts: &[String; 8]) {
    let (text, plain) = both(texts, GateFormat::Github);
    assert_eq!(text.lines().count(), plain.lines().count());
    assert!(has_nothing_to_obey(&text), "{text:?}");
    for line in text.lines() {
        let (kind, rest) = line.strip_prefix("::").and_then(|rest| rest.split_once(" title=")).unwrap();
        assert!(["error", "warning", "notice"].contains(&kind), "{line}");
        let (title, _) = rest.split_once("::").unwrap();
        assert!(!title.contains([',', ':']), "{line}");
    }
}

fn is_well_formed(texts: &[String; 8]) {
    let (text, plain) = both(texts, GateFormat::Junit);
    // The numbers of elements and attributes stay the same.
    let (found, due) = (census(&text), census(&plain));
    for structural in ['<', '>', '"'] {
        assert_eq!(found[&structural], due[&structural], "{text}");
    }
    // The characters of XML 1.0.
    let is_legal =
        |c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(is_legal), "{text:?}");
    assert!(has_nothing_to_obey(&text), "{text:?}");
    let read = quick_junit::Report::deserialize_from_str(&text).unwrap();
    assert_eq!(read.test_suites[0].test_cases.len(), with_texts(texts).rows.len());
}

fn is_obeyed_by_no_terminal(texts: &[String; 8]) {
    let (text, plain) = both(texts, GateFormat::Text);
    assert_eq!(text.matches('\u{1b}').count(), plain.matches('\u{1b}').count());
    assert!(unstyled(&text).chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_name_makes_markup_a_link_or_a_mention_in_a_comment(texts in uniform8(hostile())) {
        has_the_same_markup(&texts);
    }

    #[test]
    fn no_name_ends_an_annotation_or_begins_another(texts in uniform8(hostile())) {
        is_one_command_a_line(&texts);
    }

    #[test]
    fn junit_is_well_formed_whatever_names_hold(texts in uniform8(hostile())) {
        is_well_formed(&texts);
    }

    #[test]
    fn no_name_has_power_over_a_terminal(texts in uniform8(hostile())) {
        is_obeyed_by_no_terminal(&texts);
    }
}
