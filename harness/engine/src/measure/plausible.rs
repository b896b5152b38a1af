//! Plausibility of a worker's times, by the harness's own clock.
//!
//! A sample lies between its request and its answer, so it cannot have taken longer than that. It may have been shorter:
//! the worker makes inputs and runs a lead-in before its clock starts. A time that is too short shows if the worker reports
//! how long that took, if its clock passes less time between two samples than the harness's, or if samples of more
//! iterations take no more time.

use perfharness_contract::protocol::{Mode, SampleReply};
use perfharness_verdict::judge::Suspicion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::executor::Executor;

/// Largest integer up to which all integers of the protocol are exact.
const MOST_NS: u64 = 1 << 53;
/// Relative difference in pace that clocks of one machine may have: corrections of the time of day are a twentieth of it.
const PACE: f64 = 0.01;
/// Error of two readings of clocks, in ns.
const READING_NS: u64 = 1_000_000;
/// Longest step of a clock, whatever a worker reports: the coarsest clock in use has 15.6 ms.
const LONGEST_STEP_NS: u64 = 20_000_000;

/// Share of a sample that a worker may leave unaccounted for: the hand-over, and waits for a processor.
const UNACCOUNTED: f64 = 0.25;
/// Time of a sample that a worker may leave unaccounted for, in ns.
const UNACCOUNTED_NS: u64 = 1_000_000;
/// Fewest samples over all launches. A single sample that is accounted for clears its worker: every sample of a loaded
/// machine may wait, but not all of so many.
const FEWEST: u32 = 16;

/// Relative difference in pace from which a worker's clock disagrees with the harness's.
const OTHER_PACE: f64 = 0.1;
/// Shortest time over which paces are compared, in ns.
const PACE_NS: u64 = 50_000_000;
/// Fewest launches in which the paces must differ.
const PACE_LAUNCHES: usize = 2;

/// Factor between the iterations of samples that are compared.
const LONGER: u64 = 2;
/// Share of the time that the further iterations of a longer sample ought to take, below which its time does not follow
/// them. Samples of both lengths have a lead-in, without which a cold start could be longer than all iterations of the
/// shorter ones.
const FOLLOWS: f64 = 0.2;
/// Fewest samples of either length. The fastest of them counts, as a disturbance only makes a sample slower.
const FEWEST_OF_LENGTH: u32 = 4;
/// Fewest metered samples, of which there is one in a launch.
const FEWEST_METERED: u32 = 2;

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

/// A sample as the harness saw it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'a> {
    pub(super) reply: &'a SampleReply,
    pub(super) mode: Mode,
    /// Iterations that were run, planted ones included.
    pub(super) iterations: u64,
    /// When it was requested, on the harness's clock.
    pub(super) sent_ns: u64,
    /// Time from the request to the answer.
    pub(super) elapsed_ns: u64,
}

