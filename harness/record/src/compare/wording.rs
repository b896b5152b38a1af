//! Words and units of a metric for the sentence of a judgement.

use perfharness_contract::{Direction, MetricDef, MetricKind, standard};
use perfharness_verdict::judge::{Judgement, Wording, sentence};

use crate::baseline::SPEED_UP;
use crate::units;

/// The sentence of a judgement about a metric, or about a benchmark as a whole.
pub(super) fn sentence_of(judgement: &Judgement, metric: Option<&MetricDef>) -> String {
    let unit = metric.map_or("", |metric| metric.unit.as_str());
    let figure = |value: f64| units::value(unit, value);
    let (more, less) = match metric {
        Some(metric) if metric.id.as_str() == SPEED_UP => {
            ("faster against its reference", "less fast against its reference")
        }
        Some(metric) if metric.kind == MetricKind::Time => ("slower", "faster"),
        Some(metric) if metric.unit == "count" => ("more", "fewer"),
        _ => ("more", "less"),
    };
    sentence(judgement, &Wording { more, less, figure: &figure })
}

/// The definition of the speed-up of a variant over its reference, which is judged like a metric.
pub(super) fn speed_up() -> MetricDef {
    let mut definition = standard::harness_metrics().remove(0);
    if let Ok(id) = perfharness_contract::Name::new(SPEED_UP) {
        definition.id = id;
    }
    MetricDef {
        title: "speed-up over its reference".into(),
        unit: "times".into(),
        kind: MetricKind::Derived,
        direction: Direction::Higher,
        ..definition
    }
}
