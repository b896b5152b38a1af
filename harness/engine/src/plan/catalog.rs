//! Workloads of the workers of a run.

use perfharness_contract::WorkloadDef;
use perfharness_contract::protocol::HelloReply;
use perfharness_record::{Outcome, WorkerCommand};
use serde::{Deserialize, Serialize};

/// A worker and what became of asking it for its workloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerState {
    /// Command that starts it.
    pub command: WorkerCommand,
    /// SHA-256 over the files that its command names, where there are some.
    pub digest: Option<String>,
    /// Its answer to `hello`, if it gave one.
    pub hello: Option<HelloReply>,
    /// `ok`, or why it gave no workloads.
    pub outcome: Outcome,
}

/// One workload and the worker that runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct CatalogEntry {
    /// The worker, by its number in the run.
    pub worker: usize,
    /// Definition of the workload.
    pub definition: WorkloadDef,
}

/// All workloads of all workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Catalog {
    /// The workers, in the order of the arguments or the configuration.
    pub workers: Vec<WorkerState>,
    /// The workloads, in the workers' order.
    pub entries: Vec<CatalogEntry>,
}

impl Catalog {
    /// Takes up what a worker describes. A workload that contradicts itself, or has the name of another one, is left
    /// out; what is wrong with it is returned.
    pub fn add(&mut self, worker: usize, workloads: Vec<WorkloadDef>) -> Vec<String> {
        let mut problems = Vec::new();
        for definition in workloads {
            let mut own = definition.problems();
            if let Some(other) = self.entries.iter().find(|e| e.definition.id == definition.id) {
                let name = &self.workers[other.worker].command.name;
                own.push(format!("worker `{name}` has a workload of that name already"));
            }
            if own.is_empty() {
                self.entries.push(CatalogEntry { worker, definition });
            } else {
                problems.push(format!("workload `{}`: {}", definition.id, own.join("; ")));
            }
        }
        problems
    }

    /// The definition of a workload.
    pub fn definition(&self, workload: &str) -> Option<&WorkloadDef> {
        self.entries.iter().map(|e| &e.definition).find(|d| d.id == workload)
    }
}
