//! The raw samples of a run as a Parquet file: one row for each reading of each sample.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::get_column_reader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use perfharness_contract::protocol::Mode;
use perfharness_contract::{BenchmarkId, Digest};

use super::SamplesRef;
use crate::Origin;
use crate::plain_text::plain;

#[cfg(test)]
mod tests;

/// The most bytes that a file may have.
pub const MOST_BYTES: u64 = 128 << 20;

/// The most rows that a file may have: those of a run of hours. They take 90 bytes each while they are read.
pub const MOST_ROWS: usize = 4_000_000;

/// The most bytes of a page, which this program makes of one MiB.
const MOST_PAGE_BYTES: usize = 16 << 20;

/// The most bytes that a packed one can become: Snappy copies up to 64 with three.
const MOST_UNPACKED: usize = 22;

/// The columns by name, in the order of the file. Times are in ns; `start` is on the harness's monotonic clock, one for
/// the whole run.
const COLUMNS: [(&str, Values); 17] = [
    ("workload", Values::Text(|row| row.workload)),
    ("case", Values::Text(|row| row.case)),
    ("variant", Values::Text(|row| row.variant)),
    ("launch", Values::Int(|row| row.launch)),
    ("part", Values::Int(|row| row.part)),
    ("placement", Values::Int(|row| row.placement)),
    ("block", Values::Int(|row| row.block)),
    ("round", Values::Long(|row| row.round)),
    ("position", Values::Int(|row| row.position)),
    ("mode", Values::Text(|row| row.mode.as_str())),
    ("metric", Values::Text(|row| row.metric)),
    ("value", Values::Double(|row| row.value)),
    ("iterations", Values::Long(|row| row.iterations)),
    ("start", Values::OptionalLong(|row| row.start)),
    ("flags", Values::Text(|row| &row.flags)),
    ("dropped", Values::Bool(|row| row.dropped)),
    ("origin", Values::Text(|row| row.origin.as_str())),
];

