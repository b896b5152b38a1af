//! The best implementation that we know: it appends records to one open file, 50 at a time, and builds nothing else.

use std::io;
use std::path::Path;

use perfharness_contract::Counter;
use serde::{Serialize, Serializer};

use crate::file::CountedFile;
use crate::logging::{BATCH, Meters};
use crate::record::{Input, Mode, Step, Tensor};

/// Room for a batch: a record has at most half a KiB.
pub(crate) const BUFFER_BYTES: usize = BATCH * 512;

pub(crate) fn log(path: &Path, meters: &Meters, input: &Input, index: u64) -> io::Result<()> {
    let file = CountedFile::append(path, &meters.files)?;
    let mut logger = LineLogger { file, meters, buffer: Vec::with_capacity(BUFFER_BYTES), buffered: 0 };
    input.steps(index).try_for_each(|step| logger.log(&step))?;
    logger.close()
}

struct LineLogger<'a> {
    file: CountedFile<'a>,
    meters: &'a Meters,
    buffer: Vec<u8>,
    buffered: usize,
}

/// A step that is serialised straight from the values of the loop.
#[derive(Serialize)]
struct Line<'a> {
    step: u64,
    epoch: u64,
    mode: Mode,
    // Float64, as in the other variants: the digits of a float32 would be those of another number.
    loss: f64,
    load_balance_loss: f64,
    grad_norm: f64,
    learning_rate: f64,
    tokens_per_second: f64,
    step_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    expert_loads: Option<Converted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ghost_activations: Option<Converted<'a>>,
}

/// A tensor that is converted while it is serialised.
struct Converted<'a> {
    tensor: &'a Tensor,
    conversions: &'a Counter,
}

impl Serialize for Converted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.tensor.values(self.conversions))
    }
}

impl LineLogger<'_> {
    fn log(&mut self, step: &Step<'_>) -> io::Result<()> {
        let conversions = &self.meters.conversions;
        let wanted = |tensor| step.wants_tensors().then_some(Converted { tensor, conversions });
        let metrics = step.metrics;
        let line = Line {
            step: step.number,
            epoch: step.epoch,
            mode: step.mode,
            loss: metrics.loss.into(),
            load_balance_loss: metrics.load_balance_loss.into(),
            grad_norm: metrics.grad_norm.into(),
            learning_rate: metrics.learning_rate.into(),
            tokens_per_second: metrics.tokens_per_second.into(),
            step_seconds: metrics.step_seconds.into(),
            expert_loads: wanted(&metrics.expert_loads),
            ghost_activations: wanted(&metrics.ghost_activations),
        };
        serde_json::to_writer(&mut self.buffer, &line)?;
        self.buffer.push(b'\n');
        self.buffered += 1;
        if self.buffered == BATCH { self.flush() } else { Ok(()) }
    }

    fn close(mut self) -> io::Result<()> {
        if self.buffered == 0 { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write(&self.buffer)?;
        self.meters.records.add(self.buffered as u64);
        self.buffer.clear();
        self.buffered = 0;
        Ok(())
    }
}
