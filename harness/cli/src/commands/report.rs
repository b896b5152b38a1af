//! `perfharness report`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use perfharness_record::file;
use perfharness_report::history::{FoundRun, Reports, RunSummary};
use perfharness_report::render::{ExportFormat, export};

use super::Terminal;
use super::pages::{Pages, read_samples};
use crate::args::ReportOpts;
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit};

/// Makes pages from records alone, or prints a record for another program.
pub(super) fn report(opts: &ReportOpts, config: &Config, terminal: &Terminal) -> CommandResult {
    if let Some(format) = opts.format {
        return print(&opts.records, format, terminal);
    }
    let pages = Pages::new(&opts.folder.baselines, &config.gate);
    let page = match (opts.records.as_slice(), &opts.out) {
        ([], out) => all(&pages, out.as_deref().unwrap_or(Path::new("reports")), terminal)?,
        (records, Some(out)) => into(&pages, records, out)?,
        (records, None) => beside(&pages, records, terminal)?,
    };
    terminal.hint(&format!("report: {}", page.display()));
    if opts.open {
        open::that_detached(&page)
            .with_context(|| format!("cannot start a browser; open {} yourself", page.display()))?;
    }
    Ok(Exit::OK)
}

fn print(records: &[PathBuf], format: ExportFormat, terminal: &Terminal) -> CommandResult {
    let [path] = records else {
        return Err(CommandError::Usage("--format prints one record; name one".into()));
    };
    let record = file::read(path)?;
    let samples = if format.needs_samples() && record.samples.is_some() {
        Some(read_samples(path, &record).map_err(anyhow::Error::msg)?)
    } else {
        None
    };
    terminal.print(&export(&record, samples.as_ref(), format).map_err(anyhow::Error::from)?)
}

/// Every run of the folder of reports.
fn all(pages: &Pages<'_>, folder: &Path, terminal: &Terminal) -> Result<PathBuf, CommandError> {
    let reports = Reports::new(folder);
    if pages.of_all(&reports, terminal)? == 0 {
        let message = format!(
            "there are no records in {}; make one with `perfharness run all`, or name some",
            folder.display()
        );
        return Err(CommandError::Usage(message));
    }
    Ok(reports.index())
}

/// A page beside each record: `index.html` for a `run.json`, else with the record's own name.
fn beside(pages: &Pages<'_>, records: &[PathBuf], terminal: &Terminal) -> Result<PathBuf, CommandError> {
    let mut last = PathBuf::new();
    for (number, record) in records.iter().enumerate() {
        let is_run = record.file_name().is_some_and(|name| name == "run.json");
        last = if is_run { record.with_file_name("index.html") } else { record.with_extension("html") };
        pages.make(record, gate_of(record).as_deref(), &[], &last)?;
        if number + 1 < records.len() {
            terminal.hint(&format!("report: {}", last.display()));
        }
    }
    Ok(last)
}

/// A folder for each record, and a page over all of them.
fn into(pages: &Pages<'_>, records: &[PathBuf], out: &Path) -> Result<PathBuf, CommandError> {
    let mut taken = BTreeSet::new();
    let mut places = Vec::new();
    let mut history = Vec::new();
    for path in records {
        let record = file::read(path)?;
        let wanted = record.source.folder();
        let mut folder = wanted.clone();
        for number in 2.. {
            if taken.insert(folder.clone()) {
                break;
            }
            folder = format!("{wanted}-{number}");
        }
        let gate = gate_of(path).and_then(|path| perfharness_report::history::read_gate(&path).ok());
        history.push(RunSummary::new(&record, gate.as_ref(), format!("{folder}/index.html"), String::new()));
        places.push((path, out.join(folder).join("index.html")));
    }
    for (path, page) in &places {
        pages.make(path, gate_of(path).as_deref(), &history, page)?;
    }
    let index = out.join("index.html");
    pages.over(history, &index)?;
    Ok(index)
}

/// Reads the report of a gate, if its file lies beside the record.
fn gate_of(record: &Path) -> Option<PathBuf> {
    let folder = record.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let here = folder.join(record.file_name()?);
    FoundRun::in_folder(folder).filter(|found| found.record == here)?.gate
}
