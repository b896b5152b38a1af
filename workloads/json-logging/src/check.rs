//! Compares a log with the expected records.

use std::io::{self, ErrorKind};
use std::path::Path;

use perfharness_contract::{Check, Failure, Tolerance};

use crate::record::{Input, Record};

/// Checks the log of iteration `index`, whichever variant wrote it.
pub(crate) fn check(path: &Path, input: &Input, index: u64) -> Result<Check, Failure> {
    // This file is not counted, because checking is not part of the measurement.
    let check = match std::fs::read(path) {
        Ok(text) => match parse(&text) {
            Ok(records) => compare(&input.due(index), &records),
            Err(error) => Check::wrong(format!("the log cannot be read: {error}")),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Check::wrong("there is no log"),
        Err(error) => return Err(error.into()),
    };
    Ok(check.with_input(input.digest(index)))
}

/// Parses a log that is one JSON array, or one record per line.
fn parse(text: &[u8]) -> io::Result<Vec<Record>> {
    if text.trim_ascii_start().starts_with(b"[") {
        return Ok(serde_json::from_slice(text)?);
    }
    let line = |(i, line): (usize, &[u8])| {
        let wrong = |what: &dyn std::fmt::Display| {
            io::Error::new(ErrorKind::InvalidData, format!("line {}: {what}", i + 1))
        };
        // A log without its last line end is truncated, even if its JSON is complete: the next record would be appended
        // to the same line.
        let line = line.strip_suffix(b"\n").ok_or_else(|| wrong(&"it does not end"))?;
        serde_json::from_slice(line).map_err(|error| wrong(&error))
    };
    text.split_inclusive(|byte| *byte == b'\n').enumerate().map(line).collect()
}

fn compare(due: &[Record], logged: &[Record]) -> Check {
    let flatten = |records: &[Record]| {
        let mut values = Vec::new();
        for record in records {
            record.flatten(&mut values);
        }
        values
    };
    // The digest covers the parsed values. It is therefore equal for all variants, whatever the layout of their files.
    let mut check = Check::compare(&flatten(due), &flatten(logged), Tolerance::Exact);
    if !check.passed {
        let at = due.iter().zip(logged).position(|(due, logged)| due != logged);
        let at = at.map_or(String::new(), |at| format!("record {at} is wrong; "));
        let numbers = format!("{} records instead of {}; ", logged.len(), due.len());
        let numbers = if logged.len() == due.len() { String::new() } else { numbers };
        check.message = check.message.map(|message| format!("{numbers}{at}{message}"));
    }
    check
}
