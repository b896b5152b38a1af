//! Decision whether a case has been measured enough.

use perfharness_record::CaseEnd;
use perfharness_verdict::Looks;

/// State of a case when a launch has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaseProgress<'a> {
    /// Launches with complete blocks.
    pub(super) launches: usize,
    /// Planned looks.
    pub(super) looks: &'a Looks,
    /// Whether any launch ran to its end. Samples of an interrupted launch were not checked after timing.
    pub(super) finished: bool,
    /// Sides without an outcome.
    pub(super) active: usize,
    /// Whether the samples suffice, if this is a look.
    pub(super) settled: bool,
    /// Time left, in ns.
    pub(super) left_ns: u64,
    /// Shortest expected time of another launch, in ns.
    pub(super) next_ns: f64,
}

/// Returns why the case ends, or `None` if it goes on. Precision counts at planned looks only: a look after every launch
/// would stop at lucky moments.
pub(super) fn decide(progress: &CaseProgress<'_>) -> Option<CaseEnd> {
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
    if at_look && progress.settled {
        return Some(CaseEnd::Precise { launches });
    }
    if launches > 0 && progress.next_ns > progress.left_ns as f64 {
        return Some(CaseEnd::Budget { launches });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(looks: &Looks) -> CaseProgress<'_> {
        CaseProgress {
            launches: 8,
            looks,
            finished: true,
            active: 2,
            settled: false,
            left_ns: 1000,
            next_ns: 10.0,
        }
    }

    #[test]
    fn it_goes_on_while_imprecise_and_within_budget() {
        let looks = Looks::default();
        assert_eq!(decide(&progress(&looks)), None);
    }

    #[test]
    fn precision_ends_it_at_looks_only() {
        let looks = Looks::default();
        let precise = CaseProgress { settled: true, ..progress(&looks) };
        assert_eq!(decide(&precise), Some(CaseEnd::Precise { launches: 8 }));
        assert_eq!(decide(&CaseProgress { launches: 9, ..precise }), None);
    }

    #[test]
    fn the_last_look_ends_it_whatever_was_seen() {
        let looks = Looks::fixed(8).unwrap();
        assert_eq!(decide(&progress(&looks)), Some(CaseEnd::LastLook { launches: 8 }));
    }

    #[test]
    fn the_budget_ends_it_but_never_before_the_first_launch() {
        let looks = Looks::default();
        let spent = CaseProgress { left_ns: 5, ..progress(&looks) };
        assert_eq!(decide(&spent), Some(CaseEnd::Budget { launches: 8 }));
        assert_eq!(decide(&CaseProgress { launches: 0, ..spent }), None);
        assert_eq!(decide(&CaseProgress { active: 0, ..spent }), Some(CaseEnd::NothingLeft));
    }

    #[test]
    fn nothing_ends_it_before_a_launch_ran_to_its_end() {
        let looks = Looks::fixed(8).unwrap();
        assert_eq!(decide(&CaseProgress { finished: false, left_ns: 0, ..progress(&looks) }), None);
    }
}
