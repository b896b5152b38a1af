use serde::{Deserialize, Serialize};

use crate::Estimate;

/// The terms by which a time of one row is judged, and by which its measurement ends. Changes are log-ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowTerms {
    /// The smallest change that matters.
    pub threshold: f64,
    /// The change that a row must be able to see; one that sees less stays open.
    pub must_see: f64,
    /// The standard deviation of launch values of identical sides, as a calibration found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<f64>,
    /// The spread of the times that the same object code has when it is linked in other orders; 0 if it is not known.
    #[serde(default)]
    pub layout_spread: f64,
}

impl RowTerms {
    /// Whether the row needs no more launches, with the estimate at a look.
    pub fn is_settled(&self, estimate: &Estimate) -> bool {
        estimate.interval.is_some_and(|interval| interval.is_beyond(self.threshold).is_some())
    }
}
