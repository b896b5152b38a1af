//! The seam between measuring and the system: processes and clock on one side, plan and statistics on the other.

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{HelloReply, Request};
use perfharness_platform::{MachineCounters, ProcessUsage};
use perfharness_record::Outcome;
use serde::de::DeserializeOwned;

use super::launch::{Interrupted, SLOWDOWN_ALLOWED};
use crate::plan::Plan;
use crate::telemetry::{DeviceState, News};

/// Reason why a call has no answer. The session is over in either case.
#[derive(Debug)]
pub enum CallError {
    /// The worker ended, or was ended, with this outcome of its benchmark.
    Ended(Outcome),
    /// The user asked the harness to stop.
    Interrupted,
}

/// Returns the value, or what `ended` makes of the outcome if the worker ended.
pub(super) fn unless_interrupted<T>(
    result: Result<T, CallError>,
    ended: impl FnOnce(Outcome) -> T,
) -> Result<T, Interrupted> {
    match result {
        Ok(value) => Ok(value),
        Err(CallError::Interrupted) => Err(Interrupted),
        Err(CallError::Ended(outcome)) => Ok(ended(outcome)),
    }
}

/// Conditions of a launch.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// Seed of every input.
    pub seed: u64,
    /// GPU that the user asked for.
    pub device: String,
    /// Settings of the workloads.
    pub settings: BTreeMap<String, String>,
    /// Most memory that the worker may use.
    pub memory_limit_bytes: Option<u64>,
    /// Time that `hello` may take.
    pub deadline: Duration,
    /// The layout of the worker's program.
    pub layout: u32,
}

impl LaunchOptions {
    /// Conditions that a plan sets for all of its launches.
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            seed: plan.seed,
            device: plan.device.clone(),
            settings: plan.settings.clone(),
            memory_limit_bytes: plan.memory_limit_bytes,
            deadline: plan.timeout,
            layout: 0,
        }
    }

    /// The same on a simulated processor.
    pub(super) fn simulated(plan: &Plan) -> Self {
        Self {
            // A driver would run on the simulated processor, too.
            device: "none".into(),
            // The simulator's own memory is no part of the worker's.
            memory_limit_bytes: None,
            ..Self::of(plan)
        }
    }
}

/// Returns the time that an answer may take if it needs `iterations` of `iteration_ns` each.
pub(super) fn deadline(plan: &Plan, iteration_ns: f64, iterations: u64) -> Duration {
    plan.timeout + Duration::from_nanos((iteration_ns * iterations as f64 * SLOWDOWN_ALLOWED) as u64)
}

/// Worker that has answered `hello`.
pub struct Opened {
    /// Conversation with it.
    pub session: Box<dyn Session>,
    /// Its answer to `hello`.
    pub hello: HelloReply,
}

/// Conversation with one worker process.
pub trait Session {
    /// Sends a request and waits for its answer: the JSON text of its content.
    ///
    /// # Errors
    /// When there is no answer. The process has then ended.
    fn call(&mut self, request: &Request, deadline: Duration) -> Result<String, CallError>;

    /// Returns the memory and time that the process has used so far.
    fn usage(&self) -> ProcessUsage;

    /// Returns the offset of the harness's clock from the worker's, in ns.
    fn clock_offset_ns(&self) -> Option<i64>;

    /// Returns the id of the process, if the worker is one.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// Ends the worker with `finish`, or by force if it does not end by itself.
    fn finish(self: Box<Self>);
}

/// Starts workers, and reads the clock and the machine.
pub trait Executor {
    /// Returns the time on the harness's monotonic clock, in ns.
    fn now_ns(&self) -> u64;

    /// Starts worker number `worker` of the plan and sends it `hello`.
    ///
    /// # Errors
    /// When the worker does not start or does not answer.
    fn launch(&mut self, worker: usize, options: &LaunchOptions) -> Result<Opened, CallError>;

    /// Reads machine-wide counters that the code under test cannot cause.
    fn machine(&self) -> MachineCounters;

    /// Returns the state of the GPU that is measured, as far as telemetry watches it.
    fn device(&self) -> DeviceState {
        DeviceState::default()
    }

    /// Returns the messages of the telemetry process since the last call.
    fn news(&self) -> Vec<News> {
        Vec::new()
    }

    /// Times the anchor, in ns; `None` if it cannot be timed.
    fn anchor_ns(&self) -> Option<f64>;

    /// Returns the load average of the last minute, if the system has one.
    fn load_average(&self) -> Option<f64>;

    /// Returns the memory of the machine, in bytes.
    fn total_memory(&self) -> u64;

    /// Whether the user asked the harness to stop.
    fn interrupted(&self) -> bool;
}

/// Sends a request and parses its answer as `T`; an answer that does not parse ends the benchmark as `crashed`.
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
