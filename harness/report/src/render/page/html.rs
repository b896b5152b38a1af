//! Conversion of the view to HTML.

use askama::Template;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use perfharness_record::plain_text::plain;
use perfharness_record::units;
use sha2::{Digest as _, Sha256};

use super::plot;
use super::view::{
    CaseView, ClaimGroup, ComparisonRow, Comparisons, IndexView, MachineHistory, MachineView, Page,
    SamplePlot, SharePlot, ShareRow, StatusCount, Trend, TrendPoint, WorkloadView,
};
use crate::drawing::{AxisScale, PlotError};

const STYLE: &str = include_str!("../../../templates/report/style.css");
const SCRIPT: &str = include_str!("../../../templates/report/script.js");

/// Failure to make a page, which would be a bug.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// A template failed.
    #[error("cannot make the page: {0}")]
    Template(#[from] askama::Error),
    /// A plot could not be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
}

#[derive(Template)]
#[template(path = "report/page.html")]
struct PageTemplate<'a> {
    shell: Shell,
    page: &'a Page,
    claims: ClaimsTemplate<'a>,
    workloads: Vec<WorkloadTemplate<'a>>,
    comparison: Option<ComparisonTemplate<'a>>,
    machine: Option<MachineTemplate<'a>>,
    history: Option<TrendsTemplate<'a>>,
}

#[derive(Template)]
#[template(path = "report/index.html")]
struct IndexTemplate<'a> {
    shell: Shell,
    index: &'a IndexView,
    machines: Vec<ClassTemplate<'a>>,
}

/// The parts that every page shares.
struct Shell {
    style: &'static str,
    script: &'static str,
    policy: String,
}

impl Shell {
    fn new() -> Self {
        let digest = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
        // A page loads nothing and sends nothing. The digests allow its one style and its one script.
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            digest(STYLE),
            digest(SCRIPT)
        );
        Self { style: STYLE, script: SCRIPT, policy }
    }
}

#[derive(Template)]
#[template(path = "report/claims.html")]
struct ClaimsTemplate<'a> {
    tried: &'a [ClaimGroup],
    untried: &'a [ClaimGroup],
    tally: &'a [StatusCount],
}

#[derive(Template)]
#[template(path = "report/workload.html")]
struct WorkloadTemplate<'a> {
    workload: &'a WorkloadView,
    scaling: Option<PlotTemplate<'a>>,
    cases: Vec<CaseTemplate<'a>>,
}

#[derive(Template)]
#[template(path = "report/case.html")]
struct CaseTemplate<'a> {
    workload: &'a str,
    case: &'a CaseView,
    samples: Option<PlotTemplate<'a>>,
    shares: Option<PlotTemplate<'a>>,
}

/// A plot with its title and caption.
#[derive(Template)]
#[template(path = "report/plot.html")]
struct PlotTemplate<'a> {
    title: &'a str,
    caption: &'a str,
    svg: String,
    /// The horizontal axis, so that a script can show the value under the pointer.
    axis: Option<AxisScale>,
    /// The figures as text, for readers who cannot see the plot.
    text: String,
}

impl<'a> PlotTemplate<'a> {
    /// Returns a plot without an axis that a script reads.
    fn new(title: &'a str, caption: &'a str, svg: String, text: impl Into<String>) -> Self {
        Self { title, caption, svg, axis: None, text: text.into() }
    }
}

/// The caption of a plot with two logarithmic axes.
const LOGARITHMIC: &str = "Both axes are logarithmic: equal distances mean equal ratios.";

/// The section on the machine and its ceilings.
#[derive(Template)]
#[template(path = "report/machine.html")]
struct MachineTemplate<'a> {
    machine: &'a MachineView,
    strips: Vec<StripTemplate<'a>>,
    plot: Option<PlotTemplate<'a>>,
}

struct StripTemplate<'a> {
    label: &'a str,
    text: &'a str,
    /// The plot; `None` if the value never changed.
    plot: Option<PlotTemplate<'a>>,
}

#[derive(Template)]
#[template(path = "report/comparison.html")]
struct ComparisonTemplate<'a> {
    comparisons: &'a Comparisons,
    axis: String,
    open: Vec<RowTemplate<'a>>,
    folded: Vec<RowTemplate<'a>>,
}

struct RowTemplate<'a> {
    row: &'a ComparisonRow,
    svg: Option<String>,
}

