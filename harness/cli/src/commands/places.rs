//! The places of records below the folder `reports`.

use std::path::{Path, PathBuf};

use perfharness_record::SourceState;

/// The place of the record of `run` for a source state.
pub(super) fn default_path(source: &SourceState) -> PathBuf {
    Path::new("reports").join(source.folder()).join("run.json")
}

/// The place of the record of another command: apart from that of `run`, which it must not replace.
pub(super) fn place_of(source: &SourceState, kind: &str) -> PathBuf {
    default_path(source).with_file_name(kind).join("run.json")
}
