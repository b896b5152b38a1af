//! Cases that a run adds for what its first cases showed.

use std::collections::BTreeMap;

use perfharness_contract::BenchmarkId;
use perfharness_record::compare::Plant;
use perfharness_record::{LookPlan, Origin, Side, Stage};

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

/// Cases that show whether a row can vary: each benchmark beside itself, with a slowdown planted in one of the two.
///
/// Both sides are the judged code, so that what it changed does not add to the slowdown.
pub fn planted(plan: &Plan, plants: &BTreeMap<BenchmarkId, Plant>) -> Vec<CasePlan> {
    let mut cases = Vec::new();
    for case in plan.cases.iter().filter(|case| case.design.stage.is_first()) {
        for side in case.sides.iter().filter(|side| side.origin == Origin::Head) {
            let Some(Plant { share, terms }) = plants.get(&side.benchmark) else { continue };
            let design = CaseDesign {
                // It ends as soon as it is seen, and not by chance before.
                looks: Some(LookPlan::Sequential),
                terms: Some(*terms),
                planted: Some(*share),
                stage: Stage::Planted,
            };
            let before = Side { origin: Origin::Base, reference: None, ..side.clone() };
            let ours = Side { reference: Some(0), ..side.clone() };
            cases.push(CasePlan { sides: vec![before, ours], design, ..case.clone() });
        }
    }
    cases
}
