//! `perfharness show`

use std::path::Path;

use perfharness_contract::Digest;
use perfharness_record::file::{read_regular, through_links};
use perfharness_record::samples::MOST_BYTES;
use perfharness_record::{RunRecord, file};
use perfharness_report::render::render_record;

use super::Terminal;
use crate::args::ShowOpts;
use crate::exit::{CommandError, CommandResult, Exit};

/// Shows the result of a record again.
pub(super) fn show(opts: &ShowOpts, terminal: &Terminal) -> CommandResult {
    let record = file::read(&opts.record)?;
    if opts.check {
        let problems = problems(&opts.record, &record);
        if !problems.is_empty() {
            let message = format!("{}: {}", opts.record.display(), problems.join("; "));
            return Err(CommandError::Other(anyhow::Error::msg(message)));
        }
        let benchmarks = record.benchmarks.len();
        terminal.hint(&format!("{}: {benchmarks} benchmarks, all accounted for", opts.record.display()));
    }
    if opts.json {
        terminal.print_json(&record)
    } else {
        terminal.print_styled(&render_record(&record, Terminal::layout()))
    }
    .map(|_| Exit::OK)
}

/// Lists the contradictions in a record: a benchmark that is missing or without figures, samples that are not its own.
fn problems(path: &Path, record: &RunRecord) -> Vec<String> {
    let mut problems = Vec::new();
    if record.benchmarks.is_empty() {
        problems.push("it has no benchmark".to_owned());
    }
    for case in &record.cases {
        let of_case = |b: &&perfharness_record::BenchmarkRecord| {
            b.id.workload == case.workload && b.id.case == case.case
        };
        if record.benchmarks.iter().filter(of_case).count() == 0 {
            problems.push(format!("case {}/{} has no benchmark", case.workload, case.case));
        }
    }
    for benchmark in
        record.benchmarks.iter().filter(|b| b.outcome.kind == perfharness_contract::OutcomeKind::Ok)
    {
        let wall = benchmark.metrics.get(perfharness_contract::standard::WALL_TIME);
        if wall.and_then(|m| m.value.value()).is_none_or(|ns| ns <= 0.0) {
            problems.push(format!("{} is ok but has no wall time", benchmark.id));
        }
    }
    match &record.samples {
        None => problems.push("it names no samples".into()),
        Some(samples) => {
            let file = through_links(path).with_file_name(&samples.file);
            match read_regular(&file, MOST_BYTES) {
                Err(error) => problems.push(format!("cannot read its samples {}: {error}", file.display())),
                Ok(content) if Digest::of(&content) != samples.digest => {
                    problems.push(format!("{} holds the samples of another run", file.display()));
                }
                Ok(_) => {}
            }
        }
    }
    problems
}
