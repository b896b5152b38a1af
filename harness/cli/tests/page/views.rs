//! What holds in every view: nothing is reported, nothing is fetched, nothing sticks out, and every link leads
//! somewhere.

use std::fs;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use perfharness_platform::env;

use crate::documents::Document;
use crate::tab::{Tab, View};

/// A telephone, a window beside another one, and a large window.
const WIDTHS: [u32; 3] = [400, 1000, 1600];

/// Printable width of A4 at 96 pixels per inch.
const PAPER: u32 = 700;

/// Well below the largest texture of every GPU, because Chromium leaves blank what is beyond it.
const TALLEST_PICTURE: u32 = 8_000;

/// Every width, light and dark, with and without script.
pub(crate) fn all() -> Vec<View> {
    let mut views = on_screen();
    views.extend(on_screen().into_iter().map(View::without_script));
    views
}

fn on_screen() -> Vec<View> {
    let views = WIDTHS.map(View::of_width).into_iter();
    views.flat_map(|view| [view, view.dark()]).collect()
}

/// Opens a document in each view and looks at it.
pub(crate) fn check(tab: &mut Tab<'_>, document: &Document, views: &[View]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut colors = Vec::new();
    for &view in views {
        tab.open(document.url(), view);
        let mut found = tab.findings("unfit()");
        found.extend(tab.findings("deadLinks()"));
        found.extend(tab.findings("doubleIds()"));
        found.extend(tab.findings("outside()"));
        found.extend(tab.findings(&format!("partsOfTheScript({})", view.script)));
        found.extend(tab.reported());
        findings.extend(found.into_iter().map(|finding| format!("{view}: {finding}")));
        colors.push((view.dark, tab.evaluate("probe.colors()").unwrap()));
    }
    let light = colors.iter().find(|(dark, _)| !dark);
    let dark = colors.iter().find(|(dark, _)| *dark);
    if let (Some((_, light)), Some((_, dark))) = (light, dark)
        && light == dark
    {
        findings.push(format!("looks the same, {light}, for users who prefer dark pages"));
    }
    findings
}

/// Leaves pictures in the folder that `PERFHARNESS_SCREENSHOTS` names, where it does.
pub(crate) fn take_screenshots(tab: &mut Tab<'_>, document: &Document) {
    let Some(folder) = env::var("PERFHARNESS_SCREENSHOTS").filter(|folder| !folder.is_empty()) else {
        return;
    };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder).unwrap();
    for view in on_screen() {
        let name = format!("{}-{}-{}", document.name(), view.width, view.scheme());
        take(tab, document, view, folder, &name);
    }
    let print = View { print: true, ..View::of_width(PAPER) };
    take(tab, document, print, folder, &format!("{}-print", document.name()));
}

/// A picture of the whole page, in several where it is too tall for one.
fn take(tab: &mut Tab<'_>, document: &Document, view: View, folder: &Path, name: &str) {
    tab.open(document.url(), view);
    for (number, picture) in tab.screenshots(view.width, TALLEST_PICTURE).into_iter().enumerate() {
        let part = if number == 0 { String::new() } else { format!("-{}", number + 1) };
        fs::write(folder.join(format!("{name}{part}.png")), BASE64_STANDARD.decode(picture).unwrap())
            .unwrap();
    }
}
