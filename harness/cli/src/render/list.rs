//! What the workers can do, as text.

use std::fmt::Write as _;

use perfharness_contract::{Effort, Name, OutcomeKind, Role};

use crate::plain_text::plain;
use crate::plan::Catalog;

/// Workloads, cases, variants and claims.
pub fn render_list(catalog: &Catalog) -> String {
    let mut text = String::new();
    let bold = anstyle::Style::new().bold();
    for entry in &catalog.entries {
        let workload = &entry.definition;
        let _ = writeln!(text, "{bold}{}{bold:#}  {}", workload.id, plain(&workload.summary));
        if workload.on_request {
            let _ = writeln!(text, "  measured only where it is named, not by `all`");
        }
        for source in &workload.sources {
            let _ = writeln!(text, "  source   {} {}", plain(&source.document), plain(&source.section));
        }
        for case in &workload.cases {
            let efforts: Vec<&str> = case.efforts.iter().map(|e| Effort::as_str(*e)).collect();
            let _ = writeln!(text, "  case     {:<14} {}", case.id, efforts.join(", "));
        }
        for variant in &workload.variants {
            let role = match variant.role {
                Role::Slow => "slow",
                Role::Documented => "documented",
                Role::Optimized => "optimized",
                Role::Other => "other",
            };
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
                let _ = writeln!(
                    text,
                    "  expected {}/{}: {}",
                    special.case,
                    special.variant,
                    special.expect.as_str()
                );
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
            let _ = writeln!(
                text,
                "           by {}, {} against {}{of}{on_gpu}",
                claim.metric, claim.candidate, claim.reference
            );
        }
    }
    for worker in catalog.workers.iter().filter(|w| w.outcome.kind != OutcomeKind::Ok) {
        let reason = worker.outcome.reason.as_deref().unwrap_or("");
        let (name, kind) = (plain(&worker.command.name), worker.outcome.kind.as_str());
        let _ = writeln!(text, "worker {name} {kind}: {}", plain(reason));
    }
    text
}
