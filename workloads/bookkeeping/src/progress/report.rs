//! Progress, written to a file as a terminal gets it: one unbuffered write a line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};

use perfharness_contract::{Counter, MetricDef, Setup};

pub(super) const FILE_WRITES: &str = "file-writes";
pub(super) const FILE_WRITE_BYTES: &str = "file-write-bytes";

/// Passes from line to line of the optimized variant, as in the source's other loops.
pub(super) const EVERY: usize = 50;

pub(super) fn metrics() -> [MetricDef; 2] {
    [MetricDef::count(FILE_WRITES, "file writes"), MetricDef::bytes(FILE_WRITE_BYTES, "file bytes written")]
}

/// The moments at which a line is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum When {
    Never,
    EachPass,
    /// After each image, and not again after the pass.
    EachItem,
    /// After every so many passes, and after the last.
    Every(usize),
}

/// Progress of a loop.
#[derive(Debug)]
pub(super) struct Report {
    when: When,
    file: File,
    /// Text of the next line. It is kept, so that a line costs no allocation.
    line: Vec<u8>,
    writes: Counter,
    write_bytes: Counter,
}

impl Report {
    /// Opens the file in the folder of the placement.
    pub(super) fn new(when: When, setup: &Setup) -> io::Result<Self> {
        let path = setup.scratch().join("progress");
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        let (writes, write_bytes) = (setup.counter(FILE_WRITES), setup.counter(FILE_WRITE_BYTES));
        Ok(Self { when, file, line: Vec::with_capacity(80), writes, write_bytes })
    }

    /// Empties the file, so that it does not grow for as long as a launch lasts.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)
    }

    /// Reports an image; both numbers count from 1.
    pub(super) fn item(&mut self, pass: usize, passes: usize, item: usize, items: usize) -> io::Result<()> {
        if self.when != When::EachItem {
            return Ok(());
        }
        self.line.clear();
        writeln!(self.line, "pass {pass}/{passes}, image {item}/{items}")?;
        self.write()
    }

    /// Reports the end of a pass, which counts from 1.
    pub(super) fn pass(&mut self, pass: usize, passes: usize) -> io::Result<()> {
        let is_due = match self.when {
            When::Never | When::EachItem => false,
            When::EachPass => true,
            When::Every(count) => pass.is_multiple_of(count) || pass == passes,
        };
        if !is_due {
            return Ok(());
        }
        self.line.clear();
        writeln!(self.line, "pass {pass}/{passes}")?;
        self.write()
    }

    /// Writes the line: one write, and more only if the system cuts it short.
    fn write(&mut self) -> io::Result<()> {
        let mut rest = &self.line[..];
        while !rest.is_empty() {
            self.writes.add(1);
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.write_bytes.add(count as u64);
                    rest = &rest[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
