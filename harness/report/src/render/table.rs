//! The result of a run as text.

use std::fmt::Write as _;

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};
use perfharness_contract::{BenchmarkId, MetricDef, OutcomeKind, WorkloadDef, standard};
use perfharness_record::plain_text::plain;
use perfharness_record::{
    BenchmarkRecord, CaseEnd, CaseRecord, ClaimRecord, ClaimStatus, MetricRecord, Pairing, RunEnd, RunRecord,
    units,
};
use perfharness_verdict::MIN_LAUNCHES_TO_DECIDE;

use super::claims::{self, ClaimWords};
use super::outcome::{self, SpeedUp};
use super::words;

/// Layout of the text. The text always has styles; the terminal removes them if they are unwanted.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Width in columns.
    pub width: u16,
}

impl Default for Layout {
    fn default() -> Self {
        Self { width: 100 }
    }
}

/// Width of a column of the metrics table.
const METRIC_COLUMN: usize = 15;
/// Width of its first column.
const METRIC_TITLE: usize = 24;

/// Renders the whole result: cases, claims and next steps.
pub fn render_record(record: &RunRecord, layout: Layout) -> String {
    let mut text = String::new();
    for case in &record.cases {
        text.push_str(&render_case(record, case, layout));
        text.push('\n');
    }
    text.push_str(&render_claims(record, layout));
    text.push_str(&render_closing(record, layout));
    text
}

fn table(layout: Layout) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(layout.width);
    table.enforce_styling();
    table
}

fn bold(text: impl ToString) -> Cell {
    Cell::new(text).add_attribute(Attribute::Bold)
}

/// Returns a line of text in bold.
pub fn heading(text: &str) -> String {
    let style = anstyle::Style::new().bold();
    format!("{style}{}{style:#}\n", plain(text))
}

/// Appends the heading of a benchmark's case, unless it is the `last` one.
pub(super) fn case_heading(text: &mut String, last: &mut String, id: &BenchmarkId) {
    let case = format!("{}/{}", id.workload, id.case);
    if case != *last {
        text.push_str(&heading(&case));
        *last = case;
    }
}

fn render_case(record: &RunRecord, case: &CaseRecord, layout: Layout) -> String {
    let Some(workload) = record.workload(&case.workload) else { return String::new() };
    let benchmarks = benchmarks_of(record, case);
    let mut text = heading(&case_title(workload, case));
    for line in wrap(&case_facts(case), layout.width, 2) {
        let _ = writeln!(text, "  {line}");
    }
    let mut rows = table(layout);
    rows.set_header(["variant", "outcome", "wall time", "speed-up"].map(bold));
    for benchmark in &benchmarks {
        rows.add_row([
            Cell::new(&benchmark.id.variant),
            outcome_cell(benchmark),
            Cell::new(time_with_interval(benchmark.metrics.get(standard::WALL_TIME))),
            Cell::new(speed_up(record, workload, benchmark)),
        ]);
    }
    text.push_str(&trimmed(&rows));
    for benchmark in &benchmarks {
        text.push_str(&outcome_details(benchmark, layout));
    }
    text.push_str(&notes(&benchmarks, layout));
    text.push_str(&render_metrics(record, workload, &benchmarks, layout));
    text
}

/// Returns the benchmarks of a case, whether or not they have figures.
pub(super) fn benchmarks_of<'a>(record: &'a RunRecord, case: &CaseRecord) -> Vec<&'a BenchmarkRecord> {
    let of_case = |b: &&BenchmarkRecord| b.id.workload == case.workload && b.id.case == case.case;
    record.benchmarks.iter().filter(of_case).collect()
}

/// Returns those that have figures.
pub(super) fn with_figures<'a>(benchmarks: &[&'a BenchmarkRecord]) -> Vec<&'a BenchmarkRecord> {
    benchmarks.iter().copied().filter(|b| !b.metrics.is_empty()).collect()
}

