//! The pages that commands leave: from files to files. What is in them is decided in [`perfharness_report::render::page`].

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use perfharness_record::baseline::Baseline;
use perfharness_record::baseline::accept::{conditions_of, difference};
use perfharness_record::baseline::calibration::{self, Calibration};
use perfharness_record::baseline::file::{BaselineError, read_all};
use perfharness_record::baseline::nearest::of_machine;
use perfharness_record::compare::{GatePolicy, GateReport, Terms, judge};
use perfharness_record::samples::{MOST_BYTES, Samples, read_named};
use perfharness_record::{RunRecord, SourceState, file};
use perfharness_report::history::{FoundRun, Reports, RunSummary, mark_accepted, read_gate};
use perfharness_report::memory::MemoryIndex;
use perfharness_report::profile::FlameIndex;
use perfharness_report::render::page::view::{Material, index, page};
use perfharness_report::render::page::{render_index, render_page};

use super::Terminal;
use super::memory::FOLDER as MEMORY_FOLDER;
use super::profile::FOLDER;
use crate::exit::CommandError;

/// Makes pages by the same rules, and fails when a record cannot be read or a page not be written.
pub(super) struct Pages<'a> {
    baselines: Vec<Baseline>,
    calibrations: Vec<Calibration>,
    policy: &'a GatePolicy,
    remarks: Vec<String>,
}

/// A page that was made, and what is known of its run.
pub(super) struct Made {
    pub(super) record: RunRecord,
    pub(super) gate: Option<GateReport>,
}

impl<'a> Pages<'a> {
    /// Reads the accepted figures of a folder. A page can do without them, so that a damaged file is a remark.
    pub(super) fn new(baselines: &Path, policy: &'a GatePolicy) -> Self {
        let mut remarks = Vec::new();
        let mut told = |error: BaselineError| remarks.push(error.to_string());
        let calibrations = calibration::read_all(baselines).map_err(&mut told).unwrap_or_default();
        let baselines = read_all(baselines).map_err(&mut told).unwrap_or_default();
        Self { baselines, calibrations, policy, remarks }
    }

    /// Makes the page of a record. What a gate found is read from its file, else found out from accepted figures.
    pub(super) fn make(
        &self,
        record_path: &Path,
        gate_path: Option<&Path>,
        history: &[RunSummary],
        out: &Path,
    ) -> Result<Made, CommandError> {
        let record = file::read(record_path)?;
        let samples = read_samples(record_path, &record);
        let mut remarks = self.remarks.clone();
        let gate = match gate_path.map(read_gate) {
            Some(Ok(gate)) => Some(gate),
            Some(Err(why)) => {
                remarks.push(why);
                None
            }
            None => self.judged(&record, &mut remarks),
        };
        let is_of_commit = matches!(record.source, SourceState::Git { dirty: false, .. });
        if let Some(gate) = gate.as_ref().filter(|gate| gate.run != record.run.id && !is_of_commit) {
            remarks.push(format!(
                "the verdict is that of run {}, the figures are those of run {}, and neither is of a commit: the code may have changed in between",
                gate.run, record.run.id
            ));
        }
        // Beside the record, so that it is there from the page, too, unless that goes somewhere else.
        let is_beside = out.parent() == record_path.parent();
        let (flames, memory) =
            (record_path.with_file_name(FOLDER), record_path.with_file_name(MEMORY_FOLDER));
        let mut remark =
            |folder: &Path, error: String| remarks.push(format!("{}: {error}", folder.display()));
        let read = FlameIndex::read(&flames).map_err(|error| remark(&flames, error.to_string()));
        // Graphs that an earlier run left there are of other code.
        let flames = read.unwrap_or(None).filter(|_| is_beside).map(|flames| flames.of_run(&record.run.id));
        let read = MemoryIndex::read(&memory).map_err(|error| remark(&memory, error.to_string()));
        let memory = read.unwrap_or(None).filter(|_| is_beside);
        let material = Material {
            flames: flames.as_ref().map(|index| (index, FOLDER)),
            memory: memory.as_ref().map(|index| (index, MEMORY_FOLDER)),
            record: &record,
            samples: samples.as_ref().map_err(String::as_str),
            gate: gate.as_ref(),
            history,
            remarks: &remarks,
        };
        let html = render_page(&page(&material)).map_err(anyhow::Error::from)?;
        write(out, &html)?;
        Ok(Made { record, gate })
    }

