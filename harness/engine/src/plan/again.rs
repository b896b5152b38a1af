//! Cases that a run adds for what its first cases showed.

use std::collections::BTreeMap;

use perfharness_contract::{BenchmarkId, standard};
use perfharness_record::{ComparisonRecord, LookPlan, Origin, RunRecord, Side, Stage};
use perfharness_verdict::judge::share_to_plant;

use super::{CaseDesign, CasePlan, Plan};

/// Cases that confirm, by fresh launches, what the first ones flagged: each flagged benchmark with its reference, and its
/// number of launches.
pub fn confirmation(plan: &Plan, flags: &BTreeMap<BenchmarkId, u32>) -> Vec<CasePlan> {
    let mut cases = Vec::new();
    for case in plan.cases.iter().filter(|case| case.design.stage.is_first()) {
        for side in case.sides.iter().filter(|side| side.origin == Origin::Head) {
            let Some(launches) = flags.get(&side.benchmark) else { continue };
            let reference = side.reference.map(|at| Side { reference: None, ..case.sides[at].clone() });
            let ours = Side { reference: reference.is_some().then_some(0), ..side.clone() };
            let design = CaseDesign {
                looks: Some(LookPlan::Fixed { launches: *launches }),
                stage: Stage::Confirmation,
                ..CaseDesign::default()
            };
            cases.push(CasePlan {
                sides: reference.into_iter().chain([ours]).collect(),
                design,
                ..case.clone()
            });
        }
    }
    cases
}

/// The pairs again, each with a slowdown that nine of ten such runs should find.
pub fn planted(plan: &Plan, record: &RunRecord) -> Vec<CasePlan> {
    let comparisons = record.base.as_ref().map(|base| base.comparisons.as_slice()).unwrap_or_default();
    let again = |case: &CasePlan| {
        let head = case.sides.iter().find(|side| side.origin == Origin::Head)?;
        let is_wall =
            |c: &&ComparisonRecord| c.candidate == head.benchmark && c.metric.as_str() == standard::WALL_TIME;
        let comparison = comparisons.iter().find(is_wall)?;
        let share = share_to_plant(comparison.smallest_detectable?)?;
        let launches = comparison.launches.len() as u32;
        Some(CasePlan {
            design: CaseDesign {
                looks: Some(LookPlan::Fixed { launches }),
                terms: None,
                planted: Some(share),
                stage: Stage::Planted,
            },
            ..case.clone()
        })
    };
    plan.cases.iter().filter(|case| case.design.stage.is_first()).filter_map(again).collect()
}
