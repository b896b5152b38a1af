//! Slowdowns that are planted to see whether a row can vary.

use std::collections::BTreeMap;

use perfharness_contract::{BenchmarkId, Number, standard};
use perfharness_verdict::judge::{Judgement, RowTerms, Suspicion, Verdict, Why, share_to_plant};

use super::Judging;
use crate::SampleRecord;
use crate::compare::report::{Against, GateReport, GateRow, PlantedRow};

/// Share of a planted slowdown that the interval of a row must hold, or the row cannot vary.
const FOLLOWS: f64 = 0.5;

/// A slowdown to plant in a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plant {
    /// The extra work, as a share.
    pub share: f64,
    /// The terms of the row.
    pub terms: RowTerms,
}

impl Plant {
    /// The slowdown for a row that could have seen a log-ratio of `could_see`, and is judged by this threshold and spread of
    /// layouts: the next step of the ladder that is at least 1.5 times as large.
    pub fn of(could_see: f64, (threshold, layout_spread): (f64, f64)) -> Option<Self> {
        let terms = RowTerms { threshold, must_see: could_see, calibrated: None, layout_spread };
        Some(Self { share: share_to_plant(could_see)?, terms })
    }
}

/// The slowdowns to plant for the rows of a gate that count: one for each benchmark whose time was judged.
pub fn plants(report: &GateReport) -> BTreeMap<BenchmarkId, Plant> {
    let mut plants = BTreeMap::new();
    let is_wall = |row: &&GateRow| row.metric.as_deref() == Some(standard::WALL_TIME);
    for row in report.rows.iter().filter(is_wall).filter(|row| row.judgement.gates()) {
        let plant = row.judgement.evidence.could_see().zip(row.judgement.evidence.limits());
        let plant = plant.and_then(|(could_see, limits)| Plant::of(could_see, limits));
        if let (Ok(id), Some(plant)) = (row.benchmark.parse(), plant) {
            plants.insert(id, plant);
        }
    }
    plants
}

impl Judging<'_> {
    /// Judges the planted slowdowns by the rule of any other time. A row that did not see its own is open.
    pub(super) fn planted(&self) -> (Vec<PlantedRow>, Vec<GateRow>) {
        let (mut found, mut open) = (Vec::new(), Vec::new());
        let Some(planted) = self.record.planted.as_ref().map(|planted| planted.section()) else {
            return (found, open);
        };
        for head in planted.benchmarks {
            let Some(share) = head.sample.as_ref().and_then(SampleRecord::planted_share) else { continue };
            let Some(definition) = self.record.metric(&head.id.workload, standard::WALL_TIME) else {
                continue;
            };
            let comparison = planted.pair(&head.id, &head.id, standard::WALL_TIME);
            let judgement = comparison.zip(planted.case_of(&head.id)).and_then(|(comparison, case)| {
                self.judge_comparison(comparison, case, &self.subject(&head.id, head.role, definition))
            });
            let estimate = comparison.map(|comparison| &comparison.estimate);
            let effect = estimate.map(|estimate| estimate.theta);
            let is_seen = judgement.as_ref().is_some_and(|j| j.verdict == Verdict::Regressed);
            let upper = estimate.and_then(|estimate| estimate.interval).map(|interval| interval.upper);
            let can_vary = upper.is_none_or(|upper| upper >= FOLLOWS * share.ln_1p());
            found.push(PlantedRow {
                benchmark: head.id.to_string(),
                share,
                effect,
                launches: estimate.map_or(0, |estimate| estimate.launches),
                is_seen,
                can_vary,
            });
            if !is_seen {
                let why = match effect.filter(|_| !can_vary) {
                    Some(effect) => {
                        Why::Suspect(Suspicion::CannotVary { planted: Number(share), effect: Number(effect) })
                    }
                    None => Why::NotSeen { planted: Number(share), effect: effect.map(Number) },
                };
                let judgement = match judgement {
                    Some(judgement) => judgement.doubt(why),
                    None => Judgement::unusable(why),
                };
                open.push(self.row(&head.id.to_string(), Some(definition), Against::Planted, judgement));
            }
        }
        (found, open)
    }
}
