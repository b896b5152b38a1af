//! Whether each check finds what it looks for: a small page in which nothing is wrong, and what is found when there is
//! one mistake in it.

use std::fs;
use std::time::Duration;

use crate::browser::Browser;
use crate::documents::{Document, Kind};
use crate::tab::{Tab, View};
use crate::{axe, filter, hover, sorting, views};

/// The page in which nothing is wrong.
const SAMPLE: &str = include_str!("sample.html");

/// For how long each reaction is waited for that does not come: a page that is this small would have shown it at once.
const PATIENCE: Duration = Duration::from_millis(250);

/// A change of the page, and what is to be found then.
struct Mistake {
    what: &'static str,
    from: &'static str,
    to: &'static str,
    finding: &'static str,
}

const fn mistake(what: &'static str, from: &'static str, to: &'static str, finding: &'static str) -> Mistake {
    Mistake { what, from, to, finding }
}

/// The place before the end of the document.
const END: &str = "</main>";

/// Mistakes that a check of one view finds.
const IN_ONE_VIEW: &[Mistake] = &[
    mistake(
        "too wide",
        END,
        "<p style='width: 900px'>wide</p></main>",
        "916 px wide in a window with room for 385 px: <p> “wide”",
    ),
    mistake(
        "too wide by a scroll bar",
        END,
        "<p style='width: 394px; margin: 0 -1em'>wide</p></main>",
        "the page is 394 px",
    ),
    mistake(
        "a dead link",
        END,
        "<a href='#nowhere'>where</a></main>",
        "links to #nowhere lead nowhere: <a> “where”",
    ),
    mistake("an id twice", END, "<p id='sort'>sort</p></main>", "ids are there twice: <p#sort>"),
    mistake("an error", "\"use strict\";", "console.error('oh', 3);", "in the console: oh 3"),
    mistake("a failed assertion", "\"use strict\";", "console.assert(false, 'oh');", "in the console: oh"),
    mistake(
        "an exception",
        "\"use strict\";",
        "missing();",
        "uncaught: ReferenceError: missing is not defined",
    ),
    mistake(
        "an exception nobody waits for",
        "\"use strict\";",
        "Promise.reject(new Error('oh'));",
        "uncaught: Error: oh",
    ),
    mistake(
        "a picture against the policy",
        END,
        "<img src='data:,x' alt=''></main>",
        "violates the following Content",
    ),
    mistake(
        "a style against the policy",
        "style-src 'unsafe-inline'",
        "style-src 'none'",
        "violates the following Content",
    ),
    mistake(
        "a script against the policy",
        "script-src 'unsafe-inline'",
        "script-src 'none'",
        "violates the following",
    ),
    mistake(
        "a request that no policy keeps back",
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">",
        "\"><link rel='stylesheet' href='other.css'>",
        "asks for file://",
    ),
    mistake(
        "a link to a style sheet",
        "</head>",
        "<link rel='stylesheet' href='other.css'></head>",
        "asks for file://",
    ),
    mistake(
        "a hint to the browser",
        "</head>",
        "<link rel='preconnect' href='https://example.org'></head>",
        "names something outside the page: <link>",
    ),
    mistake(
        "a frame",
        END,
        "<iframe title='other' src='other.html'></iframe></main>",
        "outside the page: <iframe>",
    ),
    mistake("a filter that stays hidden", "form.hidden = false;", "", "the script does not show the filter"),
    mistake(
        "a script that does not run",
        "<script>",
        "<script type='text/plain'>",
        "does not show the filter",
    ),
];

const WITHOUT_SCRIPT: &[Mistake] = &[
    mistake(
        "a filter without its script",
        "<form id=\"filter\" hidden",
        "<form id=\"filter\"",
        "the filter is there",
    ),
    mistake(
        "a button without its script",
        ">time</th>",
        "><button>time</button></th>",
        "a button without its script",
    ),
    mistake("a dead link", END, "<a href='#nowhere'>where</a></main>", "links to #nowhere lead nowhere"),
    mistake(
        "too wide",
        END,
        "<p style='width: 900px'>wide</p></main>",
        "916 px wide in a window with room for 385 px: <p> “wide”",
    ),
    mistake("a picture from elsewhere", END, "<img src='other.png' alt=''></main>", "asks for file://"),
];

