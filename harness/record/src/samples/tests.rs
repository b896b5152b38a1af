//! What is written is read again; what is damaged or foreign is refused.

use parquet::column::writer::ColumnWriter;
use parquet::schema::types::Type;
use perfharness_contract::standard;
use proptest::array::uniform5;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::Origin;

fn row() -> SampleReading<'static> {
    SampleReading {
        workload: "w",
        case: "c",
        variant: "v",
        launch: 1,
        part: 2,
        placement: 3,
        block: 4,
        round: 5,
        position: 6,
        mode: Mode::Timed,
        metric: standard::WALL_TIME,
        value: 7.5,
        iterations: 8,
        start: Some(9),
        flags: Cow::Borrowed("waited:0.50"),
        dropped: false,
        origin: Origin::Head,
    }
}

/// Equal to the bit: NaN equals nothing, and 0 equals -0.
fn assert_same(found: &SampleReading<'_>, due: &SampleReading<'_>) {
    assert_eq!(found.value.to_bits(), due.value.to_bits(), "{found:?}");
    assert_eq!(SampleReading { value: 0.0, ..found.clone() }, SampleReading { value: 0.0, ..due.clone() });
}

fn assert_all_same(found: &Samples, due: &[SampleReading<'_>]) {
    assert_eq!((found.len(), found.is_empty()), (due.len(), due.is_empty()));
    found.rows().zip(due).for_each(|(found, due)| assert_same(&found, due));
}

#[rstest]
#[case::none(0)]
#[case::one(1)]
#[case::a_batch(BATCH)]
#[case::more_than_a_batch_and_a_page(3 * BATCH + 1)]
fn rows_are_read_as_they_were_written(#[case] count: usize) {
    let texts: Vec<String> = (0..count).map(|at| format!("v{}", at % 700)).collect();
    let varied = |at: usize| SampleReading {
        variant: &texts[at],
        round: at as u64,
        value: if at.is_multiple_of(5) { f64::NAN } else { at as f64 },
        start: (!at.is_multiple_of(3)).then_some(at as u64),
        mode: [Mode::Timed, Mode::Metered, Mode::Profiled][at % 3],
        dropped: at.is_multiple_of(7),
        origin: [Origin::Head, Origin::Base][at % 2],
        ..row()
    };
    let rows: Vec<SampleReading<'_>> = (0..count).map(varied).collect();
    assert_all_same(&crate::testing::samples(&rows), &rows);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_rows_hold_is_read_again(
        raw in vec(
            (
                vec(any::<String>(), 5),
                uniform5(0..=i32::MAX as u32),
                (0..=i64::MAX as u64, 0..=i64::MAX as u64, of(0..=i64::MAX as u64)),
                any::<u64>(),
                0..3_usize,
                any::<bool>(),
            ),
            0..20,
        )
    ) {
        let row = raw.iter().map(|(texts, ints, (round, iterations, start), bits, mode, dropped)| SampleReading {
            workload: &texts[0],
            case: &texts[1],
            variant: &texts[2],
            launch: ints[0],
            part: ints[1],
            placement: ints[2],
            block: ints[3],
            round: *round,
            position: ints[4],
            mode: [Mode::Timed, Mode::Metered, Mode::Profiled][*mode],
            metric: &texts[3],
            value: f64::from_bits(*bits),
            iterations: *iterations,
            start: *start,
            flags: Cow::Borrowed(&texts[4]),
            dropped: *dropped,
            origin: if *dropped { Origin::Base } else { Origin::Head },
        });
        let rows: Vec<SampleReading<'_>> = row.collect();
        let found = crate::testing::samples(&rows);
        prop_assert_eq!(found.len(), rows.len());
        for (found, due) in found.rows().zip(&rows) {
            // What a terminal would obey is not kept.
            let texts = [due.workload, due.case, due.variant, due.metric, &*due.flags].map(plain);
            let due = SampleReading {
                workload: &texts[0],
                case: &texts[1],
                variant: &texts[2],
                metric: &texts[3],
                flags: Cow::Borrowed(&texts[4]),
                ..due.clone()
            };
            assert_same(&found, &due);
        }
    }
}

#[test]
fn a_text_is_kept_once() {
    let rows: Vec<SampleReading<'_>> = (0..1000).map(|_| row()).collect();
    let samples = crate::testing::samples(&rows);
    let texts: Vec<&str> = samples.texts.iter().map(|text| &**text).collect();
    assert_eq!(texts, ["w", "c", "v", "wall-time", "waited:0.50"]);
}

#[test]
fn rows_of_a_metric_of_a_benchmark_are_selected() {
    let id = |text: &str| text.parse::<BenchmarkId>().unwrap();
    let rows = [
        row(),
        SampleReading { variant: "u", ..row() },
        SampleReading { case: "v", variant: "c", ..row() },
        SampleReading { metric: "syncs", ..row() },
        SampleReading { round: 6, ..row() },
    ];
    let samples = crate::testing::samples(&rows);
    let rounds = |benchmark: &str, metric: &str| -> Vec<u64> {
        samples.select(&id(benchmark), metric).map(|row| row.round).collect()
    };
    assert_eq!(rounds("w/c/v", "wall-time"), [5, 6]);
    assert_eq!(rounds("w/v/c", "wall-time"), [5]);
    assert_eq!(rounds("w/c/v", "syncs"), [5]);
    assert!(rounds("w/c/w", "wall-time").is_empty());
    assert!(rounds("w/c/v", "unheard-of").is_empty());
}

/// A file with something in every page.
fn file() -> Vec<u8> {
    let rows: Vec<SampleReading<'_>> =
        (0..50).map(|at| SampleReading { round: at, value: at as f64, ..row() }).collect();
    write(&rows).unwrap()
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_refused() {
    let whole = file();
    for length in 0..whole.len() {
        let error = read(&whole[..length]).unwrap_err();
        assert!(matches!(error, SamplesError::Parquet(_)), "{length}: {error}");
    }
}

#[test]
fn a_file_that_is_not_the_one_of_the_record_is_refused_before_it_is_decoded() {
    let whole = file();
    let named = SamplesRef { file: "f".into(), rows: 50, digest: Digest::of(&whole) };
    assert_eq!(read_named(&whole, &named).unwrap().len(), 50);
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        let error = read_named(&damaged, &named).unwrap_err();
        assert!(matches!(error, SamplesError::Other { .. }), "{at}: {error}");
    }
    let told = read_named(b"", &named).unwrap_err().to_string();
    assert!(told.contains("damaged") && told.contains(&named.digest.0), "{told}");
}

#[rstest]
#[case::nothing(b"")]
#[case::text(b"workload,case,variant\nw,c,v\n")]
#[case::magic_alone(b"PAR1")]
#[case::no_metadata(b"PAR1PAR1")]
#[case::metadata_longer_than_the_file(b"PAR1\xff\xff\xff\x7fPAR1")]
#[case::metadata_of_nothing(b"PAR1\0\0\0\0PAR1")]
#[case::encrypted(b"PARE\x01\0\0\0\0PARE")]
fn what_is_no_parquet_file_is_refused(#[case] content: &[u8]) {
    let error = read(content).unwrap_err();
    assert!(error.to_string().starts_with("it is not a whole Parquet file: "), "{error}");
}

/// The schema that every file of samples has.
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
    required binary origin (UTF8);
}";

