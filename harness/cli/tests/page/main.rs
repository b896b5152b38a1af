//! Pages in a browser: what `perfharness report` writes is opened in headless Chromium, looked at in every view,
//! clicked through, and judged by axe-core.
//!
//! The pages are those of the record that is kept beside the tests and of a short run, or, where
//! `PERFHARNESS_TEST_PAGE` is the path of one, that one. With `PERFHARNESS_SCREENSHOTS` a picture of each view is left
//! in the folder that it names.
//!
//! A check gives findings: sentences on what is wrong, none where all is well. `mistakes` holds pages with one mistake
//! each, and shows for each check that it finds what it looks for.

#[cfg(test)]
mod axe;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod devtools;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod filter;
#[cfg(test)]
mod hover;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod sorting;
#[cfg(test)]
mod tab;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod views;

#[cfg(test)]
mod tests {
    use crate::browser::Browser;
    use crate::documents::{Document, documents};
    use crate::tab::Tab;
    use crate::{axe, filter, hover, sorting, views};

    /// Makes one check of every document, and fails with all that it found.
    fn judge(check: impl Fn(&mut Tab<'_>, &Document) -> Vec<String>) {
        let Some(mut browser) = Browser::start() else { return };
        let mut tab = browser.tab();
        let mut findings = Vec::new();
        for document in documents().list() {
            let found = check(&mut tab, document);
            findings.extend(found.into_iter().map(|finding| format!("{}: {finding}", document.name())));
        }
        assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    }

    #[test]
    fn a_page_reads_well_in_every_view() {
        judge(|tab, document| {
            let findings = views::check(tab, document, &views::all());
            views::take_screenshots(tab, document);
            findings
        });
    }

    #[test]
    fn the_filter_shows_what_is_asked_for_and_stays_in_the_address() {
        judge(filter::check);
    }

    #[test]
    fn tables_are_sorted_by_mouse_and_by_keyboard() {
        judge(sorting::check);
    }

    #[test]
    fn points_of_a_plot_tell_what_they_are() {
        judge(hover::check);
    }

    #[test]
    fn axe_finds_nothing_serious() {
        let Some(axe) = axe::source() else { return };
        judge(|tab, document| axe::check(tab, document, &axe, &axe::views()));
    }
}