    /// The record against the accepted figures of its machine class, where there are some that mean the same.
    fn judged(&self, record: &RunRecord, remarks: &mut Vec<String>) -> Option<GateReport> {
        let baseline = of_machine(&self.baselines, &record.machine);
        if baseline.is_none() && record.base.is_none() {
            return None;
        }
        if let Some(baseline) = baseline
            && let Some(what) = difference(&baseline.conditions, &conditions_of(record))
        {
            remarks.push(format!(
                "not held against the accepted figures of {}: this run has another {what}",
                baseline.class
            ));
            return None;
        }
        let calibration = self.calibrations.iter().find(|known| known.class == record.machine.class);
        let (policy, command) = (self.policy, "perfharness gate");
        let terms = Terms { baseline, calibration, policy, command, one_run: false };
        Some(judge(record, &terms))
    }

    /// Makes the page of the commit that a record in the folder of reports belongs to, and the page over all. Whoever
    /// measured has the record; that a page cannot be made is no reason to fail.
    pub(super) fn leave(&self, record: &Path, terminal: &Terminal) {
        let Some((reports, folder)) = place(record) else { return };
        let Some(found) = FoundRun::in_folder(&folder) else { return };
        let known = self.known(&reports);
        let made = known.and_then(|(history, _)| self.one(&reports, &found, &history));
        match made.and_then(|()| self.index_of(&reports)) {
            Ok(_) => terminal.hint(&format!("report: {}", found.page().display())),
            Err(error) => terminal.warn(&error.to_string()),
        }
    }

    /// Makes the pages of all runs in the folder of reports, and the page over all; returns how many runs there are.
    ///
    /// # Errors
    /// When the folder cannot be listed, or a page not be written. A record that cannot be read is told in the index.
    pub(super) fn of_all(&self, reports: &Reports, terminal: &Terminal) -> Result<usize, CommandError> {
        let (history, _) = self.known(reports)?;
        for found in reports.runs().with_context(|| listing(reports))? {
            if let Err(error) = self.one(reports, &found, &history) {
                terminal.warn(&error.to_string());
            }
        }
        self.index_of(reports)
    }

    /// Makes the page over all runs, and tells how many there are. Their summaries are read anew, because those whose
    /// pages were made may have been judged only then.
    fn index_of(&self, reports: &Reports) -> Result<usize, CommandError> {
        let (history, remarks) = self.known(reports)?;
        write_index(&reports.index(), &history, remarks)?;
        Ok(history.len())
    }

    /// The runs in the folder of reports, with what was accepted marked, and what could not be read.
    fn known(&self, reports: &Reports) -> Result<(Vec<RunSummary>, Vec<String>), CommandError> {
        let (mut history, remarks) = reports.summaries().with_context(|| listing(reports))?;
        mark_accepted(&mut history, &self.baselines);
        Ok((history, remarks))
    }

    fn one(&self, reports: &Reports, found: &FoundRun, history: &[RunSummary]) -> Result<(), CommandError> {
        let made = self.make(&found.record, found.gate.as_deref(), history, &found.page())?;
        reports.keep(found, &made.record, made.gate.as_ref());
        Ok(())
    }

    /// Marks what was accepted, and makes the page over these runs.
    pub(super) fn over(&self, mut history: Vec<RunSummary>, out: &Path) -> Result<(), CommandError> {
        mark_accepted(&mut history, &self.baselines);
        write_index(out, &history, Vec::new())
    }
}

/// The folder of reports and that of the commit, for `REPORTS/COMMIT/run.json` and `REPORTS/COMMIT/gate/run.json`.
fn place(record: &Path) -> Option<(Reports, PathBuf)> {
    let folder = record.parent()?;
    let commit = if folder.file_name()? == "gate" { folder.parent()? } else { folder };
    Some((Reports::new(commit.parent()?), commit.to_path_buf()))
}

fn listing(reports: &Reports) -> String {
    format!("cannot list the reports in {}", reports.root().display())
}

fn write_index(path: &Path, history: &[RunSummary], remarks: Vec<String>) -> Result<(), CommandError> {
    let html = render_index(&index(history, remarks)).map_err(anyhow::Error::from)?;
    write(path, &html)
}

fn write(path: &Path, html: &str) -> Result<(), CommandError> {
    file::write_atomically(path, html.as_bytes())
        .map_err(|source| file::RecordError::Write { path: path.into(), source }.into())
}

/// The samples of a record, or why they cannot be had.
pub(super) fn read_samples(record_path: &Path, record: &RunRecord) -> Result<Samples, String> {
    let Some(named) = &record.samples else { return Err("the record names no samples".into()) };
    let path = file::through_links(record_path).with_file_name(&named.file);
    let content = file::read_regular(&path, MOST_BYTES)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    read_named(&content, named).map_err(|error| format!("{}: {error}", path.display()))
}
