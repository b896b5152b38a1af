//! Claims of the documents, and whether they hold here.

use perfharness_contract::ClaimDef;
use perfharness_record::{ClaimRecord, ClaimStatus, RunRecord};
use serde::Serialize;

use super::{Badge, StatusCount, Tone, fragment};
use crate::render::claims::{ClaimWords, status};
use crate::render::table::grouped;

/// One claim with the cases that it was tried in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ClaimGroup {
    pub workload: String,
    pub statement: String,
    /// Document and section.
    pub source: String,
    /// A note needed to interpret the result.
    pub note: Option<String>,
    pub cases: Vec<ClaimCase>,
}

/// One claim in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ClaimCase {
    /// The case; absent for a claim that no measurement can decide.
    pub case: Option<String>,
    pub fragment: Option<String>,
    /// Whether it holds.
    pub status: Badge,
    pub promised: String,
    pub measured: String,
    pub interval: Option<String>,
    /// The compared variants.
    pub sides: Option<String>,
    /// The reason that it is undecided or not measurable.
    pub reason: Option<String>,
}

impl ClaimGroup {
    /// Whether it was tried in a case.
    pub(crate) fn was_tried(&self) -> bool {
        self.cases.iter().any(|case| case.case.is_some())
    }
}

pub(super) fn claims(record: &RunRecord) -> Vec<ClaimGroup> {
    let claims = record.claims.iter().filter_map(|claim| {
        let words = ClaimWords::of(record, claim)?;
        Some(((claim.workload.as_str(), words.definition), one(claim, &words)))
    });
    let group = |((workload, definition), cases): ((&str, &ClaimDef), _)| ClaimGroup {
        workload: workload.to_owned(),
        statement: definition.statement.clone(),
        source: definition.source.clone(),
        note: definition.note.clone(),
        cases,
    };
    let mut groups: Vec<ClaimGroup> = grouped(claims).into_iter().map(group).collect();
    // Tried claims first: only few readers care about those that no measurement decides.
    groups.sort_by_key(|group| !group.was_tried());
    groups
}

fn one(claim: &ClaimRecord, words: &ClaimWords<'_>) -> ClaimCase {
    let measured = claim.measured.is_some();
    ClaimCase {
        case: claim.case.as_ref().map(ToString::to_string),
        fragment: claim.case.as_ref().map(|case| fragment("case", &format!("{}/{case}", claim.workload))),
        status: badge(claim.status),
        promised: words.promised.clone().unwrap_or_else(|| "no figure".into()),
        measured: words.measured.clone().unwrap_or_else(|| "–".into()),
        interval: words.interval.clone(),
        sides: measured.then(|| words.sides()),
        reason: claim.reason.clone(),
    }
}

fn badge(of: ClaimStatus) -> Badge {
    let (sign, tone) = match of {
        ClaimStatus::Met => ("✔", Tone::Good),
        ClaimStatus::NotMet => ("✖", Tone::Bad),
        ClaimStatus::Undecided => ("?", Tone::Open),
        ClaimStatus::NotMeasurable => ("–", Tone::Plain),
    };
    Badge::new(sign, status(of), tone)
}

pub(super) fn tally(record: &RunRecord) -> Vec<StatusCount> {
    let all = [ClaimStatus::Met, ClaimStatus::NotMet, ClaimStatus::Undecided, ClaimStatus::NotMeasurable];
    let count = |status| record.claims.iter().filter(|claim| claim.status == status).count();
    all.into_iter()
        .map(|status| (badge(status), count(status)))
        .filter(|(_, count)| *count > 0)
        .map(|(badge, count)| StatusCount { word: badge.word, tone: badge.tone, count })
        .collect()
}
