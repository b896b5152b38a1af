//! Workloads of a catalog and benchmarks of a plan as text.

use std::fmt::Write as _;
use std::time::Duration;

use perfharness_contract::{Effort, Name, OutcomeKind, Promise};
use perfharness_engine::plan::{Catalog, NO_BUDGET, Plan};
use perfharness_record::plain_text::plain;
use perfharness_record::{Stage, units};

/// Renders workloads with their cases, variants and claims.
pub(crate) fn render_list(catalog: &Catalog) -> String {
    let mut text = String::new();
    let bold = anstyle::Style::new().bold();
    for entry in &catalog.entries {
        let workload = &entry.definition;
        let _ = writeln!(text, "{bold}{}{bold:#}  {}", workload.id, plain(&workload.summary));
        if workload.on_request {
            let _ = writeln!(text, "  selected only by its name, not by `all`");
        }
        for source in &workload.sources {
            let _ = writeln!(text, "  source   {} {}", plain(&source.document), plain(&source.section));
        }
        for case in &workload.cases {
            let efforts: Vec<&str> = case.efforts.iter().map(|e| Effort::as_str(*e)).collect();
            let _ = writeln!(text, "  case     {:<14} {}", case.id, efforts.join(", "));
        }
        for variant in &workload.variants {
            let role = variant.role.as_str();
            let _ = writeln!(text, "  variant  {:<14} {}", variant.id, plain(&variant.summary));
            if role != variant.id.as_str() {
                let _ = writeln!(text, "           {:<14} role {role}", "");
            }
            if variant.efforts != Effort::ALL {
                let efforts: Vec<&str> = variant.efforts.iter().map(|effort| effort.as_str()).collect();
                let _ = writeln!(text, "           {:<14} {}", "", efforts.join(", "));
            }
            if !variant.needs.is_empty() {
                let _ = writeln!(text, "           {:<14} needs {}", "", plain(&variant.needs.join(", ")));
            }
            if let Some(caveat) = &variant.caveat {
                let _ = writeln!(text, "           {:<14} {}", "", plain(caveat));
            }
        }
        for special in &workload.benchmarks {
            if let Some(reason) = &special.skip {
                let _ = writeln!(text, "  skipped  {}/{}: {}", special.case, special.variant, plain(reason));
            }
            if special.expect != OutcomeKind::Ok {
                let expected = special.expect.as_str();
                let _ = writeln!(text, "  expected {}/{}: {expected}", special.case, special.variant);
            }
        }
        for setting in &workload.settings {
            let _ = writeln!(text, "  setting  {:<14} {}", setting.name, plain(&setting.summary));
        }
        for claim in &workload.claims {
            let _ = writeln!(text, "  claim    “{}” ({})", plain(&claim.statement), plain(&claim.source));
            let cases: Vec<&str> = claim.cases.iter().map(Name::as_str).collect();
            let of = if cases.is_empty() { String::new() } else { format!(", of {}", cases.join(", ")) };
            let on_gpu = if claim.on_gpu { ", on a GPU" } else { "" };
            let (metric, candidate, reference) = (&claim.metric, &claim.candidate, &claim.reference);
            let sides = match claim.promise {
                Promise::Level { .. } => candidate.to_string(),
                _ => format!("{candidate} against {reference}"),
            };
            let _ = writeln!(text, "           by {metric}, {sides}{of}{on_gpu}");
        }
    }
    for worker in catalog.workers.iter().filter(|w| w.outcome.kind != OutcomeKind::Ok) {
        let reason = worker.outcome.reason.as_deref().unwrap_or("");
        let (name, kind) = (plain(&worker.command.name), worker.outcome.kind.as_str());
        let _ = writeln!(text, "worker {name} {kind}: {}", plain(reason));
    }
    text
}

/// Renders the benchmarks that a run would measure.
pub(crate) fn render_plan(plan: &Plan) -> String {
    let mut text = String::new();
    for case in plan.first() {
        for side in &case.sides {
            let _ = match &side.skip {
                Some(reason) => writeln!(text, "{}  skipped: {}", side.benchmark, plain(reason)),
                None => writeln!(text, "{}", side.benchmark),
            };
        }
    }
    let _ = writeln!(text, "{}", render_extent(plan, Duration::ZERO));
    text
}

/// Announces the benchmarks of a run and its time limit; `spent` is the time that launches already used.
pub(crate) fn render_announcement(plan: &Plan, spent: Duration) -> String {
    let again = || plan.cases.iter().map(|case| case.design.stage).filter(|stage| stage.is_added());
    if let Some(stage) = again().next() {
        let what = match stage {
            Stage::Planted => "measuring again with planted slowdowns that this machine should detect",
            Stage::First | Stage::Layouts | Stage::Confirmation => {
                "measuring the flagged benchmarks again in fresh processes"
            }
        };
        return format!("{what}: {}", units::counted(again().count(), "benchmark"));
    }
    let verb = if spent.is_zero() { "measuring" } else { "continuing with" };
    format!("{verb} {}", render_extent(plan, spent))
}

/// Describes the number of benchmarks and the time limit of a run; `spent` is the time already used.
fn render_extent(plan: &Plan, spent: Duration) -> String {
    let time = if plan.budget >= NO_BUDGET {
        format!("{} launches of each, without a time limit", plan.design.looks().max_launches())
    } else {
        let left = plan.budget.saturating_sub(spent);
        format!("at most about {}", units::duration(left.as_nanos() as f64))
    };
    format!(
        "{} in {}, effort {}: {time}",
        units::counted(plan.measured(), "benchmark"),
        units::counted(plan.first().count(), "case"),
        plan.effort.as_str()
    )
}