#[derive(Template)]
#[template(path = "report/trends.html")]
struct TrendsTemplate<'a> {
    caption: &'a str,
    trends: Vec<TrendTemplate<'a>>,
}

struct TrendTemplate<'a> {
    trend: &'a Trend,
    svg: Option<String>,
    /// The marks of the plot in words.
    marks: String,
}

struct ClassTemplate<'a> {
    machine: &'a MachineHistory,
    trends: TrendsTemplate<'a>,
}

/// Renders the page of a run. No character in it changes the direction of the text after it, whoever wrote it.
///
/// # Errors
/// Returns an error if a template or a plot fails, which would be a bug.
pub fn render_page(page: &Page) -> Result<String, PageError> {
    let comparison = page.comparisons.as_ref().map(comparison).transpose()?;
    let history =
        page.history.as_ref().map(|history| trends(&history.caption, &history.trends)).transpose()?;
    let at = page.claims.iter().position(|group| !group.was_tried()).unwrap_or(page.claims.len());
    let (tried, untried) = page.claims.split_at(at);
    let template = PageTemplate {
        shell: Shell::new(),
        page,
        claims: ClaimsTemplate { tried, untried, tally: &page.claim_tally },
        workloads: page.workloads.iter().map(workload).collect::<Result<_, _>>()?,
        comparison,
        machine: if page.machine.is_empty() { None } else { Some(machine(&page.machine)?) },
        history,
    };
    Ok(plain(&template.render()?))
}

/// Renders the page over all runs.
///
/// # Errors
/// Returns an error if a template or a plot fails, which would be a bug.
pub fn render_index(index: &IndexView) -> Result<String, PageError> {
    let machines = index
        .machines
        .iter()
        .map(|machine| Ok(ClassTemplate { machine, trends: trends(&machine.caption, &machine.trends)? }))
        .collect::<Result<_, PlotError>>()?;
    Ok(plain(&IndexTemplate { shell: Shell::new(), index, machines }.render()?))
}

fn workload(workload: &WorkloadView) -> Result<WorkloadTemplate<'_>, PlotError> {
    let scaling = match &workload.scaling {
        Some(plot) => plot::scaling(plot)?.map(|svg| {
            let text = format!("Figures are in the tables of the cases. {}.", plot.size);
            PlotTemplate::new(&plot.title, LOGARITHMIC, svg, text)
        }),
        None => None,
    };
    let cases = workload.cases.iter().map(|view| case(&workload.name, view)).collect::<Result<_, _>>()?;
    Ok(WorkloadTemplate { workload, scaling, cases })
}

fn case<'a>(workload: &'a str, case: &'a CaseView) -> Result<CaseTemplate<'a>, PlotError> {
    let samples = case.samples.as_ref().map(samples).transpose()?.flatten();
    let shares = case.shares.as_ref().map(shares).transpose()?;
    Ok(CaseTemplate { workload, case, samples, shares })
}

fn samples(plot: &SamplePlot) -> Result<Option<PlotTemplate<'_>>, PlotError> {
    Ok(plot::samples(plot)?.map(|(svg, axis)| {
        let text = "Levels and intervals are in the table above.";
        PlotTemplate { axis: Some(axis), ..PlotTemplate::new(&plot.title, &plot.caption, svg, text) }
    }))
}

fn shares(plot: &SharePlot) -> Result<PlotTemplate<'_>, PlotError> {
    let row = |row: &ShareRow| {
        let parts = row.parts.iter().map(|part| format!("{} {}", part.label, units::percent(part.share)));
        format!("{}: {}", row.label, parts.collect::<Vec<_>>().join(", "))
    };
    let rows: Vec<String> = plot.rows.iter().map(row).collect();
    Ok(PlotTemplate::new(&plot.title, &plot.caption, plot::shares(plot)?, rows.join("; ")))
}

fn machine(view: &MachineView) -> Result<MachineTemplate<'_>, PlotError> {
    let telemetry = view.telemetry.iter();
    let strips = telemetry.flat_map(|telemetry| {
        let last = telemetry.strips.iter().rposition(|strip| !strip.points.is_empty());
        telemetry.strips.iter().enumerate().map(move |(at, strip)| {
            let plot = (!strip.points.is_empty()).then(|| {
                let svg = plot::strip(strip, &telemetry.bands, Some(at) == last)?;
                Ok::<_, PlotError>(PlotTemplate::new(&strip.label, "", svg, &strip.text))
            });
            Ok(StripTemplate { label: &strip.label, text: &strip.text, plot: plot.transpose()? })
        })
    });
    let plot = view.roofline.as_ref().map(plot::roofline).transpose()?;
    let plot =
        plot.map(|svg| PlotTemplate::new("Roofline", LOGARITHMIC, svg, "Figures are in the table below."));
    Ok(MachineTemplate { machine: view, strips: strips.collect::<Result<_, _>>()?, plot })
}