/// Renders the notes of workers, each distinct note once, and the times that are not believed.
fn notes(benchmarks: &[&BenchmarkRecord], layout: Layout) -> String {
    let notes = benchmarks.iter().flat_map(|b| b.notes.iter().map(|note| (note, b.id.variant.as_str())));
    let mut text = String::new();
    for (note, variants) in grouped(notes) {
        detail(&mut text, &format!("{}: {note}", variants.join(", ")), layout, 2);
    }
    for benchmark in benchmarks {
        for suspicion in &benchmark.suspect {
            let line = format!("{} suspect: {}", benchmark.id.variant, words::suspected(suspicion));
            detail(&mut text, &line, layout, 2);
        }
    }
    text
}

fn case_title(workload: &WorkloadDef, case: &CaseRecord) -> String {
    let facts = case_parameters(workload, case);
    let suffix = if facts.is_empty() { String::new() } else { format!("  ({facts})") };
    format!("{}/{}{suffix}", case.workload, case.case)
}

/// Returns the parameters of a case and the items of one iteration.
pub(super) fn case_parameters(workload: &WorkloadDef, case: &CaseRecord) -> String {
    let definition = workload.case(&case.case);
    let params = definition.map(|c| {
        let each = c.params.iter().map(|(key, value)| match value {
            serde_json::Value::String(text) => format!("{key} {text}"),
            other => format!("{key} {other}"),
        });
        each.collect::<Vec<_>>().join(", ")
    });
    let items = definition
        .and_then(|c| c.items.as_ref())
        .map(|items| format!("{} {} per iteration", units::count(items.count as f64), items.unit));
    let facts: Vec<String> = [params, items].into_iter().flatten().filter(|t| !t.is_empty()).collect();
    facts.join("; ")
}

/// Describes how a case was measured.
pub(super) fn case_facts(case: &CaseRecord) -> String {
    let launches = case.launches.len();
    let end = match &case.end {
        Some(CaseEnd::Precise { .. }) => "precise enough".to_owned(),
        Some(CaseEnd::LastLook { .. }) => "all planned launches made".into(),
        Some(CaseEnd::Budget { launches }) => {
            let few = if *launches < MIN_LAUNCHES_TO_DECIDE { ", too few to decide" } else { "" };
            format!("time budget spent{few}")
        }
        Some(CaseEnd::NothingLeft) => "no side left to measure".into(),
        None => "interrupted".into(),
    };
    let pairing = match case.pairing {
        Some(Pairing::Pairwise) => "; too big to be alive together; measured in pairs with the reference",
        Some(Pairing::Alternating) => "; too big to be alive in pairs; measured in turns",
        Some(Pairing::Together) | None => "",
    };
    let dropped: u64 = case.dropped_blocks.values().sum();
    let dropped = if dropped == 0 {
        String::new()
    } else {
        let causes: Vec<String> =
            case.dropped_blocks.iter().map(|(cause, n)| format!("{cause} {n}")).collect();
        format!("; {dropped} of them dropped ({})", causes.join(", "))
    };
    format!(
        "{}, {} of two rounds{dropped}, {}; {end}{pairing}",
        if launches == 1 { "1 launch".into() } else { format!("{launches} launches") },
        units::counted(case.blocks as usize, "block"),
        units::duration(case.seconds * 1e9)
    )
}

fn outcome_cell(benchmark: &BenchmarkRecord) -> Cell {
    let cell = Cell::new(outcome::word(benchmark));
    if benchmark.succeeded() {
        cell.fg(Color::Green)
    } else if benchmark.failed() {
        cell.fg(Color::Red).add_attribute(Attribute::Bold)
    } else {
        cell.fg(Color::Yellow)
    }
}