const IN_BOTH_SCHEMES: &[Mistake] =
    &[mistake("no dark form", "content=\"light dark\"", "content=\"light\"", "looks the same")];

const FILTERING: &[Mistake] = &[
    mistake("no count", "id=\"filter-count\"", "id=\"count\"", "the filter has no output#filter-count"),
    mistake(
        "a value without an option",
        "<option>sort</option>",
        "",
        "a workload that the filter does not offer",
    ),
    mistake(
        "nothing hidden",
        "element.hidden = !",
        "element.hiden = !",
        "with a filter for workload=json-logging this is",
    ),
    mistake(
        "hidden in name only",
        "</style>",
        "tr { display: table-row; }</style>",
        "hidden and still visible: <tr>",
    ),
    mistake("too much hidden", ".some(matches)", ".every(matches)", "this is not there"),
    mistake(
        "parts of a word found",
        "dataset.verdict === verdict",
        "dataset.verdict.includes(verdict)",
        "still there",
    ),
    mistake("a count that stays empty", "= `${shown} of ${elements.length}`", "= ''", "nothing is counted"),
    mistake("a count that stays the same", "`${shown} of", "`", "the count is the same"),
    mistake(
        "an untidy fragment",
        "filter((field) => field.value).map",
        "map",
        "the fragment is “#?workload=json-logging&",
    ),
    mistake("no fragment", "history.replaceState", "Object", "the fragment is “”"),
    mistake(
        "a link that forgets",
        "link.addEventListener(\"click\"",
        "link.addEventListener(\"x\"",
        "the fragment is “#",
    ),
    mistake(
        "a link that does not lead",
        "fragment(anchor));\n        go(anchor);",
        "fragment(anchor));",
        "from the top",
    ),
    mistake("a heading over the place", "scroll-margin-top: 10em", "scroll-margin-top: 0", "lies under this"),
    mistake("an address that is not read", "restore();\n\n", "apply();\n\n", "the field workload is “”"),
    mistake(
        "a changed address that is not read",
        "addEventListener(\"hashchange\", restore);",
        "",
        "the field verdict is",
    ),
    mistake(
        "a form that is sent",
        "form.addEventListener(\"submit\", (event) => event.preventDefault());",
        "",
        "asks for file://",
    ),
];

const SORTING: &[Mistake] = &[
    mistake("no button", "th.append(button);", "th.append(...button.childNodes);", "without a button"),
    mistake(
        "no value",
        "<td data-value=\"9\">",
        "<td>",
        "a cell of a column to sort without data-value: <td> “9 ms”",
    ),
    mistake("numbers as texts", "? a - b", "? a.localeCompare(b)", "column “time” is not ascending: 10, 9"),
    mistake(
        "one direction only",
        "? -1 : 1;",
        "? 1 : 1;",
        "is to be descending, and aria-sort says ascending",
    ),
    mistake("the direction in words only", "|| sign *", "|| 1 *", "is not descending"),
    mistake("no direction in words", "th.ariaSort = sign", "th.sorted = sign", "aria-sort says null"),
    mistake(
        "an old direction",
        "other.removeAttribute",
        "other.hasAttribute",
        "aria-sort is left over: <th>",
    ),
    mistake(
        "a button that keys do not reach",
        "th.append(button);",
        "th.append(button); button.tabIndex = -1;",
        "has no focus",
    ),
];

const POINTING: &[Mistake] = &[
    mistake(
        "no tip",
        "tip.hidden = !target",
        "tip.hiden = !target",
        "no #tip when the pointer is over a point",
    ),
    mistake("an empty tip", "target.dataset.text ?? \"\"", "\"\"", "an empty #tip"),
    mistake(
        "a tip that stays",
        "tip.hidden = !target.matches",
        "tip.hidden &&= !target.matches",
        "#tip stays",
    ),
    mistake(
        "a tip beyond the window",
        "#tip { position: fixed; left: 0",
        "#tip { position: fixed; left: -1px",
        "beyond",
    ),
];