fn comparison<'a>(comparisons: &'a Comparisons) -> Result<ComparisonTemplate<'a>, PlotError> {
    let reach = comparisons.reach;
    let row = |row: &'a ComparisonRow| -> Result<RowTemplate<'a>, PlotError> {
        let svg = row.span.as_ref().map(|span| plot::cell(span, reach)).transpose()?;
        Ok(RowTemplate { row, svg })
    };
    let (open, folded) = comparisons.rows.split_at(comparisons.open.min(comparisons.rows.len()));
    Ok(ComparisonTemplate {
        comparisons,
        axis: plot::axis(reach)?,
        open: open.iter().map(row).collect::<Result<_, _>>()?,
        folded: folded.iter().map(row).collect::<Result<_, _>>()?,
    })
}

fn trends<'a>(caption: &'a str, of: &'a [Trend]) -> Result<TrendsTemplate<'a>, PlotError> {
    let one = |trend: &'a Trend| -> Result<TrendTemplate<'a>, PlotError> {
        let count = |is: fn(&TrendPoint) -> bool| trend.points.iter().filter(|p| is(p)).count();
        let marks = match (count(|p| p.regressed), count(|p| p.accepted)) {
            (0, 0) => String::new(),
            (regressed, 0) => format!("▲ {regressed} regressed"),
            (0, accepted) => format!("| {accepted} accepted"),
            (regressed, accepted) => format!("▲ {regressed} regressed, | {accepted} accepted"),
        };
        Ok(TrendTemplate { trend, svg: plot::trend(&trend.points)?, marks })
    };
    Ok(TrendsTemplate { caption, trends: of.iter().map(one).collect::<Result<_, _>>()? })
}

/// Filters for the templates.
#[expect(
    clippy::inline_always,
    clippy::unused_self,
    unreachable_pub,
    reason = "the attribute that makes a filter of a function writes such code"
)]
mod filters {
    use std::fmt::{Display, Write as _};

    use askama::Values;
    use askama::filters::{Html, Safe, escape};

    /// Renders text in which backticks mark code. Escapes everything in it.
    #[askama::filter_fn]
    pub(super) fn prose(text: impl Display, _: &dyn Values) -> askama::Result<Safe<String>> {
        let text = text.to_string();
        let parts: Vec<&str> = text.split('`').collect();
        let mut html = String::new();
        for (at, part) in parts.iter().enumerate() {
            let part = escape(part, Html)?;
            // A backtick without a counterpart stays a backtick.
            let is_last = at + 1 == parts.len();
            match at % 2 {
                0 => write!(html, "{part}")?,
                _ if is_last => write!(html, "`{part}")?,
                _ => write!(html, "<code>{part}</code>")?,
            }
        }
        Ok(Safe(html))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_has_every_colour_of_the_plots() {
        for color in crate::drawing::color::all() {
            assert!(STYLE.contains(&format!("[fill=\"{color}\"]")), "{color}");
            assert!(STYLE.contains(&format!("[stroke=\"{color}\"]")), "{color}");
        }
    }

    #[test]
    fn backticks_mark_code_and_nothing_else_gets_through() {
        #[derive(Template)]
        #[template(source = "{{ text|prose }}", ext = "html")]
        struct Prose {
            text: &'static str,
        }
        impl Prose {
            fn html(text: &'static str) -> String {
                Self { text }.render().unwrap()
            }
        }
        assert_eq!(Prose::html("`a<b>` and c"), "<code>a&#60;b&#62;</code> and c");
        assert_eq!(Prose::html("a ` b"), "a ` b");
        assert_eq!(Prose::html("`a` ` <i>"), "<code>a</code> ` &#60;i&#62;");
    }

    #[test]
    fn the_policy_allows_nothing_from_elsewhere() {
        let policy = Shell::new().policy;
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
        assert!(!policy.contains("unsafe") && !policy.contains("http"));
    }
}
