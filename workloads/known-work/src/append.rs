//! Appends records to a file, one write per record.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use perfharness_contract::{Check, Counter, Failure, MetricDef, Setup};

use crate::kernel::{Input, Kernel, Work, word};

const WRITES: &str = "file-writes";
const WRITE_BYTES: &str = "file-write-bytes";
const SYNCS: &str = "file-syncs";

const WORDS: usize = 32;
const RECORD: usize = WORDS * 8;

/// Appends records. The file is empty at the start of each round.
#[derive(Debug)]
pub(crate) struct Append {
    file: File,
    record: [u8; RECORD],
    /// Offset of the first record of the last iteration, and the end of the file.
    first: u64,
    end: u64,
    writes: Counter,
    write_bytes: Counter,
    syncs: Counter,
}

impl Append {
    pub(crate) fn new(setup: &Setup) -> Result<Self, Failure> {
        let path = setup.scratch().join("records");
        // Not opened in append mode, because Windows could not truncate it then.
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        Ok(Self {
            file,
            record: [0; RECORD],
            first: 0,
            end: 0,
            writes: setup.counter(WRITES),
            write_bytes: setup.counter(WRITE_BYTES),
            syncs: setup.counter(SYNCS),
        })
    }

    pub(crate) fn metrics() -> [MetricDef; 3] {
        [
            MetricDef::count(WRITES, "file writes"),
            MetricDef::bytes(WRITE_BYTES, "file bytes written"),
            MetricDef::count(SYNCS, "file syncs"),
        ]
    }

    fn fill(record: &mut [u8; RECORD], input: Input, number: u64) {
        for (i, bytes) in record.chunks_exact_mut(8).enumerate() {
            bytes.copy_from_slice(&word(input.state(), number * WORDS as u64 + i as u64).to_le_bytes());
        }
    }
}

impl Kernel for Append {
    fn load(&mut self, _: u64, _: &Work) -> Result<(), Failure> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        (self.first, self.end) = (0, 0);
        Ok(())
    }

    fn run(&mut self, input: Input, work: &Work) -> Result<(), Failure> {
        self.first = self.end;
        let records = work.useful + work.extra + work.writes;
        for number in 0..records {
            Self::fill(&mut self.record, input, number);
            self.file.write_all(&self.record)?;
        }
        self.end += records * RECORD as u64;
        self.writes.add(records);
        self.write_bytes.add(records * RECORD as u64);
        for _ in 0..work.syncs {
            self.file.sync_data()?;
        }
        self.syncs.add(work.syncs);
        Ok(())
    }

    fn check(&mut self, input: Input, useful: u64) -> Result<Check, Failure> {
        let mut due = Vec::with_capacity(useful as usize * RECORD);
        for number in 0..useful {
            let mut record = [0; RECORD];
            Self::fill(&mut record, input, number);
            due.extend_from_slice(&record);
        }
        let mut written = vec![0; due.len()];
        self.file.seek(SeekFrom::Start(self.first))?;
        self.file.read_exact(&mut written)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        Ok(Check::exact(&due, &written))
    }
}
