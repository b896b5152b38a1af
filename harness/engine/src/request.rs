//! The part of a request that the journal keeps.

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::Effort;
use perfharness_record::{Design, LookPlan, WorkerCommand};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{CasePlan, NO_BUDGET, Plan};

/// Request for a run, from arguments and configuration together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRequest {
    /// Patterns that select benchmarks.
    pub patterns: Vec<String>,
    /// Effort, which decides cases, launches and time.
    pub effort: Effort,
    /// Time for the whole run; the effort's own where absent.
    pub time_budget: Option<Duration>,
    /// Seed of every input and order.
    pub seed: u64,
    /// The GPU to use.
    pub device: String,
    /// Settings of the workloads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The workers.
    pub workers: Vec<WorkerCommand>,
    /// A fixed number of launches in place of the effort's looks.
    pub launches: Option<u32>,
    /// Memory that a worker may use.
    pub memory_limit_bytes: Option<u64>,
    /// Time that a worker has to answer.
    pub timeout: Duration,
}

impl RunRequest {
    /// A request with the defaults of the program: seed 1, the first adapter, an effort's own time.
    pub fn new(
        patterns: impl IntoIterator<Item = impl Into<String>>,
        effort: Effort,
        workers: Vec<WorkerCommand>,
    ) -> Self {
        Self {
            patterns: patterns.into_iter().map(Into::into).collect(),
            effort,
            time_budget: None,
            seed: 1,
            device: "auto".into(),
            settings: BTreeMap::new(),
            workers,
            launches: None,
            memory_limit_bytes: None,
            timeout: Duration::from_mins(2),
        }
    }

    /// The plan for these cases, of which so many are timed, with the settings that the workers get.
    pub(crate) fn plan(&self, cases: Vec<CasePlan>, settings: BTreeMap<String, String>, timed: u32) -> Plan {
        let mut design = Design::of(self.effort);
        if let Some(launches) = self.launches {
            design.looks = LookPlan::Fixed { launches };
        }
        // A fixed number of launches is meant: without a budget of the user's own it is not cut short.
        let effort_budget = match self.launches {
            Some(_) => NO_BUDGET,
            None => Design::budget(self.effort, timed),
        };
        Plan {
            seed: self.seed,
            device: self.device.clone(),
            settings,
            effort: self.effort,
            budget: self.time_budget.unwrap_or(effort_budget),
            timeout: self.timeout,
            memory_limit_bytes: self.memory_limit_bytes,
            design,
            cases,
        }
    }
}
