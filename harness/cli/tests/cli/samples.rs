//! Reads the raw samples back, as another program would.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

/// Key that identifies a reading of a sample.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) variant: String,
    pub(crate) case: String,
    pub(crate) launch: i32,
    pub(crate) placement: i32,
    pub(crate) block: i32,
    pub(crate) round: i64,
    pub(crate) mode: String,
    pub(crate) metric: String,
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) key: Key,
    pub(crate) value: f64,
}

/// All rows of a file.
pub(crate) fn read(path: &Path) -> Vec<Sample> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let columns: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .columns()
        .iter()
        .map(|c| c.name().to_owned())
        .collect();
    let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(|row| {
        let row = row.unwrap();
        let text = |name: &str| row.get_string(at(name)).unwrap().clone();
        let int = |name: &str| row.get_int(at(name)).unwrap();
        let key = Key {
            variant: text("variant"),
            case: text("case"),
            launch: int("launch"),
            placement: int("placement"),
            block: int("block"),
            round: row.get_long(at("round")).unwrap(),
            mode: text("mode"),
            metric: text("metric"),
        };
        Sample { key, value: row.get_double(at("value")).unwrap() }
    });
    rows.collect()
}
