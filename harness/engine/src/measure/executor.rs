//! The seam between measuring and the world: processes and clock on one side, plan and statistics on the other.

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::protocol::{HelloReply, Request};
use perfharness_platform::{MachineCounters, ProcessUsage};
use serde::de::DeserializeOwned;

use crate::telemetry::{DeviceState, News};
use perfharness_contract::OutcomeKind;
use perfharness_record::Outcome;

/// Why a call gave no answer. The session is over in either case.
#[derive(Debug)]
pub enum CallError {
    /// The worker ended, or was ended, and this is what becomes of its benchmark.
    Ended(Outcome),
    /// The user asked the harness to stop.
    Interrupted,
}

/// Conditions of a launch.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// Seed of every input.
    pub seed: u64,
    /// The GPU that the user asked for.
    pub device: String,
    /// What the user set for the workloads.
    pub settings: BTreeMap<String, String>,
    /// Memory that the worker may use.
    pub memory_limit_bytes: Option<u64>,
    /// How long `hello` may take.
    pub deadline: Duration,
}

/// A worker that has answered `hello`.
pub struct Opened {
    /// The way to it.
    pub session: Box<dyn Session>,
    /// What it said.
    pub hello: HelloReply,
}

/// One worker process, alive.
pub trait Session {
    /// Sends a request and waits for its answer: the JSON text of its content.
    ///
    /// # Errors
    /// When there is no answer; the process is then gone.
    fn call(&mut self, request: &Request, deadline: Duration) -> Result<String, CallError>;

    /// What the process has used so far.
    fn usage(&self) -> ProcessUsage;

    /// What has to be added to the worker's clock to get the harness's, in ns.
    fn clock_offset_ns(&self) -> Option<i64>;

    /// Id of the process, where it is one.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// Ends the worker in good order, or by force where it does not end by itself.
    fn finish(self: Box<Self>);
}

/// Starts workers and tells the time.
pub trait Executor {
    /// The harness's monotonic clock, in ns.
    fn now_ns(&self) -> u64;

    /// Starts worker number `worker` of the plan and greets it.
    ///
    /// # Errors
    /// When it does not start or does not answer.
    fn launch(&mut self, worker: usize, options: &LaunchOptions) -> Result<Opened, CallError>;

    /// Machine-wide counters that the code under test cannot bring about.
    fn machine(&self) -> MachineCounters;

    /// The state of the GPU that is measured, as far as somebody watches it.
    fn device(&self) -> DeviceState {
        DeviceState::default()
    }

    /// What was heard of whoever watches the machine since this was asked last.
    fn news(&self) -> Vec<News> {
        Vec::new()
    }

    /// Times a fixed piece of work that is the same in every run and on every machine, in ns; none where it cannot be.
    fn anchor_ns(&self) -> Option<f64>;

    /// The load average of the last minute, where the OS has one.
    fn load_average(&self) -> Option<f64>;

    /// Memory of the machine, in bytes.
    fn total_memory(&self) -> u64;

    /// Whether the user asked the harness to stop.
    fn interrupted(&self) -> bool;
}

/// Calls and reads the answer as `T`; an answer that does not fit ends the benchmark as `crashed`.
pub(super) fn call<T: DeserializeOwned>(
    session: &mut dyn Session,
    request: &Request,
    deadline: Duration,
) -> Result<T, CallError> {
    let content = session.call(request, deadline)?;
    serde_json::from_str(&content).map_err(|error| {
        let reason = format!("its answer to `{}` does not fit the protocol: {error}", request.op());
        CallError::Ended(Outcome::new(OutcomeKind::Crashed, reason))
    })
}
