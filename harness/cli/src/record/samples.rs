//! The raw samples of a run as a Parquet file: one row for each reading of each sample.

use std::io;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use perfharness_contract::protocol::Mode;
use perfharness_contract::standard;

use crate::measure::{Flag, RunState, SampleEvent};
use crate::plan::Plan;

/// The columns. Times are in ns; `start` is on the harness's monotonic clock, one for the whole run.
const SCHEMA: &str = "
message samples {
    required binary workload (UTF8);
    required binary case (UTF8);
    required binary variant (UTF8);
    required int32 launch;
    required int32 part;
    required int32 placement;
    required int32 block;
    required int64 round;
    required int32 position;
    required binary mode (UTF8);
    required binary metric (UTF8);
    required double value;
    required int64 iterations;
    optional int64 start;
    required binary flags (UTF8);
    required boolean dropped;
}";

/// One row: a reading of a sample. `value` is in the metric's unit: for one iteration where the metric adds up over
/// iterations and is timed, else as the worker reported it.
struct Row<'a> {
    side: &'a perfharness_contract::BenchmarkId,
    sample: &'a SampleEvent,
    metric: &'a str,
    value: f64,
    dropped: bool,
}

/// Encodes all samples; returns the file's content and its rows.
///
/// # Errors
/// When the encoder refuses, which would be a bug.
pub fn encode(plan: &Plan, state: &RunState) -> io::Result<(Vec<u8>, u64)> {
    let rows = rows(plan, state);
    let count = rows.len() as u64;
    write(&rows).map(|content| (content, count)).map_err(io::Error::other)
}

fn rows<'a>(plan: &'a Plan, state: &'a RunState) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (case_plan, case) in plan.cases.iter().zip(&state.cases) {
        let mut add = |sample: &'a SampleEvent, dropped: bool| {
            let Some(side) = case_plan.sides.get(sample.side).map(|s| &s.benchmark) else { return };
            let mut row = |metric, value| rows.push(Row { side, sample, metric, value, dropped });
            if sample.mode == Mode::Timed {
                row(standard::WALL_TIME, sample.iteration_ns());
                if let Some(cpu) = sample.iteration_cpu_ns() {
                    row(standard::CPU_TIME, cpu);
                }
            }
            for (metric, reading) in &sample.readings {
                if let Some(value) = reading.value() {
                    row(metric.as_str(), value);
                }
            }
        };
        case.samples.iter().for_each(|row| add(&row.sample, row.dropped.is_some()));
        case.sides.iter().flat_map(|side| &side.metered).for_each(|row| add(&row.sample, false));
    }
    rows
}

fn write(rows: &[Row<'_>]) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut next = 0;
    while let Some(mut column) = group.next_column()? {
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(typed) => {
                let text = |row: &Row<'_>| ByteArray::from(text_column(next, row).as_str());
                typed.write_batch(&rows.iter().map(text).collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::Int32ColumnWriter(typed) => {
                let int = |row: &Row<'_>| int_column(next, row);
                typed.write_batch(&rows.iter().map(int).collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::Int64ColumnWriter(typed) => {
                let values: Vec<Option<i64>> = rows.iter().map(|row| long_column(next, row)).collect();
                let present: Vec<i64> = values.iter().copied().flatten().collect();
                let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
                // Required columns ignore the levels' absence; `start` is the one optional column.
                let levels = (next == START).then_some(levels);
                typed.write_batch(&present, levels.as_deref(), None)?;
            }
            ColumnWriter::DoubleColumnWriter(typed) => {
                typed.write_batch(&rows.iter().map(|row| row.value).collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::BoolColumnWriter(typed) => {
                typed.write_batch(&rows.iter().map(|row| row.dropped).collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::Int96ColumnWriter(_)
            | ColumnWriter::FloatColumnWriter(_)
            | ColumnWriter::FixedLenByteArrayColumnWriter(_) => {
                return Err(ParquetError::General("the schema has no such column".into()));
            }
        }
        column.close()?;
        next += 1;
    }
    group.close()?;
    writer.into_inner()
}

/// Position of the column `start`.
const START: usize = 13;

fn text_column(column: usize, row: &Row<'_>) -> String {
    match column {
        0 => row.side.workload.to_string(),
        1 => row.side.case.to_string(),
        2 => row.side.variant.to_string(),
        9 => match row.sample.mode {
            Mode::Timed => "timed".into(),
            Mode::Metered => "metered".into(),
            Mode::Profiled => "profiled".into(),
        },
        10 => row.metric.to_owned(),
        _ => row.sample.flags.iter().map(flag_word).collect::<Vec<_>>().join(","),
    }
}

fn flag_word(flag: &Flag) -> String {
    match flag {
        Flag::Preempted { switches } => format!("preempted:{switches}"),
        Flag::Waited { share } => format!("waited:{share:.2}"),
        Flag::Outside { what } => format!("{what:?}").to_lowercase(),
    }
}

fn int_column(column: usize, row: &Row<'_>) -> i32 {
    let sample = row.sample;
    let value = match column {
        3 => sample.launch,
        4 => sample.part,
        5 => sample.placement,
        6 => sample.block,
        _ => sample.position,
    };
    i32::try_from(value).unwrap_or(i32::MAX)
}

fn long_column(column: usize, row: &Row<'_>) -> Option<i64> {
    let value = match column {
        7 => Some(row.sample.round),
        START => row.sample.start_ns,
        _ => Some(row.sample.iterations),
    };
    value.map(|v| i64::try_from(v).unwrap_or(i64::MAX))
}
