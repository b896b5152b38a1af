//! Claims in words, for the terminal and the page.

use perfharness_contract::{ClaimDef, MetricDef, Promise};
use perfharness_record::{ClaimRecord, ClaimStatus, RunRecord, units};

/// The words of a claim.
pub(super) struct ClaimWords<'a> {
    /// The definition: the statement and its source.
    pub(super) definition: &'a ClaimDef,
    /// The measured value, e.g. `98.0 % fewer file writes`.
    pub(super) measured: Option<String>,
    /// Its interval.
    pub(super) interval: Option<String>,
    /// The promised value, e.g. `98.0 %` or `10.0× to 50.0×`.
    pub(super) promised: Option<String>,
}

impl<'a> ClaimWords<'a> {
    /// Finds the definition in the record. Returns `None` if it is missing, which no run causes.
    pub(super) fn of(record: &'a RunRecord, claim: &ClaimRecord) -> Option<Self> {
        let workload = record.workload(&claim.workload)?;
        let definition = workload.claims.iter().find(|c| c.id == claim.claim)?;
        let metric = record.metric(&workload.id, definition.metric.as_str());
        let unit = metric.map_or("", |m| m.unit.as_str());
        let show = |value: f64| figure(&claim.promise, unit, value);
        let phrase = phrase(&claim.promise, metric);
        Some(Self {
            definition,
            measured: claim.measured.map(|value| format!("{} {phrase}", show(value.0)).trim_end().to_owned()),
            interval: claim.interval.map(|i| format!("[{}, {}]", show(i.lower), show(i.upper))),
            promised: promised(&claim.promise, &show),
        })
    }

    /// Names the variants that the claim compares, or the one that it is about.
    pub(super) fn sides(&self) -> String {
        let ClaimDef { candidate, reference, .. } = self.definition;
        match self.definition.promise {
            Promise::Level { .. } => candidate.to_string(),
            _ => format!("{candidate} against {reference}"),
        }
    }
}

/// Returns a status in words.
pub(super) fn status(status: ClaimStatus) -> &'static str {
    match status {
        ClaimStatus::Met => "met",
        ClaimStatus::NotMet => "not met",
        ClaimStatus::Undecided => "undecided",
        ClaimStatus::NotMeasurable => "not measurable",
    }
}

fn figure(promise: &Promise, unit: &str, value: f64) -> String {
    match promise {
        Promise::Factor { .. } => units::factor(value),
        Promise::Reduction { .. } => units::percent(value),
        Promise::Saving { .. } | Promise::Level { .. } => units::value(unit, value),
        Promise::NotMeasurable { .. } => String::new(),
    }
}

fn phrase(promise: &Promise, metric: Option<&MetricDef>) -> String {
    match (promise, metric) {
        (Promise::Reduction { .. }, Some(m)) if m.unit == "count" => format!("fewer {}", m.label()),
        (Promise::Reduction { .. }, Some(m)) => format!("less {}", m.label()),
        (Promise::Saving { .. }, Some(m)) => format!("{} saved", m.label()),
        (Promise::Level { .. }, Some(m)) => m.label().to_owned(),
        (_, Some(m)) => format!("in {}", m.label()),
        (_, None) => String::new(),
    }
}

fn promised(promise: &Promise, show: &impl Fn(f64) -> String) -> Option<String> {
    let (least, most) = match promise {
        Promise::Factor { at_least, at_most }
        | Promise::Reduction { at_least, at_most }
        | Promise::Saving { at_least, at_most, .. }
        | Promise::Level { at_least: Some(at_least), at_most: at_most @ Some(_) } => (*at_least, *at_most),
        Promise::Level { at_least: Some(least), at_most: None } => {
            return Some(format!("at least {}", show(*least)));
        }
        Promise::Level { at_least: None, at_most: Some(most) } => {
            return Some(format!("at most {}", show(*most)));
        }
        Promise::Level { at_least: None, at_most: None } | Promise::NotMeasurable { .. } => return None,
    };
    Some(match most.filter(|most| *most != least) {
        Some(most) => format!("{} to {}", show(least), show(most)),
        None => show(least),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::least(Some(0.8), None, "at least 80.0 %")]
    #[case::most(None, Some(0.05), "at most 5.00 %")]
    #[case::both(Some(0.42), Some(0.43), "42.0 % to 43.0 %")]
    #[case::one_figure(Some(0.5), Some(0.5), "50.0 %")]
    fn the_bounds_of_a_level_are_named(
        #[case] at_least: Option<f64>,
        #[case] at_most: Option<f64>,
        #[case] words: &str,
    ) {
        let promise = Promise::Level { at_least, at_most };
        assert_eq!(promised(&promise, &|value| figure(&promise, "share", value)).unwrap(), words);
    }

    #[test]
    fn a_level_names_its_metric_and_its_one_variant() {
        let promise = Promise::Level { at_least: None, at_most: Some(0.05) };
        let share = perfharness_contract::gpu_metric::gpu_metrics();
        let share =
            share.iter().find(|metric| metric.id == *perfharness_contract::gpu_metric::GPU_BUSY_SHARE);
        assert_eq!(phrase(&promise, share), "GPU busy share");
        let definition = ClaimDef::new("c", "002", "idle", "gpu-busy-share", promise).of("slow");
        let words = ClaimWords { definition: &definition, measured: None, interval: None, promised: None };
        assert_eq!(words.sides(), "slow");
    }
}
