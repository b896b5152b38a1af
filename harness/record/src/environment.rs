//! The conditions that worker processes run under.

use std::collections::BTreeMap;

use perfharness_contract::protocol::HelloReply;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Conditions of worker processes: what the worker said of itself and what the harness knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Position of the worker.
    pub worker: usize,
    /// SHA-256 over the files that its command names.
    pub worker_digest: Option<String>,
    /// Name and version of the program.
    pub program: String,
    /// Version of the protocol.
    pub protocol: u32,
    /// Name and version of each meter.
    pub meters: BTreeMap<String, u32>,
    /// Smallest step of its clock in ns.
    pub clock_resolution_ns: Option<u64>,
    /// Facts that the worker reported: compiler, flags, versions.
    pub facts: BTreeMap<String, String>,
    /// Environment variables that set thread counts, where they are set.
    pub threads: BTreeMap<String, String>,
}

impl Environment {
    /// The conditions of a worker: its position, the digest of its program, its own words and the thread settings.
    pub fn new(
        worker: usize,
        digest: Option<&String>,
        hello: &HelloReply,
        threads: &BTreeMap<String, String>,
    ) -> Self {
        Self {
            worker,
            worker_digest: digest.cloned(),
            program: hello.worker.clone(),
            protocol: hello.protocol,
            meters: hello.meters.clone(),
            clock_resolution_ns: hello.clock_resolution_ns,
            facts: hello.facts.clone(),
            threads: threads.clone(),
        }
    }

    /// Whether two processes ran under the same conditions. The step of the clock is none of them: each process
    /// measures it anew, and it comes out a little different.
    pub fn is_like(&self, other: &Self) -> bool {
        let Self { worker, worker_digest, program, protocol, meters, clock_resolution_ns: _, facts, threads } =
            self;
        (*worker, worker_digest, program, *protocol)
            == (other.worker, &other.worker_digest, &other.program, other.protocol)
            && (meters, facts, threads) == (&other.meters, &other.facts, &other.threads)
    }
}
