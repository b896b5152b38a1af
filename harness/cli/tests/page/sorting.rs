//! Tables that can be sorted: by every column, in both directions, with the mouse and with keys.

use crate::documents::Document;
use crate::tab::{Key, Point, Tab, View};

/// Sorts every table.
pub(crate) fn check(tab: &mut Tab<'_>, document: &Document) -> Vec<String> {
    open(tab, document);
    if tab.evaluate("probe.canSort()").unwrap() == false {
        return document.lacks("table to sort");
    }
    let mut findings = tab.findings("sortParts()");
    if !findings.is_empty() {
        return findings;
    }
    findings.extend(tab.findings("sortByEachColumn()"));
    findings.extend(tab.reported());
    if findings.is_empty() {
        findings.extend(check_mouse(tab, document));
    }
    if findings.is_empty() {
        findings.extend(check_keys(tab, document));
    }
    findings
}

/// Opens it afresh, because the first click is the one that sorts ascending.
fn open(tab: &mut Tab<'_>, document: &Document) {
    tab.open(document.url(), View::of_width(1000));
    tab.evaluate("probe.unfold()").unwrap();
}

fn check_mouse(tab: &mut Tab<'_>, document: &Document) -> Vec<String> {
    open(tab, document);
    let Some(button) = Point::from_json(&tab.evaluate("probe.columnToSort()").unwrap()) else {
        return document.lacks("table with two values in a column");
    };
    let mut findings = Vec::new();
    for direction in ["ascending", "descending"] {
        tab.click(button);
        findings.extend(tab.findings(&format!("columnIs('{direction}')")));
    }
    findings.extend(tab.reported());
    findings
}

fn check_keys(tab: &mut Tab<'_>, document: &Document) -> Vec<String> {
    open(tab, document);
    if tab.evaluate("probe.columnToSort()").unwrap().is_null() {
        return Vec::new();
    }
    // Away from the button and back to it: so it has its turn among all that the key leads to.
    tab.evaluate("probe.focusOnButton()").unwrap();
    tab.press(Key::ShiftTab);
    let mut findings = Vec::new();
    if tab.evaluate("probe.buttonHasFocus()").unwrap() == true {
        findings.push("the Tab key does not leave the button that sorts".to_owned());
    }
    tab.press(Key::Tab);
    for direction in ["ascending", "descending"] {
        if tab.evaluate("probe.buttonHasFocus()").unwrap() == false {
            findings
                .push(format!("the button that sorts has no focus before the table is sorted {direction}"));
            return findings;
        }
        tab.press(Key::Enter);
        findings.extend(tab.findings(&format!("columnIs('{direction}')")));
    }
    findings.extend(tab.reported());
    findings
}