/// Comparison of the times of a worker in one launch with each other and with the harness's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeAudit {
    /// Timed samples whose worker reports its untimed work, and the one that lacks least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accounted: Option<Accounted>,
    /// Time between the first and the last sample, by both clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pace: Option<Pace>,
    /// The fastest timed sample of each length; lengths of one power of two are one.
    lengths: Vec<LengthTime>,
    /// The fastest metered sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metered: Option<LengthTime>,
    /// The first sample: its start by the worker's clock, its request and its answer by the harness's.
    #[serde(skip)]
    first: Option<(u64, u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Accounted {
    samples: u32,
    /// Timed and untimed work of the sample that lacks the least share.
    reported_ns: u64,
    /// Time from its request to its answer.
    elapsed_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Pace {
    /// Time by the worker's clock.
    worker_ns: u64,
    /// Least and most time that it can be by the harness's.
    harness_ns: [u64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct LengthTime {
    samples: u32,
    /// Iterations of the fastest sample.
    iterations: u64,
    /// Its time.
    ns: u64,
}

impl Accounted {
    fn missing_ns(&self) -> u64 {
        self.elapsed_ns.saturating_sub(self.reported_ns)
    }

    fn missing_share(&self) -> f64 {
        self.missing_ns() as f64 / self.elapsed_ns.max(1) as f64
    }

    fn and(self, other: Self) -> Self {
        let least = if other.missing_share() < self.missing_share() { other } else { self };
        Self { samples: self.samples + other.samples, ..least }
    }
}

impl Pace {
    /// The nearest time that the harness's clock allows, if the worker's shows another one.
    fn disagrees(&self) -> Option<u64> {
        let [least, most] = self.harness_ns;
        let worker = self.worker_ns as f64;
        if least < PACE_NS {
            None
        } else if worker < least as f64 * (1.0 - OTHER_PACE) {
            Some(least)
        } else {
            (worker > most as f64 * (1.0 + OTHER_PACE)).then_some(most)
        }
    }
}

impl LengthTime {
    fn and(self, other: Self) -> Self {
        let fastest = if other.ns < self.ns { other } else { self };
        Self { samples: self.samples + other.samples, ..fastest }
    }

    /// Tells of a longer sample that takes hardly longer.
    fn same_time(self, longer: Self) -> Option<Suspicion> {
        let more = longer.iterations.checked_sub(self.iterations)?;
        if longer.iterations < LONGER * self.iterations {
            return None;
        }
        let due = self.ns as f64 / self.iterations.max(1) as f64 * more as f64;
        let is = longer.ns as f64 - self.ns as f64;
        (is < FOLLOWS * due).then_some(Suspicion::SameTime {
            few: self.iterations,
            few_ns: self.ns,
            many: longer.iterations,
            many_ns: longer.ns,
        })
    }
}

fn add_length(lengths: &mut Vec<LengthTime>, length: LengthTime) {
    let bucket = |length: &LengthTime| length.iterations.max(1).ilog2();
    match lengths.iter_mut().find(|known| bucket(known) == bucket(&length)) {
        Some(known) => *known = known.and(length),
        None => lengths.push(length),
    }
}

impl TimeAudit {
    /// Adds a sample; of one that does not report its start, the rest counts.
    pub(super) fn add(&mut self, sample: Observed<'_>) {
        let Observed { reply, mode, iterations, sent_ns, elapsed_ns } = sample;
        let received_ns = sent_ns + elapsed_ns;
        if let Some(start_ns) = reply.start_ns {
            let (first_start, first_sent, first_received) =
                *self.first.get_or_insert((start_ns, sent_ns, received_ns));
            self.pace = Some(Pace {
                worker_ns: start_ns.saturating_sub(first_start),
                harness_ns: [sent_ns.saturating_sub(first_received), received_ns.saturating_sub(first_sent)],
            });
        }
        if mode == Mode::Metered {
            let length = LengthTime { samples: 1, iterations, ns: reply.wall_ns };
            self.metered = Some(self.metered.map_or(length, |known| known.and(length)));
        }
    }

    /// Adds the time of a timed sample of a warm placement.
    pub(super) fn follow(&mut self, reply: &SampleReply, iterations: u64) {
        add_length(&mut self.lengths, LengthTime { samples: 1, iterations, ns: reply.wall_ns });
    }

    /// Adds what a timed sample that counts leaves unaccounted for.
    pub(super) fn account(&mut self, reply: &SampleReply, elapsed_ns: u64) {
        let Some(untimed_ns) = reply.untimed_ns else { return };
        let reported_ns = reply.wall_ns.saturating_add(untimed_ns);
        let found = Accounted { samples: 1, reported_ns, elapsed_ns };
        self.accounted = Some(self.accounted.map_or(found, |known| known.and(found)));
    }

    /// Ends the audit of a launch. Clocks differ in whether they count the time in which the machine was suspended.
    pub(super) fn finish(self, suspended: &SuspendedClock, executor: &dyn Executor) -> Self {
        let audit = Self { first: None, ..self };
        if suspended.elapsed_ns(executor) > 0 {
            return Self { pace: None, accounted: None, ..audit };
        }
        audit
    }
}

/// The reasons for which the times of a worker are not believed, by the audits of its launches.
pub(crate) fn suspicions(audits: &[TimeAudit]) -> Vec<Suspicion> {
    let mut lengths: Vec<LengthTime> = Vec::new();
    audits.iter().flat_map(|audit| &audit.lengths).for_each(|length| add_length(&mut lengths, *length));
    lengths.retain(|length| length.samples >= FEWEST_OF_LENGTH);
    lengths.sort_by_key(|length| length.iterations);
    let metered = audits.iter().filter_map(|audit| audit.metered).reduce(LengthTime::and);
    let metered = metered.filter(|metered| metered.samples >= FEWEST_METERED);
    let same_time = match (lengths.first(), lengths.last()) {
        // Meters make a sample slower, so that only a longer one tells anything.
        (Some(one), Some(last)) if last.iterations == 1 => metered.and_then(|longer| one.same_time(longer)),
        (Some(few), Some(many)) => few.same_time(*many),
        _ => None,
    };
    let other: Vec<(&Pace, u64)> = audits
        .iter()
        .filter_map(|audit| audit.pace.as_ref())
        .filter_map(|pace| Some((pace, pace.disagrees()?)))
        .collect();
    let compared = audits.iter().filter(|audit| audit.pace.is_some()).count();
    let other_pace =
        other.first().filter(|_| other.len() >= PACE_LAUNCHES && 2 * other.len() > compared).map(
            |(pace, harness_ns)| Suspicion::OtherPace { worker_ns: pace.worker_ns, harness_ns: *harness_ns },
        );
    let accounted = audits.iter().filter_map(|audit| audit.accounted).reduce(Accounted::and);
    let lacks = |a: &Accounted| {
        a.samples >= FEWEST && a.missing_share() > UNACCOUNTED && a.missing_ns() > UNACCOUNTED_NS
    };
    let unaccounted = accounted
        .filter(lacks)
        .map(|a| Suspicion::Unaccounted { reported_ns: a.reported_ns, elapsed_ns: a.elapsed_ns });
    [same_time, other_pace, unaccounted].into_iter().flatten().collect()
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

    fn observed(reply: &SampleReply, iterations: u64, sent_ns: u64, elapsed_ns: u64) -> Observed<'_> {
        Observed { reply, mode: Mode::Timed, iterations, sent_ns, elapsed_ns }
    }

    #[test]
    fn what_every_sample_lacks_makes_a_worker_suspect() {
        let found = |samples: &[(u64, Option<u64>, u64)]| {
            let mut audits = [TimeAudit::default(), TimeAudit::default()];
            for (at, (wall_ns, untimed_ns, elapsed_ns)) in samples.iter().enumerate() {
                let reply = SampleReply { untimed_ns: *untimed_ns, ..sample(*wall_ns) };
                audits[at % 2].account(&reply, *elapsed_ns);
            }
            suspicions(&audits)
        };
        let due = Suspicion::Unaccounted { reported_ns: 11 * MS, elapsed_ns: 21 * MS };
        assert_eq!(found(&[(10 * MS, Some(MS), 21 * MS); 16]), [due], "half of it");
        assert_eq!(found(&[(10 * MS, Some(MS), 21 * MS); 15]), [], "too few to tell");
        assert_eq!(found(&[(10 * MS, None, 21 * MS); 16]), [], "the rest may be inputs");
        assert_eq!(found(&[(MS / 2, Some(0), MS); 16]), [], "handing over takes time");
        let mut disturbed = [(10 * MS, Some(MS), 40 * MS); 16];
        disturbed[3].2 = 12 * MS;
        assert_eq!(found(&disturbed), [], "one that is accounted for is enough");
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn a_time_that_does_not_follow_its_iterations_makes_a_worker_suspect() {
        let found = |time: fn(u64) -> u64, count: usize| {
            let audits: Vec<TimeAudit> = (0..count)
                .map(|_| {
                    let mut audit = TimeAudit::default();
                    for iterations in [10, 11, 40] {
                        audit.follow(&sample(time(iterations)), iterations);
                    }
                    audit
                })
                .collect();
            suspicions(&audits)
        };
        let due = Suspicion::SameTime { few: 10, few_ns: 5 * MS, many: 40, many_ns: 5 * MS };
        assert_eq!(found(|_| 5 * MS, 8), [due]);
        assert_eq!(found(|_| 5 * MS, 1), [], "too few to tell");
        assert_eq!(found(|n| n * MS, 8), []);
        assert_eq!(found(|n| 5 * MS + n * MS, 8), [], "a fixed part, such as a fence");
        assert_eq!(found(|n| if n < 12 { 2 * n * MS } else { n * MS }, 8), [], "the first ones are slow");
    }

    #[test]
    fn of_single_iterations_the_metered_samples_tell_whether_time_follows_them() {
        let found = |metered_ns: u64, count: usize| {
            let audit = || {
                let mut audit = TimeAudit::default();
                for _ in 0..2 {
                    audit.follow(&sample(5 * MS), 1);
                }
                let reply = sample(metered_ns);
                audit.add(Observed { mode: Mode::Metered, ..observed(&reply, 2, 0, 20 * MS) });
                audit
            };
            suspicions(&(0..count).map(|_| audit()).collect::<Vec<_>>())
        };
        assert_eq!(
            found(5 * MS, 2),
            [Suspicion::SameTime { few: 1, few_ns: 5 * MS, many: 2, many_ns: 5 * MS }]
        );
        assert_eq!(found(10 * MS, 2), []);
        assert_eq!(found(5 * MS, 1), [], "too few to tell");
    }

    #[test]
    fn a_clock_of_another_pace_makes_a_worker_suspect() {
        let found = |pace: f64, launches: usize, honest: usize| {
            let audit = |pace: f64| {
                let mut audit = TimeAudit::default();
                for at in 0..20_u64 {
                    let (sent_ns, start_ns) = (at * 10 * MS, (at as f64 * 10e6 * pace) as u64 + 7 * MS);
                    let reply = SampleReply { start_ns: Some(start_ns), ..sample(MS) };
                    audit.add(observed(&reply, 1, sent_ns, 5 * MS));
                }
                audit
            };
            let audits: Vec<TimeAudit> = (0..launches).map(|_| audit(pace)).collect();
            suspicions(&audits.into_iter().chain((0..honest).map(|_| audit(1.0))).collect::<Vec<_>>())
        };
        let due = Suspicion::OtherPace { worker_ns: 95 * MS, harness_ns: 185 * MS };
        assert_eq!(found(0.5, 2, 1), [due]);
        assert!(
            matches!(found(2.0, 2, 0)[..], [Suspicion::OtherPace { harness_ns, .. }] if harness_ns == 195 * MS)
        );
        assert_eq!(found(0.5, 1, 0), [], "a single launch");
        assert_eq!(found(0.5, 2, 2), [], "no more than half of the launches");
        assert_eq!(found(0.95, 8, 0), [], "the bounds of the first and the last sample");
    }
}
