//! Points of a plot: the pointer over one shows what it is, and away from it shows nothing.

use crate::documents::{Document, Kind};
use crate::tab::{Point, Tab, View};

/// Positions with much room for a tip, and with little.
const WIDTHS: [u32; 2] = [1000, 400];

/// Moves the pointer over a point of each plot.
pub(crate) fn check(tab: &mut Tab<'_>, document: &Document) -> Vec<String> {
    let mut findings = Vec::new();
    for width in WIDTHS {
        tab.open(document.url(), View::of_width(width));
        tab.evaluate("probe.unfold()").unwrap();
        let count = tab.evaluate("probe.countPoints()").unwrap().as_u64().unwrap();
        if count == 0 {
            return if document.kind() == Kind::Report {
                document.lacks("plot with a point")
            } else {
                Vec::new()
            };
        }
        // One failing point is enough.
        let found = (0..count).map(|index| check_point(tab, index)).find(|found| !found.is_empty());
        let found = found.into_iter().flatten().chain(tab.reported());
        findings.extend(found.map(|finding| format!("{width} px: {finding}")));
        if !findings.is_empty() {
            break;
        }
    }
    findings
}

fn check_point(tab: &mut Tab<'_>, index: u64) -> Vec<String> {
    let place = tab.evaluate(&format!("probe.pointAt({index})")).unwrap();
    tab.point_at(Point::from_json(&place).unwrap());
    let findings = tab.findings(&format!("tipShown({index})"));
    tab.point_at(Point::CORNER);
    if findings.is_empty() { tab.findings("tipGone()") } else { findings }
}
