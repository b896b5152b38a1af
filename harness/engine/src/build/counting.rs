//! Instructions of benchmarks, from counted launches.

use perfharness_contract::{MetricDef, standard};
use perfharness_record::{Counting, FunctionCount, MetricRecord};
use perfharness_verdict::median;

use super::{absent, values};
use crate::measure::{Counted, RunState};

/// Adds the time that counting took.
pub(super) fn with_time(counting: Counting, state: &RunState) -> Counting {
    let sides = state.cases.iter().flat_map(|case| &case.sides);
    let spent = sides.filter_map(|side| side.counted.as_ref()).map(|(_, ns)| *ns as f64 / 1e9).sum();
    match counting {
        Counting::By { tool, .. } => Counting::By { tool, seconds: spent },
        none @ Counting::Absent { .. } => none,
    }
}

/// Returns the instructions of a side by the name of the metric, demoted where no two pairs agree, and its functions.
pub(super) fn of_side(
    counted: Option<&Counted>,
    counting: &Counting,
    metrics: &[MetricDef],
) -> (Option<(String, MetricRecord)>, Vec<FunctionCount>) {
    let Some(metric) = metrics.iter().find(|metric| metric.id == *standard::INSTRUCTIONS) else {
        return (None, Vec::new());
    };
    let (record, functions) = match (counted, counting) {
        (Some(Counted::Instructions { pairs, agree, functions, .. }), _) => {
            let all: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
            let middle = median(&all).unwrap_or(f64::NAN);
            (values(metric, metric.kind, middle, &all, !agree), functions.clone())
        }
        (Some(Counted::Absent { absent: why }), _) | (None, Counting::Absent { absent: why }) => {
            (absent(metric, why), Vec::new())
        }
        (None, Counting::By { .. }) => (absent(metric, "the run ended before it was counted"), Vec::new()),
    };
    (Some((metric.id.to_string(), record)), functions)
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Number;

    use super::*;

    fn by(tool: &str) -> Counting {
        Counting::By { tool: tool.into(), seconds: 0.0 }
    }

    #[test]
    fn counts_that_never_agree_are_demoted() {
        let of = |pairs: &[f64], agree| {
            let pairs = pairs.iter().map(|pair| Number(*pair)).collect();
            let counted =
                Counted::Instructions { pairs, agree, iterations: 1, functions: Vec::new(), reach: None };
            let counting = by("valgrind 3.19.0");
            of_side(Some(&counted), &counting, &standard::harness_metrics()).0.unwrap().1
        };
        let exact = of(&[700.0, 700.0], true);
        assert_eq!((exact.value.value(), exact.launches.len(), exact.demoted), (Some(700.0), 2, false));
        let varied = of(&[700.0, 720.0, 790.0], false);
        assert_eq!((varied.value.value(), varied.launches.len(), varied.demoted), (Some(720.0), 3, true));
    }

    #[test]
    fn what_was_not_counted_says_why() {
        let reason = |counted, counting: &Counting| {
            let counted: Option<Counted> = counted;
            let (found, functions) = of_side(counted.as_ref(), counting, &standard::harness_metrics());
            assert!(functions.is_empty());
            found.unwrap().1.value.absence().map(str::to_owned)
        };
        let absent = Counted::Absent { absent: "it computes on a GPU".into() };
        assert_eq!(reason(Some(absent), &by("t 3.1")).unwrap(), "it computes on a GPU");
        assert_eq!(reason(None, &Counting::Absent { absent: "off".into() }).unwrap(), "off");
        assert!(reason(None, &by("t 3.1")).unwrap().contains("ended before"));
    }
}
