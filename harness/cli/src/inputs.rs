//! Readers of everything that this program accepts from others, as bytes: one function for each kind of input, which
//! the fuzzer and the property tests call with damaged content. Each returns whether it accepted the content, and
//! also uses accepted content as far as that is cheap.
//!
//! A panic is a bug, and so is a violated guarantee of the format.

use std::path::Path;

use perfharness_contract::protocol::{
    CheckReply, Description, HelloReply, Prepared, Profile, RequestFrame, ResponseFrame, SampleReply, Trace,
};
use perfharness_contract::serve_on;
use perfharness_engine::journal;
use perfharness_engine::measure::{RunState, has_answer};
use perfharness_record::compare::{GatePolicy, GateReport, Terms, judge};
use perfharness_record::{RunRecord, baseline, file, samples};
use perfharness_report::history::{RunSummary, parse_gate};
use perfharness_report::memory::MemoryIndex;
use perfharness_report::profile::FlameIndex;
use perfharness_report::render::page::view::{Material, index, page as view};
use perfharness_report::render::page::{render_index, render_page};
use perfharness_report::render::{ExportFormat, GateFormat, Layout, export, render_gate, render_record};
use serde::de::DeserializeOwned;

use crate::config::Config;

/// A kind of input: its name, which is also that of its folder of valid inputs, and the function that reads it.
pub type Kind = (&'static str, fn(&[u8]) -> bool);

/// Every kind of input.
pub const KINDS: [Kind; 10] = [
    ("record", record),
    ("page", page),
    ("samples", samples),
    ("baseline", baseline),
    ("calibration", calibration),
    ("journal", journal),
    ("configuration", configuration),
    ("frames", frames),
    ("gate", gate),
    ("index", folder_index),
];

fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok()
}

fn parsed(content: &[u8]) -> Option<RunRecord> {
    file::parse(Path::new("run.json"), text(content)?).ok()
}

fn judged(record: &RunRecord) -> GateReport {
    let policy = GatePolicy::default();
    judge(
        record,
        &Terms {
            baseline: None,
            calibration: None,
            policy: &policy,
            command: "perfharness gate",
            one_run: false,
        },
    )
}

/// Reads a record, writes it and reads it again; judges, renders and exports it.
pub fn record(content: &[u8]) -> bool {
    let Some(record) = parsed(content) else { return false };
    let written = |record: &RunRecord| serde_json::to_string(record).unwrap_or_default();
    let once = written(&record);
    let again = file::parse(Path::new("run.json"), &once);
    assert!(
        again.is_ok_and(|again| written(&again) == once),
        "a record changed when it was written and read again"
    );
    let report = judged(&record);
    let _ = render_gate(&report, GateFormat::Text, Layout::default());
    let _ = render_record(&record, Layout::default());
    for format in [ExportFormat::Bmf, ExportFormat::SmallerIsBetter] {
        let _ = export(&record, None, format);
    }
    true
}

/// Renders the page of a record and the index over it, which takes fifty times as long as the rest.
pub fn page(content: &[u8]) -> bool {
    let Some(record) = parsed(content) else { return false };
    let report = judged(&record);
    let history = vec![RunSummary::new(&record, Some(&report), "index.html".into(), String::new())];
    let material = Material {
        record: &record,
        samples: Err("this test has none"),
        gate: Some(&report),
        flames: None,
        memory: None,
        history: &history,
        remarks: &[],
    };
    let _ = render_page(&view(&material));
    let _ = render_index(&index(&history, Vec::new()));
    true
}

/// Reads raw samples and visits each row.
pub fn samples(content: &[u8]) -> bool {
    let Ok(samples) = samples::read(content) else { return false };
    samples.rows().map(|row| row.flags.len()).sum::<usize>();
    true
}

/// Reads a baseline, which is valid only if it equals what the program would write, except for line endings. A baseline of
/// an earlier format is written in the latest one.
pub fn baseline(content: &[u8]) -> bool {
    let path = Path::new("class.json");
    let Ok(baseline) = baseline::file::parse(path, content) else { return false };
    let due = baseline::file::to_text(&baseline).unwrap_or_default();
    let found = String::from_utf8_lossy(content).replace("\r\n", "\n");
    let is_earlier = found.starts_with("{\n\"format\": 1,");
    assert!(
        is_earlier || found == due,
        "an accepted baseline differs from the text that the program would write"
    );
    assert!(baseline::file::parse(path, due.as_bytes()).is_ok(), "a baseline is refused once it is written");
    true
}

/// Reads a calibration, which is valid only if it equals what the program would write, except for line endings.
pub fn calibration(content: &[u8]) -> bool {
    let path = Path::new("class.calibration.json");
    let Ok(calibration) = baseline::calibration::parse(path, content) else { return false };
    let due = baseline::calibration::to_text(&calibration).unwrap_or_default();
    let found = String::from_utf8_lossy(content).replace("\r\n", "\n");
    assert_eq!(found, due, "an accepted calibration differs from the text that the program would write");
    true
}

/// Replays a journal, as it is and with corrected digests of its lines.
pub fn journal(content: &[u8]) -> bool {
    let path = Path::new("run.journal.jsonl");
    let replay = |content: &[u8]| journal::replay_from(path, content, content.len() as u64);
    for content in [content, &journal::with_digests(content)] {
        let Ok(found) = replay(content) else { continue };
        let mut state = RunState::new(found.header.plan.cases.iter().map(|case| case.sides.len()));
        found.events.iter().for_each(|event| state.apply(event));
        let _ = state.spent_ns();
    }
    replay(content).is_ok_and(|found| found.damage.is_none())
}

/// Reads a `perfharness.toml`.
pub fn configuration(content: &[u8]) -> bool {
    let config = text(content).map(|text| Config::parse(Path::new("perfharness.toml"), text));
    let Some(Ok(config)) = config else { return false };
    let _ = config.workers();
    true
}

/// Reads lines of either direction between harness and worker.
pub fn frames(content: &[u8]) -> bool {
    let answered = serve_on(Vec::new(), content, std::io::sink());
    let mut any = false;
    for line in content.split(|byte| *byte == b'\n') {
        any |= serde_json::from_slice::<RequestFrame>(line).is_ok() || has_answer(line);
        let Ok(ResponseFrame { ok: Some(value), .. }) = serde_json::from_slice(line) else { continue };
        any |= [
            is::<HelloReply>(&value),
            is::<Description>(&value),
            is::<Prepared>(&value),
            is::<SampleReply>(&value),
            is::<CheckReply>(&value),
            is::<Profile>(&value),
            is::<Trace>(&value),
        ]
        .contains(&true);
    }
    any && answered.is_ok()
}

fn is<T: DeserializeOwned>(value: &serde_json::Value) -> bool {
    T::deserialize(value).is_ok()
}

/// Reads the report of a gate and renders it in every format.
pub fn gate(content: &[u8]) -> bool {
    let Some(Ok(report)) = text(content).map(parse_gate) else { return false };
    for format in [GateFormat::Text, GateFormat::Markdown, GateFormat::Github, GateFormat::Junit] {
        let _ = render_gate(&report, format, Layout::default());
    }
    true
}

/// Reads the index of a folder of flame graphs or memory stories.
pub fn folder_index(content: &[u8]) -> bool {
    let Some(text) = text(content) else { return false };
    let (flames, memory) = (FlameIndex::parse(text), MemoryIndex::parse(text));
    flames.is_ok() || memory.is_ok()
}
