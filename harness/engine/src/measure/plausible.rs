//! Plausibility of a worker's times, by the harness's own clock.
//!
//! A sample lies between its request and its answer, so it cannot have taken longer than that. It may have been shorter:
//! the worker makes inputs and runs a lead-in before its clock starts. A time that is too short shows only if the worker
//! reports how long that took.

use perfharness_contract::protocol::SampleReply;

use super::executor::Executor;

/// Largest integer up to which all integers of the protocol are exact.
const MOST_NS: u64 = 1 << 53;
/// Relative difference in pace that clocks of one machine may have: corrections of the time of day are a twentieth of it.
const PACE: f64 = 0.01;
/// Error of two readings of clocks, in ns.
const READING_NS: u64 = 1_000_000;
/// Longest step of a clock, whatever a worker reports: the coarsest clock in use has 15.6 ms.
const LONGEST_STEP_NS: u64 = 20_000_000;

/// Share of its samples that a worker may leave unaccounted for: the hand-over, and waits for a processor.
const UNACCOUNTED: f64 = 0.25;
/// Time of each sample that a worker may leave unaccounted for, in ns.
const UNACCOUNTED_NS: u64 = 5_000_000;
/// Fewest samples for a note. A single sample that is accounted for prevents it.
const FEWEST: u32 = 8;

/// Time that the machine is suspended from a moment on, which some clocks count and others do not.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuspendedClock {
    start_ns: Option<u64>,
}

impl SuspendedClock {
    /// Starts at the present moment.
    pub(super) fn start(executor: &dyn Executor) -> Self {
        Self { start_ns: executor.machine().suspended_ns }
    }

    /// Returns the time since the start in ns, 0 if the system does not report it.
    fn elapsed_ns(self, executor: &dyn Executor) -> u64 {
        let now = executor.machine().suspended_ns;
        now.zip(self.start_ns).map_or(0, |(now, start)| now.saturating_sub(start))
    }
}

/// Returns why a sample cannot have taken the reported time, or `None` if it can: the worker's clock may have counted
/// suspends that the harness's did not. The times are those of [`impossible`].
pub(super) fn refutation(
    reply: &SampleReply,
    iterations: u64,
    elapsed_ns: u64,
    step_ns: Option<u64>,
    suspended: &SuspendedClock,
    executor: &dyn Executor,
) -> Option<String> {
    impossible(reply, iterations, elapsed_ns, step_ns)?;
    impossible(reply, iterations, elapsed_ns.saturating_add(suspended.elapsed_ns(executor)), step_ns)
}

/// Returns why a sample cannot have taken the reported time. `elapsed_ns` is the harness's time from the request to the
/// answer, and `step_ns` the step of the worker's clock, if it is known.
fn impossible(reply: &SampleReply, iterations: u64, elapsed_ns: u64, step_ns: Option<u64>) -> Option<String> {
    let wall_ns = reply.wall_ns;
    if wall_ns == 0 {
        return Some(format!("a sample of {iterations} iterations took 0 ns by its clock"));
    }
    for (name, ns) in [("wall_ns", Some(wall_ns)), ("cpu_ns", reply.cpu_ns), ("untimed_ns", reply.untimed_ns)]
    {
        if let Some(ns) = ns.filter(|ns| *ns > MOST_NS) {
            return Some(format!("the `{name}` of a sample is {ns}, more than 2^53"));
        }
    }
    let step_ns = step_ns.unwrap_or(0).min(LONGEST_STEP_NS);
    let allowed = elapsed_ns + (elapsed_ns as f64 * PACE) as u64 + READING_NS + 2 * step_ns;
    (wall_ns > allowed).then(|| {
        let ms = |ns: u64| ns as f64 / 1e6;
        format!(
            "a sample of {iterations} iterations took {:.3} ms by its clock, but its answer came within {:.3} ms by the \
             harness's",
            ms(wall_ns),
            ms(elapsed_ns)
        )
    })
}

/// Share of the timed samples of a launch that its worker accounts for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeAudit {
    samples: u32,
    /// Smallest share, and smallest time in ns, that is in neither time of a sample. Stolen time and waits for a processor
    /// explain it for some samples, but not for all of them.
    least_share: f64,
    least_ns: u64,
}

