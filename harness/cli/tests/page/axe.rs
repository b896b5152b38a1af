//! The rules of axe-core: nothing that keeps users from reading or using a page.

use std::fs;
use std::path::Path;

use crate::documents::Document;
use crate::tab::{Tab, View};
use crate::tools;

/// axe-core as `npm ci` has put it beside these tests, or `None` where a test has to be skipped.
pub(crate) fn source() -> Option<String> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/node_modules/axe-core/axe.min.js");
    let source = fs::read_to_string(place).ok();
    if source.is_none() {
        tools::missing("axe-core from npm");
    }
    source
}

/// Both schemes, for contrasts, and both a wide and a narrow window, for what is scrolled or folded there.
pub(crate) fn views() -> [View; 3] {
    [View::of_width(1000), View::of_width(1000).dark(), View::of_width(400)]
}

/// Runs the rules in each view.
pub(crate) fn check(tab: &mut Tab<'_>, document: &Document, axe: &str, views: &[View]) -> Vec<String> {
    let mut findings = Vec::new();
    for &view in views {
        tab.open(document.url(), view);
        // `undefined`, because what an expression comes to is sent back.
        tab.evaluate(&format!("{axe}\nundefined;")).unwrap();
        let found = tab.findings("axeFindings()");
        findings.extend(found.into_iter().map(|finding| format!("{view}: {finding}")));
    }
    findings
}
