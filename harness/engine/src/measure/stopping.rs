//! Decision whether a case has been measured enough.

use perfharness_record::CaseEnd;
use perfharness_verdict::Looks;

/// State of a case when a launch has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaseProgress<'a, S> {
    /// Launches with complete blocks.
    pub(super) launches: usize,
    /// Planned looks.
    pub(super) looks: &'a Looks,
    /// Whether any launch ran to its end. Samples of an interrupted launch were not checked after timing.
    pub(super) finished: bool,
    /// Sides without an outcome.
    pub(super) active: usize,
    /// Tells whether the samples suffice. Asked at looks only.
    pub(super) settled: S,
}

/// Returns why the case ends, or `None` if it goes on while there is time. Precision counts at planned looks only: a look
/// after every launch would stop at lucky moments.
pub(super) fn decide(progress: &CaseProgress<'_, impl Fn() -> bool>) -> Option<CaseEnd> {
    let launches = progress.launches;
    if progress.active == 0 {
        return Some(CaseEnd::NothingLeft);
    }
    if !progress.finished {
        return None;
    }
    if launches >= progress.looks.max_launches() {
        return Some(CaseEnd::LastLook { launches });
    }
    let at_look = progress.looks.alpha_at(launches, 1.0).is_some();
    (at_look && (progress.settled)()).then_some(CaseEnd::Precise { launches })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(looks: &Looks, launches: usize, settled: bool) -> Option<CaseEnd> {
        decide(&CaseProgress { launches, looks, finished: true, active: 2, settled: || settled })
    }

    #[test]
    fn it_goes_on_while_imprecise() {
        let looks = Looks::default();
        assert!((1..looks.max_launches()).all(|launches| end(&looks, launches, false).is_none()));
    }

    #[test]
    fn precision_ends_it_at_looks_only() {
        let looks = Looks::default();
        for launches in 1..looks.max_launches() {
            let is_look = looks.as_slice().iter().any(|look| look.launches == launches);
            assert_eq!(end(&looks, launches, true), is_look.then_some(CaseEnd::Precise { launches }));
        }
    }

    #[test]
    fn the_last_look_ends_it_whatever_was_seen() {
        let looks = Looks::fixed(8).unwrap();
        for launches in [8, 9] {
            for settled in [false, true] {
                assert_eq!(end(&looks, launches, settled), Some(CaseEnd::LastLook { launches }));
            }
        }
    }

    #[test]
    fn nothing_but_the_end_of_all_sides_ends_it_before_a_launch_ran_to_its_end() {
        let looks = Looks::fixed(8).unwrap();
        let cut_off =
            CaseProgress { launches: 8, looks: &looks, finished: false, active: 2, settled: || true };
        assert_eq!(decide(&cut_off), None);
        assert_eq!(decide(&CaseProgress { active: 0, ..cut_off }), Some(CaseEnd::NothingLeft));
    }
}