impl Default for TimeAudit {
    fn default() -> Self {
        Self { samples: 0, least_share: 1.0, least_ns: u64::MAX }
    }
}

impl TimeAudit {
    /// Adds a sample; one that does not report its untimed work is ignored.
    pub(super) fn add(&mut self, reply: &SampleReply, elapsed_ns: u64) {
        let Some(untimed_ns) = reply.untimed_ns else { return };
        let missing = elapsed_ns.saturating_sub(reply.wall_ns.saturating_add(untimed_ns));
        self.samples += 1;
        self.least_ns = self.least_ns.min(missing);
        self.least_share = self.least_share.min(missing as f64 / elapsed_ns.max(1) as f64);
    }

    /// Returns a note for the user if time is missing from all samples.
    pub(super) fn note(&self) -> Option<&'static str> {
        let lacks =
            self.samples >= FEWEST && self.least_share > UNACCOUNTED && self.least_ns > UNACCOUNTED_NS;
        lacks.then_some(
            "its worker leaves over a quarter of the time between request and answer unaccounted for in every timed sample: \
             its times may be too short",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn sample(wall_ns: u64) -> SampleReply {
        SampleReply { wall_ns, ..SampleReply::default() }
    }

    #[test]
    fn no_sample_takes_longer_than_its_request() {
        let fault = |wall_ns, elapsed_ns, step_ns| impossible(&sample(wall_ns), 3, elapsed_ns, step_ns);
        assert_eq!(fault(5_000_000, 5_100_000, None), None);
        assert_eq!(fault(1, 10_000_000_000, None), None, "inputs may take long");
        assert_eq!(fault(11_000_000, 10_000_000, None), None, "two readings of clocks");
        assert_eq!(fault(1_010_000_000, 1_000_000_000, None), None, "clocks of different pace");
        assert_eq!(fault(31_000_000, 10_000_000, Some(15_600_000)), None, "a coarse clock");
        let words = fault(20_000_000, 10_000_000, None).unwrap();
        assert!(words.contains("20.000 ms by its clock") && words.contains("10.000 ms"), "{words}");
        assert!(fault(100_000_000, 10_000_000, Some(u64::MAX)).is_some(), "no clock is that coarse");
    }

    #[test]
    fn times_beyond_exact_numbers_are_refused() {
        let fault = |reply: SampleReply| impossible(&reply, 1, u64::MAX / 4, None);
        assert_eq!(fault(sample(MOST_NS)), None);
        assert!(fault(sample(MOST_NS + 1)).unwrap().contains("2^53"));
        assert!(fault(SampleReply { cpu_ns: Some(u64::MAX), ..sample(5) }).unwrap().contains("cpu_ns"));
        assert!(
            fault(SampleReply { untimed_ns: Some(u64::MAX), ..sample(5) }).unwrap().contains("untimed_ns")
        );
        assert!(fault(sample(0)).unwrap().contains("0 ns"));
    }

    #[test]
    fn what_every_sample_lacks_is_told() {
        let account = |samples: &[(u64, Option<u64>, u64)]| {
            let mut account = TimeAudit::default();
            for (wall_ns, untimed_ns, elapsed_ns) in samples {
                account.add(&SampleReply { untimed_ns: *untimed_ns, ..sample(*wall_ns) }, *elapsed_ns);
            }
            account.note().is_some()
        };
        assert!(account(&[(10 * MS, Some(MS), 21 * MS); 8]), "half of it");
        assert!(!account(&[(10 * MS, Some(MS), 21 * MS); 7]), "too few to tell");
        assert!(!account(&[(10 * MS, None, 21 * MS); 8]), "the rest may be inputs");
        assert!(!account(&[(MS, Some(0), 4 * MS); 8]), "handing over takes time");
        let mut disturbed = [(10 * MS, Some(MS), 40 * MS); 8];
        disturbed[3].2 = 12 * MS;
        assert!(!account(&disturbed), "one that is accounted for is enough");
        assert!(!account(&[]));
    }
}
