//! The filter: it hides what does not match, and its state lives in the address.

use serde_json::{Value, json};

use crate::documents::{Document, Kind};
use crate::tab::{Key, Point, Tab, View};

/// A text that is nowhere in a page.
const NOWHERE: &str = "zqxjkv";

/// The width of the window; the filter is the same in each.
const WIDTH: u32 = 1000;

/// A step leads on to the next one only where it found nothing: what is wrong is wrong in the steps behind it, too.
type Step = Result<(), Vec<String>>;

/// Sets the filter in every way, by choice, by typing and by address.
pub(crate) fn check(tab: &mut Tab<'_>, document: &Document) -> Vec<String> {
    tab.open(document.url(), View::of_width(WIDTH));
    if tab.evaluate("probe.hasFilter()").unwrap() == false {
        return document.lacks("filter");
    }
    let mut findings = check_steps(tab, document).err().unwrap_or_default();
    findings.extend(tab.reported());
    findings
}

fn check_steps(tab: &mut Tab<'_>, document: &Document) -> Step {
    none(tab.findings(&format!("filterParts({})", document.kind() != Kind::Index)))?;
    none(tab.findings("unofferedValues()"))?;
    none(tab.findings("filterChoices()"))?;
    check_typing(tab)?;
    none(tab.reported())?;
    let wishes = ask(tab, "wishes()")?;
    let [first, second] = wishes.as_array().unwrap().as_slice() else {
        return none(document.lacks("second value to filter by"));
    };
    check_links(tab, document, first)?;
    check_address(tab, document, second, first)
}

fn none(findings: Vec<String>) -> Step {
    if findings.is_empty() { Ok(()) } else { Err(findings) }
}

/// A question to the page, which may have gone away.
fn ask(tab: &mut Tab<'_>, question: &str) -> Result<Value, Vec<String>> {
    tab.evaluate(&format!("probe.{question}"))
        .map_err(|gone| vec![format!("{question} has no answer: {gone}")])
}

/// Insists that the filter shows what is wanted, at an anchor.
fn settle(tab: &mut Tab<'_>, want: &Value, anchor: &str) -> Step {
    none(tab.findings(&format!("filterSettled({want}, {})", json!(anchor))))
}

/// Types into the field for text, on a page without a filter.
fn check_typing(tab: &mut Tab<'_>) -> Step {
    let known = ask(tab, "textsToLookFor()")?;
    let known = known.as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    let mut counts = Vec::new();
    for text in known.chain([NOWHERE]) {
        let field = ask(tab, "bringField('text')")?;
        tab.click(Point::from_json(&field).unwrap());
        tab.write(text);
        // A form is sent with this key, which would leave the page.
        tab.press(Key::Enter);
        settle(tab, &json!({ "text": text }), "")?;
        counts.push(ask(tab, "countText()")?);
        ask(tab, "choose({})")?;
        settle(tab, &json!({}), "")?;
    }
    match counts.as_slice() {
        [something, .., nothing] if something == nothing => {
            Err(vec![format!("the count is the same, {something}, for something and for nothing")])
        }
        _ => Ok(()),
    }
}

/// Follows a link with a filter set, and then opens the address that this led to.
fn check_links(tab: &mut Tab<'_>, document: &Document, want: &Value) -> Step {
    tab.open(document.url(), View::of_width(WIDTH));
    ask(tab, &format!("choose({want})"))?;
    settle(tab, want, "")?;
    let link = ask(tab, "linkToClick()")?;
    let Some(place) = Point::from_json(&link) else {
        return none(document.lacks("link within the page that a filter leaves"));
    };
    let anchor = link["anchor"].as_str().unwrap();
    let arrived = format!("arrived({})", json!(anchor));
    tab.click(place);
    settle(tab, want, anchor)?;
    none(tab.findings(&arrived))?;
    // Another choice keeps the place.
    ask(tab, "choose({})")?;
    settle(tab, &json!({}), anchor)?;
    open_with(tab, document, want, anchor)?;
    settle(tab, want, anchor)?;
    none(tab.findings(&arrived))
}

/// Opens an address with a filter, then another one in the same page.
fn check_address(tab: &mut Tab<'_>, document: &Document, first: &Value, second: &Value) -> Step {
    open_with(tab, document, first, "")?;
    settle(tab, first, "")?;
    tab.evaluate(&format!("location.hash = probe.fragment({second}, '')")).unwrap();
    settle(tab, second, "")
}

/// Opens a document at a place and with a filter.
fn open_with(tab: &mut Tab<'_>, document: &Document, want: &Value, anchor: &str) -> Step {
    let fragment = ask(tab, &format!("fragment({want}, {})", json!(anchor)))?;
    tab.open(&format!("{}{}", document.url(), fragment.as_str().unwrap()), View::of_width(WIDTH));
    Ok(())
}
