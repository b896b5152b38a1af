//! The output of an experiment: a line of JSON for each row.

use std::fs::File;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;

use anyhow::bail;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads the rows that an output has so far. `is_of` tells whether a row belongs to this experiment.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, is_of: impl Fn(&T) -> bool) -> anyhow::Result<Vec<T>> {
    let Ok(file) = File::open(path) else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for line in BufReader::new(file).lines() {
        // A killed experiment can leave an incomplete last line; its row is measured again.
        let Ok(row) = serde_json::from_str(&line?) else { continue };
        if !is_of(&row) {
            bail!("{} holds another experiment; name another --output", path.display());
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Appends rows by one write. Its first line end closes an incomplete line of a killed experiment.
pub(crate) fn append(output: &mut File, rows: &[impl Serialize]) -> anyhow::Result<()> {
    let mut lines = b"\n".to_vec();
    for row in rows {
        serde_json::to_writer(&mut lines, row)?;
        lines.push(b'\n');
    }
    Ok(output.write_all(&lines)?)
}