/// Explains below the table why a benchmark has no figures, because reasons are too long for a cell.
fn outcome_details(benchmark: &BenchmarkRecord, layout: Layout) -> String {
    let mut text = String::new();
    if let Some(reason) = &benchmark.outcome.reason {
        let line = format!("{} {}: {reason}", benchmark.id.variant, benchmark.outcome.kind.as_str());
        detail(&mut text, &line, layout, 2);
    }
    // Output of a variant before it skips itself explains nothing.
    let skipped = benchmark.outcome.kind == OutcomeKind::Skipped;
    for line in benchmark.outcome.stderr.iter().rev().take(if skipped { 0 } else { 5 }).rev() {
        let cut: String = line.chars().take(layout.width as usize - 6).collect();
        let _ = writeln!(text, "    | {}", plain(&cut));
    }
    for note in benchmark.check.iter().flat_map(|c| &c.notes) {
        detail(&mut text, &format!("{}: {note}", benchmark.id.variant), layout, 2);
    }
    text
}

fn time_with_interval(metric: Option<&MetricRecord>) -> String {
    let Some(metric) = metric else { return "-".into() };
    let Some(value) = metric.value.value() else { return "not measured".into() };
    let center = units::value(&metric.unit, value);
    match metric.interval {
        Some(interval) => {
            let half = (interval.upper - interval.lower) / 2.0 / value;
            format!("{center} ± {}", units::percent(half))
        }
        None => format!("{center} (no interval)"),
    }
}

fn speed_up(record: &RunRecord, workload: &WorkloadDef, benchmark: &BenchmarkRecord) -> String {
    match SpeedUp::of(record, workload, benchmark) {
        SpeedUp::Over { factor, interval: Some(i), variant } => format!(
            "{} over {variant}  [{}, {}]",
            units::factor(factor),
            units::digits(i.lower),
            units::digits(i.upper)
        ),
        SpeedUp::Over { factor, interval: None, variant } => {
            format!("{} over {variant}", units::factor(factor))
        }
        SpeedUp::Reference => "reference".into(),
        SpeedUp::Missing(why) => why,
        SpeedUp::Ended => "-".into(),
    }
}