/// The type of a column, and the value of a row in it. A number that is too large for the column becomes the largest.
#[derive(Clone, Copy)]
enum Values {
    Text(for<'r> fn(&'r SampleReading<'_>) -> &'r str),
    Int(fn(&SampleReading<'_>) -> u32),
    Long(fn(&SampleReading<'_>) -> u64),
    OptionalLong(fn(&SampleReading<'_>) -> Option<u64>),
    Double(fn(&SampleReading<'_>) -> f64),
    Bool(fn(&SampleReading<'_>) -> bool),
}

/// Returns the schema of the file.
fn schema() -> String {
    let field = |(name, values): &(&str, Values)| match values {
        Values::Text(_) => format!("required binary {name} (UTF8);"),
        Values::Int(_) => format!("required int32 {name};"),
        Values::Long(_) => format!("required int64 {name};"),
        Values::OptionalLong(_) => format!("optional int64 {name};"),
        Values::Double(_) => format!("required double {name};"),
        Values::Bool(_) => format!("required boolean {name};"),
    };
    format!("message samples {{ {} }}", COLUMNS.iter().map(field).collect::<String>())
}

/// One row: a reading of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleReading<'a> {
    /// The workload.
    pub workload: &'a str,
    /// The case.
    pub case: &'a str,
    /// The variant.
    pub variant: &'a str,
    /// The launch.
    pub launch: u32,
    /// The part of the launch: which set of sides was alive.
    pub part: u32,
    /// The placement.
    pub placement: u32,
    /// The block; 0 for metered samples.
    pub block: u32,
    /// The round number, which the input is a function of.
    pub round: u64,
    /// Place in the round's order, from 0.
    pub position: u32,
    /// Clock only, or meters on.
    pub mode: Mode,
    /// The metric.
    pub metric: &'a str,
    /// In the metric's unit: for one iteration where it is the wall time or the CPU time, else as the worker reported it
    /// for the sample.
    pub value: f64,
    /// Iterations under the clock.
    pub iterations: u64,
    /// Start on the harness's clock in ns, where the worker's clock could be related to it.
    pub start: Option<u64>,
    /// Disturbances, with commas between.
    pub flags: Cow<'a, str>,
    /// Whether its block does not count.
    pub dropped: bool,
    /// The build that it comes from.
    pub origin: Origin,
}

/// Encodes rows as the content of a file.
///
/// # Errors
/// When the encoder refuses, which would be a bug.
pub fn encode(rows: &[SampleReading<'_>]) -> io::Result<Vec<u8>> {
    write(rows).map_err(io::Error::other)
}

fn write(rows: &[SampleReading<'_>]) -> Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(&schema())?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in COLUMNS {
        let column = group.next_column()?;
        let mut column = column.ok_or_else(|| ParquetError::General("the schema lacks a column".into()))?;
        match values {
            Values::Text(of) => {
                put::<ByteArrayType>(&mut column, rows.iter().map(|row| ByteArray::from(of(row))), None)?;
            }
            Values::Int(of) => {
                let int = |row| i32::try_from(of(row)).unwrap_or(i32::MAX);
                put::<Int32Type>(&mut column, rows.iter().map(int), None)?;
            }
            Values::Long(of) => {
                put::<Int64Type>(&mut column, rows.iter().map(|row| long(of(row))), None)?;
            }
            Values::OptionalLong(of) => {
                let levels: Vec<i16> = rows.iter().map(|row| i16::from(of(row).is_some())).collect();
                put::<Int64Type>(&mut column, rows.iter().filter_map(of).map(long), Some(&levels))?;
            }
            Values::Double(of) => put::<DoubleType>(&mut column, rows.iter().map(of), None)?,
            Values::Bool(of) => put::<BoolType>(&mut column, rows.iter().map(of), None)?,
        }
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

/// Writes a column. `levels` has a 1 for each row with a value and a 0 for each row without one; a required column has
/// none.
fn put<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = T::T>,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    column.typed::<T>().write_batch(&values.collect::<Vec<_>>(), levels, None).map(drop)
}

fn long(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Why raw samples could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SamplesError {
    /// The content is not the one that the record names.
    #[error(
        "it is damaged, or holds the samples of another run: its digest is {found}, and the record names {named}"
    )]
    Other {
        /// The digest that the record names.
        named: String,
        /// The digest of the content.
        found: String,
    },
    /// There are more than are read.
    #[error("it has more than {MOST_ROWS} rows, or more than its length could hold")]
    TooMany,
    /// The content is no Parquet file, or not the whole of one.
    #[error("it is not a whole Parquet file: {0}")]
    Parquet(#[from] ParquetError),
    /// A column is not there.
    #[error(
        "it has no column `{0}`: it is another Parquet file than the samples that `perfharness run` writes"
    )]
    Missing(&'static str),
    /// A column is not what it has to be.
    #[error("its column `{column}` {what}")]
    Column {
        /// The column.
        column: &'static str,
        /// Reason, as a clause.
        what: String,
    },
}

/// Reads the samples that a record names.
///
/// The digest comes first: a page has no checksum, so that most damage would go unnoticed.
///
/// # Errors
/// When the content is not what the record names, or holds no samples.
pub fn read_named(content: &[u8], named: &SamplesRef) -> Result<Samples, SamplesError> {
    let found = Digest::of(content);
    if found != named.digest {
        return Err(SamplesError::Other { named: named.digest.0.clone(), found: found.0 });
    }
    read(content)
}

/// Reads samples, whatever record they belong to. Columns that are not known are passed over: a later version may have
/// more of them.
///
/// Read a file that may be damaged with [`read_named`].
///
/// # Errors
/// When the content is no Parquet file, or a column is missing or not what it has to be.
pub fn read(content: &[u8]) -> Result<Samples, SamplesError> {
    // The decoder answers some damage with a panic, which is a refusal here.
    std::panic::catch_unwind(|| decode(content))
        .unwrap_or_else(|_| Err(ParquetError::General("the decoder gave up on it".into()).into()))
}

fn decode(content: &[u8]) -> Result<Samples, SamplesError> {
    // Columns whose values hardly vary take next to nothing of a file, but no two rows are equal.
    let most = MOST_ROWS.min(16 * content.len());
    let content = Bytes::copy_from_slice(content);
    let file = File { reader: SerializedFileReader::new(content.clone())?, content: Arc::new(content) };
    let mut rows = 0_usize;
    for group in file.reader.metadata().row_groups() {
        let more = usize::try_from(group.num_rows()).map_err(|_| SamplesError::TooMany)?;
        rows = rows.checked_add(more).filter(|rows| *rows <= most).ok_or(SamplesError::TooMany)?;
    }
    let mut texts = Texts::default();
    Ok(Samples {
        workload: file.texts("workload", &mut texts)?,
        case: file.texts("case", &mut texts)?,
        variant: file.texts("variant", &mut texts)?,
        launch: file.ints("launch")?,
        part: file.ints("part")?,
        placement: file.ints("placement")?,
        block: file.ints("block")?,
        round: file.longs("round")?,
        position: file.ints("position")?,
        mode: file.words("mode", "mode", Mode::from_name)?,
        metric: file.texts("metric", &mut texts)?,
        value: file.column::<DoubleType, _>("value", |value| Ok(*value))?,
        iterations: file.longs("iterations")?,
        start: file.starts()?,
        flags: file.texts("flags", &mut texts)?,
        dropped: file.column::<BoolType, _>("dropped", |dropped| Ok(*dropped))?,
        origin: file.origins()?,
        texts: texts.all,
    })
}

/// The raw samples of a run. There can be hundreds of thousands of rows, so they are kept by column, and each text once.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    texts: Vec<Arc<str>>,
    workload: Vec<Text>,
    case: Vec<Text>,
    variant: Vec<Text>,
    launch: Vec<u32>,
    part: Vec<u32>,
    placement: Vec<u32>,
    block: Vec<u32>,
    round: Vec<u64>,
    position: Vec<u32>,
    mode: Vec<Mode>,
    metric: Vec<Text>,
    value: Vec<f64>,
    iterations: Vec<u64>,
    start: Vec<Option<u64>>,
    flags: Vec<Text>,
    dropped: Vec<bool>,
    /// Empty where the file is of a version that did not say.
    origin: Vec<Origin>,
}

impl Samples {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.value.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// All rows, in the order of the file: case by case, and in each the timed samples in the order of measuring before
    /// the metered ones.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = SampleReading<'_>> {
        (0..self.len()).map(move |at| self.row(at))
    }

    /// The rows of one metric of one benchmark. That takes no more than comparing numbers, so it may be asked for each
    /// metric of each benchmark.
    pub fn select<'s>(
        &'s self,
        benchmark: &BenchmarkId,
        metric: &str,
    ) -> impl Iterator<Item = SampleReading<'s>> + use<'s> {
        let parts =
            [benchmark.workload.as_str(), benchmark.case.as_str(), benchmark.variant.as_str(), metric];
        let wanted = parts.map(|text| self.texts.iter().position(|known| **known == *text));
        let is_wanted = move |at: &usize| {
            let row = [self.workload[*at], self.case[*at], self.variant[*at], self.metric[*at]];
            // A text that occurs nowhere equals none.
            row.map(|text| Some(text.0 as usize)) == wanted
        };
        (0..self.len()).filter(is_wanted).map(move |at| self.row(at))
    }

    fn row(&self, at: usize) -> SampleReading<'_> {
        SampleReading {
            workload: self.text(self.workload[at]),
            case: self.text(self.case[at]),
            variant: self.text(self.variant[at]),
            launch: self.launch[at],
            part: self.part[at],
            placement: self.placement[at],
            block: self.block[at],
            round: self.round[at],
            position: self.position[at],
            mode: self.mode[at],
            metric: self.text(self.metric[at]),
            value: self.value[at],
            iterations: self.iterations[at],
            start: self.start[at],
            flags: Cow::Borrowed(self.text(self.flags[at])),
            dropped: self.dropped[at],
            origin: self.origin.get(at).copied().unwrap_or_default(),
        }
    }

    fn text(&self, text: Text) -> &str {
        &self.texts[text.0 as usize]
    }
}

/// Position of a text among those of all columns.
#[derive(Clone, Copy, Debug)]
struct Text(u32);

/// Texts, each once.
#[derive(Default)]
struct Texts {
    all: Vec<Arc<str>>,
    known: HashMap<Arc<str>, Text>,
}

impl Texts {
    fn keep(&mut self, text: &str) -> Text {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let (text, at) = (Arc::<str>::from(text), Text(self.all.len() as u32));
        self.all.push(Arc::clone(&text));
        self.known.insert(text, at);
        at
    }
}

/// Rows that are decoded at a time.
const BATCH: usize = 8192;

/// A file that may be anybody's.
struct File {
    reader: SerializedFileReader<Bytes>,
    content: Arc<Bytes>,
}

/// The pages of a column as they lie in the file, which this unpacks itself: the sizes in the headers of pages are whatever
/// somebody wrote there, and the library makes room for them first.
struct Pages {
    packed: SerializedPageReader<Bytes>,
    is_packed: bool,
    /// Rows of the group, which no page has more values than.
    rows: usize,
}

impl Pages {
    fn unpack(&self, packed: &Bytes, levels: usize) -> Result<Bytes, ParquetError> {
        let general = |what: &str| ParquetError::General(what.into());
        if !self.is_packed {
            return Ok(packed.clone());
        }
        let (levels, values) =
            packed.split_at_checked(levels).ok_or_else(|| general("a page is shorter than its levels"))?;
        let broken = |error: snap::Error| ParquetError::External(Box::new(error));
        let size = match values {
            [] => 0,
            values => snap::raw::decompress_len(values).map_err(broken)?,
        };
        if size > MOST_PAGE_BYTES.min(MOST_UNPACKED * values.len()) {
            return Err(general("a page is too large"));
        }
        let mut all = levels.to_vec();
        all.resize(levels.len() + size, 0);
        if size > 0 {
            snap::raw::Decoder::new().decompress(values, &mut all[levels.len()..]).map_err(broken)?;
        }
        Ok(all.into())
    }

    fn checked(&self, page: Page) -> Result<Page, ParquetError> {
        // Others make room for as many values as a page states, and this program writes none of them.
        let known = [Encoding::PLAIN, Encoding::PLAIN_DICTIONARY, Encoding::RLE_DICTIONARY, Encoding::RLE];
        if !known.contains(&page.encoding()) {
            return Err(ParquetError::General(format!("a page is encoded as {}", page.encoding())));
        }
        let too_many = || ParquetError::General("a page has more values than there are rows".into());
        let within = |values: u32, most: usize| {
            if values as usize > most { Err(too_many()) } else { Ok(()) }
        };
        Ok(match page {
            Page::DataPage { buf, num_values, encoding, def_level_encoding, rep_level_encoding, .. } => {
                within(num_values, self.rows)?;
                let (buf, statistics) = (self.unpack(&buf, 0)?, None);
                Page::DataPage {
                    buf,
                    num_values,
                    encoding,
                    def_level_encoding,
                    rep_level_encoding,
                    statistics,
                }
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding,
                num_nulls,
                num_rows,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                ..
            } => {
                within(num_values, self.rows)?;
                within(num_nulls, self.rows)?;
                within(num_rows, self.rows)?;
                let levels = def_levels_byte_len as usize + rep_levels_byte_len as usize;
                let buf = if is_compressed { self.unpack(&buf, levels)? } else { buf };
                if levels > buf.len() {
                    return Err(ParquetError::General("a page is shorter than its levels".into()));
                }
                Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    num_nulls,
                    num_rows,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed: false,
                    statistics: None,
                }
            }
            Page::DictionaryPage { buf, num_values, encoding, is_sorted } => {
                let buf = self.unpack(&buf, 0)?;
                // A number takes four bytes or eight, and a text four for its length.
                within(num_values, buf.len() / 4)?;
                Page::DictionaryPage { buf, num_values, encoding, is_sorted }
            }
        })
    }
}

impl Iterator for Pages {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        let page = self.packed.get_next_page()?;
        page.map(|page| self.checked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        self.packed.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.packed.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        self.packed.at_record_boundary()
    }
}

impl File {
    /// A column with a value in each row. `convert` says what is wrong with a value that it does not take.
    fn column<T: DataType, V>(
        &self,
        column: &'static str,
        mut convert: impl FnMut(&T::T) -> Result<V, String>,
    ) -> Result<Vec<V>, SamplesError> {
        let mut all = Vec::new();
        self.each_batch::<T>(column, 0, |values, _| {
            for value in values {
                all.push(convert(value)?);
            }
            Ok(())
        })?;
        Ok(all)
    }

    fn ints(&self, column: &'static str) -> Result<Vec<u32>, SamplesError> {
        self.column::<Int32Type, _>(column, |value| u32::try_from(*value).map_err(|_| negative(value)))
    }

    fn longs(&self, column: &'static str) -> Result<Vec<u64>, SamplesError> {
        self.column::<Int64Type, _>(column, |value| u64::try_from(*value).map_err(|_| negative(value)))
    }

    /// Like the texts of a record, these cannot give orders to a terminal.
    fn texts(&self, column: &'static str, texts: &mut Texts) -> Result<Vec<Text>, SamplesError> {
        self.column::<ByteArrayType, _>(column, |value| utf8(value).map(|text| texts.keep(&plain(text))))
    }

    /// A column of words that each stand for a value; `what` is what the messages call one.
    fn words<V>(
        &self,
        column: &'static str,
        what: &str,
        known: impl Fn(&str) -> Option<V>,
    ) -> Result<Vec<V>, SamplesError> {
        self.column::<ByteArrayType, _>(column, |value| {
            let word = utf8(value)?;
            let unknown =
                || format!("has the {what} `{}`, which this perfharness does not know", plain(word));
            known(word).ok_or_else(unknown)
        })
    }

    /// The builds; none where the file is of a version that did not say.
    fn origins(&self) -> Result<Vec<Origin>, SamplesError> {
        let known = |word: &str| Origin::ALL.into_iter().find(|origin| origin.as_str() == word);
        match self.words("origin", "build", known) {
            Err(SamplesError::Missing(_)) => Ok(Vec::new()),
            other => other,
        }
    }

    /// The one column that need not have a value in each row.
    fn starts(&self) -> Result<Vec<Option<u64>>, SamplesError> {
        let mut all = Vec::new();
        self.each_batch::<Int64Type>("start", 1, |values, levels| {
            let mut values = values.iter();
            for level in levels {
                let value = if *level > 0 { values.next() } else { None };
                all.push(value.map(|v| u64::try_from(*v).map_err(|_| negative(v))).transpose()?);
            }
            Ok(())
        })?;
        Ok(all)
    }

    /// The pages of a column in a group with so many rows.
    fn pages(&self, chunk: &ColumnChunkMetaData, rows: usize) -> Result<Pages, ParquetError> {
        let is_packed = match chunk.compression() {
            Compression::UNCOMPRESSED => false,
            Compression::SNAPPY => true,
            other => return Err(ParquetError::General(format!("its pages are packed with {other}"))),
        };
        let as_they_lie = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        let packed = SerializedPageReader::new(Arc::clone(&self.content), &as_they_lie, rows, None)?;
        Ok(Pages { packed, is_packed, rows })
    }

    /// Hands over a column in batches of values and levels. `levels` is 1 for a column whose rows may be empty: a row has a
    /// value where its level is not 0.
    fn each_batch<T: DataType>(
        &self,
        column: &'static str,
        levels: i16,
        mut take: impl FnMut(&[T::T], &[i16]) -> Result<(), String>,
    ) -> Result<(), SamplesError> {
        let wrong = |what: String| SamplesError::Column { column, what };
        let file = self.reader.metadata().file_metadata().schema_descr();
        let at = file.columns().iter().position(|found| found.path().string() == column);
        let at = at.ok_or(SamplesError::Missing(column))?;
        let found = file.column(at);
        let mistyped = || wrong(format!("is {}, not {}", found.physical_type(), T::get_physical_type()));
        if found.physical_type() != T::get_physical_type() {
            return Err(mistyped());
        }
        if (found.max_def_level(), found.max_rep_level()) != (levels, 0) {
            let what = if levels == 0 { "must have one value in each row" } else { "must be optional" };
            return Err(wrong(what.into()));
        }
        let (mut values, mut present) = (Vec::new(), Vec::new());
        for group in self.reader.metadata().row_groups() {
            let chunk = group.columns().get(at).ok_or(SamplesError::Missing(column))?;
            let due = group.num_rows();
            let pages = self.pages(chunk, due as usize)?;
            let reader = get_column_reader(Arc::clone(&found), Box::new(pages));
            let mut reader = T::get_column_reader(reader).ok_or_else(mistyped)?;
            let mut rows = 0;
            loop {
                values.clear();
                present.clear();
                let (read, ..) = reader.read_records(BATCH, Some(&mut present), None, &mut values)?;
                rows += read as i64;
                if read == 0 || rows > due {
                    break;
                }
                take(&values, &present).map_err(wrong)?;
            }
            // Or else rows would be put together from values of different ones.
            if rows != due {
                return Err(wrong(format!("does not have the {due} rows that it should have")));
            }
        }
        Ok(())
    }
}

fn negative(value: impl std::fmt::Display) -> String {
    format!("holds {value}, and nothing in it can be negative")
}

fn utf8(value: &ByteArray) -> Result<&str, String> {
    value.as_utf8().map_err(|_| "holds a text that is not UTF-8".into())
}
