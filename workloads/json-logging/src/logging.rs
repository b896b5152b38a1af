//! Parts that all variants share: the inputs, counters and log file of an iteration.

use std::io;
use std::path::Path;

use perfharness_contract::{Check, Counter, Failure, Measured, MetricDef, Setup};
use serde::Serialize;

use crate::check::check;
use crate::file::{FileCounters, LogFolder};
use crate::record::Input;

/// Number of records that a buffering variant collects (003, 2.1).
pub(crate) const BATCH: usize = 50;

pub(crate) const CONVERSIONS: &str = "tensor-conversions";
const RECORDS: &str = "records";

/// Parameters of a case.
#[derive(Debug, Serialize)]
pub(crate) struct Params {
    /// Number of records that one iteration logs.
    pub(crate) n: u64,
}

/// Counters of a variant.
#[derive(Debug)]
pub(crate) struct Meters {
    pub(crate) files: FileCounters,
    pub(crate) conversions: Counter,
    /// Records passed to the system, counted when they are written and not when they are logged.
    pub(crate) records: Counter,
}

impl Meters {
    fn new(setup: &Setup) -> Self {
        Self {
            files: FileCounters::new(setup),
            conversions: setup.counter(CONVERSIONS),
            records: setup.counter(RECORDS),
        }
    }

    pub(crate) fn metrics() -> Vec<MetricDef> {
        let own = [
            MetricDef::count(CONVERSIONS, "tensor conversions"),
            MetricDef::work(RECORDS, "records written"),
        ];
        FileCounters::metrics().into_iter().chain(own).collect()
    }
}

/// A variant. It logs the steps of an iteration to a file that does not exist yet, one by one as a training loop would.
/// When it returns, every record is in the file.
pub(crate) type Variant = fn(path: &Path, meters: &Meters, input: &Input, index: u64) -> io::Result<()>;

/// A placement.
#[derive(Debug)]
pub(crate) struct Logging {
    variant: Variant,
    input: Input,
    pub(crate) folder: LogFolder,
    meters: Meters,
}

impl Logging {
    pub(crate) fn new(variant: Variant, params: &Params, setup: &Setup) -> Self {
        Self {
            variant,
            input: Input::new(setup.seed(), params.n),
            folder: LogFolder::new(setup.scratch()),
            meters: Meters::new(setup),
        }
    }
}

impl Measured for Logging {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.folder.clear()?;
        self.input.load(round);
        Ok(())
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        let path = self.folder.next();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        Ok((self.variant)(path, &self.meters, &self.input, index).map_err(named)?)
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        match self.folder.last() {
            Some(path) => check(path, &self.input, index),
            None => Err(Failure::Failed("no iteration has run in this round".into())),
        }
    }
}