/// Returns each reason with the metrics that no variant has because of it. A metric that only some variants have is a
/// dash in the table: a variant on the CPU copies nothing to a GPU.
pub(super) fn absences<'a>(
    all: &[&'a MetricDef],
    measured: &[&'a BenchmarkRecord],
) -> Vec<(&'a str, Vec<&'a str>)> {
    let reason = |metric: &MetricDef| {
        let readings = measured.iter().filter_map(|b| b.metrics.get(metric.id.as_str()));
        let reasons: Option<Vec<&str>> = readings.map(|reading| reading.value.absence()).collect();
        reasons?.first().copied()
    };
    grouped(all.iter().filter_map(|metric| Some((reason(metric)?, metric.label()))))
}

/// Renders the metrics that at least one variant has, unless all their values are zero.
fn render_metrics(
    record: &RunRecord,
    workload: &WorkloadDef,
    benchmarks: &[&BenchmarkRecord],
    layout: Layout,
) -> String {
    let measured = with_figures(benchmarks);
    if measured.is_empty() {
        return String::new();
    }
    let all: Vec<&MetricDef> = record.metrics.iter().chain(&workload.metrics).collect();
    let value = |b: &BenchmarkRecord, id: &str| b.metrics.get(id).and_then(|m| m.value.value());
    let says_something = |id: &str| measured.iter().any(|b| value(b, id).is_some_and(|v| v != 0.0));
    let rows: Vec<(String, &str)> = all
        .iter()
        .filter(|m| m.id != standard::WALL_TIME && says_something(m.id.as_str()))
        .map(|m| (m.label().to_owned(), m.id.as_str()))
        .chain(says_something(standard::RATE).then(|| ("rate".to_owned(), standard::RATE)))
        .collect();
    let columns = ((layout.width as usize).saturating_sub(METRIC_TITLE) / METRIC_COLUMN).max(1);
    let mut text = String::new();
    for group in measured.chunks(columns) {
        let mut out = table(layout);
        let names = group.iter().map(|b| bold(&b.id.variant).set_alignment(CellAlignment::Right));
        out.set_header([bold("per iteration")].into_iter().chain(names));
        for (label, id) in &rows {
            let cells = group.iter().map(|b| metric_cell(b.metrics.get(*id)));
            out.add_row([Cell::new(label)].into_iter().chain(cells));
        }
        text.push_str(&trimmed(&out));
    }
    for (reason, labels) in absences(&all, &measured) {
        detail(&mut text, &format!("not measured: {}: {reason}", labels.join(", ")), layout, 2);
    }
    let demoted: Vec<String> = all
        .iter()
        .filter(|m| measured.iter().any(|b| b.metrics.get(m.id.as_str()).is_some_and(|r| r.demoted)))
        .map(|m| m.label().to_owned())
        .collect();
    if !demoted.is_empty() {
        let line = format!("~ exact metrics that differed between launches:  {}", demoted.join(", "));
        detail(&mut text, &line, layout, 2);
    }
    text
}

fn metric_cell(metric: Option<&MetricRecord>) -> Cell {
    Cell::new(metric.and_then(shown).unwrap_or_else(|| "-".into())).set_alignment(CellAlignment::Right)
}

/// Formats the value of a metric, if it has one. A tilde marks an exact metric that differed between launches.
pub(super) fn shown(metric: &MetricRecord) -> Option<String> {
    let text = units::value(&metric.unit, metric.value.value()?);
    Some(if metric.demoted { format!("~{text}") } else { text })
}

fn render_claims(record: &RunRecord, layout: Layout) -> String {
    if record.claims.is_empty() {
        return String::new();
    }
    let mut text = heading("claims");
    // Claims of several cases share a note, which is shown once.
    let mut noted: Vec<&str> = Vec::new();
    for claim in &record.claims {
        let Some(words) = ClaimWords::of(record, claim) else { continue };
        let definition = words.definition;
        let color = match claim.status {
            ClaimStatus::Met => anstyle::AnsiColor::Green,
            ClaimStatus::NotMet => anstyle::AnsiColor::Red,
            ClaimStatus::Undecided | ClaimStatus::NotMeasurable => anstyle::AnsiColor::Yellow,
        };
        let word = claims::status(claim.status);
        let place = claim
            .case
            .as_ref()
            .map_or_else(|| claim.workload.to_string(), |case| format!("{}/{case}", claim.workload));
        let statement = format!("{place}: “{}” ({})", definition.statement, definition.source);
        detail(&mut text, &statement, layout, 2);
        let style = color.on_default();
        let body = wrap(&format!("{word}{}", claim_detail(claim, &words)), layout.width, 6).join("\n    ");
        let _ = writeln!(text, "    {style}{word}{style:#}{}", body.strip_prefix(word).unwrap_or(&body));
        if let Some(note) = definition.note.as_deref().filter(|note| !noted.contains(note)) {
            noted.push(note);
            detail(&mut text, note, layout, 4);
        }
    }
    text.push('\n');
    text
}

fn claim_detail(claim: &ClaimRecord, words: &ClaimWords<'_>) -> String {
    let mut detail = String::new();
    if let Some(measured) = &words.measured {
        let interval = words.interval.as_ref().map_or_else(String::new, |interval| format!(" {interval}"));
        let _ = write!(detail, ": {measured}{interval}, {}", words.sides());
        if let Some(promised) = &words.promised {
            let _ = write!(detail, "; promised {promised}");
        }
    }
    if let Some(reason) = &claim.reason {
        let _ = write!(detail, "{} {reason}", if detail.is_empty() { ":" } else { ";" });
    }
    detail
}

/// Describes how the run spent its time.
fn time_use(record: &RunRecord) -> String {
    let time = record.run.time;
    let part = |seconds: f64, what: &str| format!("{} {what}", units::duration(seconds.max(0.0) * 1e9));
    let mut parts = vec![
        part(time.samples_s, "in timed samples"),
        part(time.blocks_s - time.samples_s, "between them (inputs, lead-in)"),
    ];
    let named = [
        (time.warm_up_s, "for warm-up"),
        (time.processes_s, "for processes"),
        (time.prepare_s, "for preparing"),
        (time.checks_s, "for checks"),
        (time.metered_s, "in metered samples"),
    ];
    let known: Vec<(f64, &str)> =
        named.into_iter().filter_map(|(seconds, what)| Some((seconds?, what))).collect();
    if known.is_empty() {
        // A record of an earlier version knows no more.
        let rest = time.launches_s - time.placements_s - time.blocks_s;
        parts.push(part(time.placements_s, "for set-up and warm-up"));
        parts.push(part(rest, "for processes, checks and metered samples"));
    } else {
        let rest = time.launches_s - time.blocks_s - known.iter().map(|(seconds, _)| seconds).sum::<f64>();
        parts.extend(known.into_iter().chain([(rest, "for the rest")]).map(|(s, what)| part(s, what)));
    }
    let all = units::duration(time.launches_s * 1e9);
    format!("measured for {all} on {}: {}", record.machine.class, parts.join(", "))
}

fn render_closing(record: &RunRecord, layout: Layout) -> String {
    let mut lines = Vec::new();
    for worker in record.workers.iter().filter(|w| w.outcome.kind != OutcomeKind::Ok) {
        let reason = worker.outcome.reason.as_deref().unwrap_or("");
        lines.push(format!("worker {} {}: {reason}", worker.name, worker.outcome.kind.as_str()));
    }
    lines.extend((record.run.time.samples_s > 0.0).then(|| time_use(record)));
    lines.extend(open_questions(record));
    let mut text = String::new();
    for line in lines {
        detail(&mut text, &line, layout, 0);
    }
    text
}

/// Lists the open questions of the run with their next steps.
fn open_questions(record: &RunRecord) -> Vec<String> {
    let mut lines = Vec::new();
    let failed: Vec<String> =
        record.benchmarks.iter().filter(|b| b.failed()).map(|b| b.id.to_string()).collect();
    if !failed.is_empty() {
        lines.push(format!("failed: {}", failed.join(", ")));
    }
    let walls = record.comparisons.iter().filter(|c| c.metric.as_str() == standard::WALL_TIME);
    let open = walls.filter(|c| c.estimate.launches < MIN_LAUNCHES_TO_DECIDE);
    let mut open: Vec<String> = open.map(|c| c.candidate.to_string()).collect();
    // A claim may compare a variant with a second reference.
    open.dedup();
    if !open.is_empty() {
        lines.push(format!(
            "too few launches to decide: {}; allow more with --time-budget or --launches, or measure fewer benchmarks at once",
            open.join(", ")
        ));
    }
    let undecided = record.claims.iter().filter(|c| c.status == ClaimStatus::Undecided).count();
    if undecided > 0 {
        let claims = units::counted(undecided, "claim");
        lines.push(format!("{claims} undecided: measure again with a higher --effort"));
    }
    if record.run.ended == RunEnd::Interrupted {
        lines.push("the run was interrupted; continue it with the same command and --resume".into());
    }
    lines
}

/// Renders the table without the padding at the ends of its lines.
pub(super) fn trimmed(table: &Table) -> String {
    const RESET: &str = "\u{1b}[0m";
    let trim = |line: String| match line.trim_end().strip_suffix(RESET) {
        Some(styled) => format!("{}{RESET}\n", styled.trim_end()),
        None => format!("{}\n", line.trim_end()),
    };
    table.lines().map(trim).collect()
}

/// Appends a text with this indent, as lines of words; a text from outside cannot break them.
pub(super) fn paragraph(text: &mut String, words: &str, layout: Layout, indent: usize) {
    for line in wrap(words, layout.width, indent) {
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

/// Appends a paragraph that leaves a margin of two columns.
fn detail(text: &mut String, words: &str, layout: Layout, indent: usize) {
    paragraph(text, words, Layout { width: layout.width.saturating_sub(2) }, indent);
}

/// Groups values by key, in the order of their first appearance.
pub(super) fn grouped<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Breaks a text into plain lines that leave `indent` columns free; lines after the first are indented by two.
pub fn wrap(text: &str, width: u16, indent: usize) -> Vec<String> {
    let room = (width as usize).saturating_sub(indent).max(20);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in plain(text).split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(std::mem::replace(&mut line, "  ".into()));
            line.push_str(word);
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
}
