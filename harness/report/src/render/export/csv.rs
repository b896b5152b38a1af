//! The raw samples as CSV, for spreadsheets and programs without Parquet.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;

use perfharness_record::RunRecord;
use perfharness_record::samples::{SampleReading, Samples};
use serde::Serialize;

use super::{ExportError, definition};

/// The names of the columns: those of the Parquet file and the unit. docs/export.md describes them.
const HEADER: &str = "workload,case,variant,launch,part,placement,block,round,position,mode,metric,value,unit,iterations,start,flags,dropped,origin\n";

/// One line, in the order of the columns. Numbers that are not finite become `NaN`, `inf` or `-inf`.
#[derive(Serialize)]
struct CsvLine<'a> {
    workload: Cow<'a, str>,
    case: Cow<'a, str>,
    variant: Cow<'a, str>,
    launch: u32,
    part: u32,
    placement: u32,
    block: u32,
    round: u64,
    position: u32,
    mode: &'static str,
    metric: Cow<'a, str>,
    value: f64,
    unit: Cow<'a, str>,
    iterations: u64,
    start: Option<u64>,
    flags: Cow<'a, str>,
    dropped: bool,
    origin: &'static str,
}

pub(super) fn render(record: &RunRecord, samples: &Samples) -> Result<String, ExportError> {
    // The serializer would write the header only with a first line, and a file can have none.
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(HEADER.as_bytes().to_vec());
    let mut units: HashMap<(&str, &str), &str> = HashMap::new();
    for row in samples.rows() {
        let unit = units.entry((row.workload, row.metric)).or_insert_with(|| unit_of(record, &row));
        writer.serialize(line(&row, unit))?;
    }
    let content = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    String::from_utf8(content).map_err(|error| csv::Error::from(io::Error::other(error)).into())
}

/// Returns the unit of a reading; empty if the record does not define the metric.
fn unit_of<'r>(record: &'r RunRecord, row: &SampleReading<'_>) -> &'r str {
    definition(record, row.workload, row.metric).map_or("", |definition| definition.unit.as_str())
}

fn line<'a>(row: &'a SampleReading<'_>, unit: &'a str) -> CsvLine<'a> {
    CsvLine {
        workload: inert(row.workload),
        case: inert(row.case),
        variant: inert(row.variant),
        launch: row.launch,
        part: row.part,
        placement: row.placement,
        block: row.block,
        round: row.round,
        position: row.position,
        mode: row.mode.as_str(),
        metric: inert(row.metric),
        value: row.value,
        unit: inert(unit),
        iterations: row.iterations,
        start: row.start,
        flags: inert(&row.flags),
        dropped: row.dropped,
        origin: row.origin.as_str(),
    }
}

/// Disarms formulas: a text that begins like one gets an apostrophe in front. Names come from the author of the
/// worker, and a formula can start programs or send other cells away. Spreadsheets accept the wide forms of East
/// Asian keyboards as well.
fn inert(text: &str) -> Cow<'_, str> {
    let formula = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];
    if text.starts_with(formula) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}