fn parsed(text: &str) -> Arc<Type> {
    Arc::new(parse_message_type(text).unwrap())
}

#[test]
fn columns_are_written_by_the_published_schema() {
    assert_eq!(parsed(&schema()), parsed(SCHEMA));
}

#[rstest]
#[case::missing("required int32 launch;", "", "no column `launch`")]
#[case::other_name("binary metric", "binary quantity", "no column `metric`")]
#[case::wider("int32 launch", "int64 launch", "`launch` is INT64, not INT32")]
#[case::number_for_text(
    "required binary mode (UTF8)",
    "required int32 mode",
    "`mode` is INT32, not BYTE_ARRAY"
)]
#[case::optional(
    "required int32 launch",
    "optional int32 launch",
    "`launch` must have one value in each row"
)]
#[case::repeated(
    "required int32 launch",
    "repeated int32 launch",
    "`launch` must have one value in each row"
)]
#[case::required("optional int64 start", "required int64 start", "`start` must be optional")]
#[case::nested("required double value;", "required group a { required double value; }", "no column `value`")]
fn a_file_with_other_columns_is_refused(#[case] from: &str, #[case] to: &str, #[case] told: &str) {
    assert!(SCHEMA.contains(from));
    let schema = parsed(&SCHEMA.replace(from, to));
    let writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let error = read(&writer.into_inner().unwrap()).unwrap_err().to_string();
    assert!(error.contains(told), "{error}");
}

#[test]
fn columns_may_be_added_and_moved() {
    let added = SCHEMA.replace("required int32 launch;", "optional float added; required int32 launch;");
    let writer = SerializedFileWriter::new(Vec::new(), parsed(&added), Arc::default()).unwrap();
    assert!(read(&writer.into_inner().unwrap()).unwrap().is_empty());
}

/// A file of one row, with these values in all columns of their type, as versions without builds wrote it.
fn of_values(text: &[u8], int: i32, long: i64) -> Vec<u8> {
    let older = parsed(&SCHEMA.replace("required binary origin (UTF8);", ""));
    let mut writer = SerializedFileWriter::new(Vec::new(), older, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        let written = match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(c) => c.write_batch(&[ByteArray::from(text)], None, None),
            ColumnWriter::Int32ColumnWriter(c) => c.write_batch(&[int], None, None),
            ColumnWriter::Int64ColumnWriter(c) => c.write_batch(&[long], Some(&[1]), None),
            ColumnWriter::DoubleColumnWriter(c) => c.write_batch(&[1.0], None, None),
            ColumnWriter::BoolColumnWriter(c) => c.write_batch(&[true], None, None),
            _ => unreachable!("the schema has no such column"),
        };
        written.unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[rstest]
#[case::right(b"timed", 1, 1, "")]
#[case::mode(
    b"guessed\x1b",
    1,
    1,
    "`mode` has the mode `guessed\u{fffd}`, which this perfharness does not know"
)]
#[case::not_utf8(b"\xff", 1, 1, "`workload` holds a text that is not UTF-8")]
#[case::negative(b"timed", -1, 1, "`launch` holds -1, and nothing in it can be negative")]
#[case::negative_round(b"timed", 1, -2, "`round` holds -2, and nothing in it can be negative")]
fn values_that_no_run_writes_are_refused(
    #[case] text: &[u8],
    #[case] int: i32,
    #[case] long: i64,
    #[case] told: &str,
) {
    match read(&of_values(text, int, long)) {
        Ok(samples) => {
            assert!(told.is_empty() && samples.len() == 1);
            assert_eq!(samples.rows().next().unwrap().origin, Origin::Head);
        }
        Err(error) => assert!(!told.is_empty() && error.to_string().contains(told), "{error}"),
    }
}
