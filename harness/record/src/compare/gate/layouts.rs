//! Remarks on the layouts that benchmarks were measured in.

use std::collections::BTreeMap;

use crate::compare::report::Remark;
use crate::{LayoutFacts, RunRecord};

/// Returns a remark on the layouts that were compared, and one on each reason why others were not.
pub(super) fn remarks(record: &RunRecord) -> Vec<Remark> {
    let layouts = record.base.iter().flat_map(|base| &base.layouts);
    let (mut count, mut differ, mut untold) = (0, Vec::new(), Vec::new());
    let mut absent: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for layout in layouts {
        let benchmark = layout.benchmark.to_string();
        match &layout.layouts {
            LayoutFacts::Compared(compared) => {
                count = count.max(compared.base.ns.len());
                if compared.launches == 0 {
                    untold.push(benchmark);
                } else if compared.spread() > 0.0 {
                    differ.push((benchmark, compared.spread()));
                }
            }
            LayoutFacts::Absent { absent: reason } => absent.entry(reason).or_default().push(benchmark),
        }
    }
    let compared = (count > 0).then_some(Remark::Layouts { count, differ, untold });
    let of_reason =
        |(reason, benchmarks): (&str, _)| Remark::OneLayout { benchmarks, reason: reason.to_owned() };
    compared.into_iter().chain(absent.into_iter().map(of_reason)).collect()
}
