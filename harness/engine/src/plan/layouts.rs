//! Cases that compare the layouts of both builds before a pair is judged.

use perfharness_record::{LookPlan, Origin, Side, Stage, WorkerCommand};

use super::pairs::needs_gpu;
use super::{CaseDesign, CasePlan, Catalog};

/// Launches in which all layouts of both builds are compared.
pub const LAYOUT_LAUNCHES: u32 = 3;
/// The same where those explain a change. A process that is slow from its start to its end looks like a slow layout, and some
/// layout has only such ones in three launches where every second process is one. Below the fewest launches of a pair, so that
/// they come first.
pub const MOST_LAYOUT_LAUNCHES: u32 = 7;

/// Puts before each pair, where both programs have several layouts, a case with all of them. `workers` are those of all
/// sides, by number.
pub fn with_layouts(pairs: Vec<CasePlan>, catalog: &Catalog, workers: &[&WorkerCommand]) -> Vec<CasePlan> {
    let of = |pair: CasePlan| layouts(&pair, catalog, workers).into_iter().chain([pair]);
    pairs.into_iter().flat_map(of).collect()
}

fn layouts(pair: &CasePlan, catalog: &Catalog, workers: &[&WorkerCommand]) -> Option<CasePlan> {
    // What is measured for its counts alone has no time that a layout could change.
    if pair.design.looks.is_some() || !pair.sides.iter().any(|side| side.origin == Origin::Base) {
        return None;
    }
    let count = |side: &Side| workers.get(side.worker).map_or(0, |worker| worker.layouts.len());
    // Both builds have the same ones.
    let count = pair.sides.iter().map(count).min()? as u32;
    // A GPU is timed by what it computes, whatever the layout of the program.
    if count < 2 || needs_gpu(catalog, pair) {
        return None;
    }
    let in_each = |side: &Side| {
        let side = Side { reference: None, ..side.clone() };
        (0..count).map(move |layout| Side { layout: Some(layout), ..side.clone() })
    };
    Some(CasePlan {
        sides: pair.sides.iter().flat_map(in_each).collect(),
        design: CaseDesign {
            looks: Some(LookPlan::Fixed { launches: MOST_LAYOUT_LAUNCHES }),
            stage: Stage::Layouts,
            ..CaseDesign::default()
        },
        ..pair.clone()
    })
}
