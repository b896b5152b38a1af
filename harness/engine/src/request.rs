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

    /// The plan for these cases, of which so many are timed, with the settings that the workers get. A gate compares with a
    /// base.
    pub(crate) fn plan(
        &self,
        cases: Vec<CasePlan>,
        settings: BTreeMap<String, String>,
        timed: u32,
        is_gate: bool,
    ) -> Plan {
        let mut design = Design::of(self.effort);
        let (looks, effort_budget) = match self.launches {
            // A fixed number of launches is meant: without a budget of the user's own it is not cut short.
            Some(launches) => (LookPlan::Fixed { launches }, NO_BUDGET),
            // A row of a gate that cannot be decided yet goes on in every effort.
            None if is_gate => (LookPlan::Sequential, Design::budget_of_gate(self.effort, timed)),
            None => (design.looks, Design::budget(self.effort, timed)),
        };
        design.looks = looks;
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
            on_gpu: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_looks_several_times_in_every_effort_unless_the_launches_are_fixed() {
        let plan = |effort, launches, is_gate| {
            let request = RunRequest { launches, ..RunRequest::new(["all"], effort, Vec::new()) };
            let Plan { design, budget, .. } = request.plan(Vec::new(), BTreeMap::new(), 24, is_gate);
            (design.looks, budget)
        };
        for effort in [Effort::Quick, Effort::Standard, Effort::Thorough] {
            assert_eq!(plan(effort, None, true).0, LookPlan::Sequential);
            assert_eq!(plan(effort, Some(5), true), (LookPlan::Fixed { launches: 5 }, NO_BUDGET));
        }
        assert_eq!(plan(Effort::Quick, None, true).1, Duration::from_mins(2));
        let quick_run = (LookPlan::Fixed { launches: 8 }, Duration::from_secs(80));
        assert_eq!(plan(Effort::Quick, None, false), quick_run);
    }
}