const ACCESSIBILITY: &[Mistake] = &[
    mistake("a field without a name", "<label>Name ", "<label></label>", "label (critical)"),
    mistake(
        "a drawing without a name",
        "role=\"img\" aria-label=\"Two samples\"",
        "role=\"img\"",
        "svg-img-alt (serious)",
    ),
];

const ACCESSIBILITY_IN_THE_DARK: &[Mistake] = &[mistake(
    "a faint text",
    "</style>",
    "h1 { color: #777; background: #888 }</style>",
    "color-contrast (serious)",
)];

/// Pages for one browser.
struct Bench<'c> {
    tab: Tab<'c>,
    folder: tempfile::TempDir,
}

impl Bench<'_> {
    fn document(&self, html: &str) -> Document {
        let path = self.folder.path().join("index.html");
        fs::write(&path, html).unwrap();
        Document::new("sample", &path, Kind::Report)
    }

    /// Makes one check of each page with a mistake, and before that of the page without one.
    fn expect(&mut self, mistakes: &[Mistake], check: impl Fn(&mut Tab<'_>, &Document) -> Vec<String>) {
        let sample = self.document(SAMPLE);
        assert_eq!(check(&mut self.tab, &sample), Vec::<String>::new(), "in the page without a mistake");
        self.tab.set_patience(PATIENCE);
        for mistake in mistakes {
            assert!(SAMPLE.contains(mistake.from), "{}: the page has no {:?}", mistake.what, mistake.from);
            let document = self.document(&SAMPLE.replace(mistake.from, mistake.to));
            let found = check(&mut self.tab, &document);
            let expected = found.iter().any(|finding| finding.contains(mistake.finding));
            assert!(expected, "{}: {:?} is not among {found:#?}", mistake.what, mistake.finding);
        }
    }
}

/// Hands over a browser, and a folder in which requests for other files go astray.
fn with_bench(judge: impl FnOnce(Bench<'_>)) {
    let Some(mut browser) = Browser::start() else { return };
    let folder = tempfile::Builder::new().prefix("perfharness-mistakes-").tempdir().unwrap();
    judge(Bench { tab: browser.tab(), folder });
}

#[test]
fn mistakes_of_a_view_are_found() {
    with_bench(|mut bench| {
        let narrow = View::of_width(400);
        bench.expect(IN_ONE_VIEW, |tab, document| views::check(tab, document, &[narrow]));
        bench.expect(WITHOUT_SCRIPT, |tab, document| views::check(tab, document, &[narrow.without_script()]));
        bench.expect(IN_BOTH_SCHEMES, |tab, document| views::check(tab, document, &[narrow, narrow.dark()]));
    });
}

#[test]
fn mistakes_of_a_filter_are_found() {
    with_bench(|mut bench| bench.expect(FILTERING, filter::check));
}

#[test]
fn mistakes_of_tables_and_plots_are_found() {
    with_bench(|mut bench| {
        bench.expect(SORTING, sorting::check);
        bench.expect(POINTING, hover::check);
    });
}

#[test]
fn mistakes_that_axe_looks_for_are_found() {
    let Some(axe) = axe::source() else { return };
    with_bench(|mut bench| {
        let view = View::of_width(400);
        bench.expect(ACCESSIBILITY, |tab, document| axe::check(tab, document, &axe, &[view]));
        bench.expect(ACCESSIBILITY_IN_THE_DARK, |tab, document| {
            axe::check(tab, document, &axe, &[view.dark()])
        });
    });
}

#[test]
fn a_page_without_any_part_is_not_taken_for_a_checked_one() {
    with_bench(|mut bench| {
        let document =
            bench.document("<!doctype html><html lang='en'><title>t</title><h1>Nothing here</h1></html>");
        let lacks = |findings: Vec<String>| findings.join("; ");
        assert!(lacks(filter::check(&mut bench.tab, &document)).contains("there is no filter"));
        assert!(lacks(sorting::check(&mut bench.tab, &document)).contains("there is no table to sort"));
        assert!(lacks(hover::check(&mut bench.tab, &document)).contains("there is no plot with a point"));
    });
}
