//! What the user asks of a run, from arguments and configuration together.

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::Effort;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::{NO_BUDGET, Plan, Selection};
use perfharness_record::WorkerCommand;
use perfharness_record::{Design, LookPlan, Pattern, PatternError};

/// What the user asks of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRequest {
    /// Patterns that select benchmarks.
    pub patterns: Vec<String>,
    /// How much time to take.
    pub effort: Effort,
    /// Time for the whole run; the effort's own where absent.
    pub time_budget: Option<Duration>,
    /// Seed of every input and order.
    pub seed: u64,
    /// The GPU to use.
    pub device: String,
    /// What the user set for the workloads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The workers.
    pub workers: Vec<WorkerCommand>,
    /// A fixed number of launches in place of the effort's looks.
    pub launches: Option<u32>,
    /// Memory that a worker may use.
    pub memory_limit_bytes: Option<u64>,
    /// How long a worker may take to answer.
    pub timeout: Duration,
}

impl RunRequest {
    /// The patterns, read.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn parsed_patterns(&self) -> Result<Vec<Pattern>, PatternError> {
        self.patterns.iter().map(|text| text.parse()).collect()
    }

    /// The plan for what was selected.
    pub fn plan(&self, selection: Selection) -> Plan {
        let mut design = Design::of(self.effort);
        if let Some(launches) = self.launches {
            design.looks = LookPlan::Fixed { launches };
        }
        let runnable = |case: &&crate::plan::CasePlan| case.sides.iter().any(|s| s.skip.is_none());
        let cases = selection.cases.iter().filter(runnable).count() as u32;
        // A fixed number of launches is meant: without a budget of the user's own it is not cut short.
        let effort_budget = match self.launches {
            Some(_) => NO_BUDGET,
            None => Design::budget(self.effort, cases),
        };
        Plan {
            seed: self.seed,
            device: self.device.clone(),
            settings: self.settings.clone(),
            effort: self.effort,
            budget: self.time_budget.unwrap_or(effort_budget),
            timeout: self.timeout,
            memory_limit_bytes: self.memory_limit_bytes,
            design,
            cases: selection.cases,
        }
    }
}
