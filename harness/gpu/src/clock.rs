//! Conversion between the clocks of device and host. Pure functions from ticks and nanoseconds to a line between them.

use crate::spans::unwrapped;

/// A pair of timestamps of the device, with readings of the host's clock before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) before_ns: u64,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) after_ns: u64,
}

impl Moment {
    /// Returns the moment with ticks of a counter that does not start anew after the tick `first`.
    fn unwrapped(self, first: u64) -> Self {
        Self { begin: unwrapped(self.begin, first), end: unwrapped(self.end, first), ..self }
    }
}

/// Maps ticks of a device to the host's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TickClock {
    tick: u64,
    /// Position of that tick on the host's clock, in ns after a moment.
    base_ns: u64,
    behind_ns: f64,
    /// Length of a tick in ns.
    period: f64,
    /// Largest offset of the whole clock, in ns.
    pub(crate) uncertainty_ns: u64,
}

impl TickClock {
    /// Fits the clock to moments taken before and after a stretch; `None` if there are no moments.
    ///
    /// Each moment bounds the host time at which the device's clock was read, so all of them together are more exact.
    /// If they contradict each other, one of the clocks has drifted, and the true value lies between all of them.
    pub(crate) fn fit(moments: &[Moment], period: f32) -> Option<Self> {
        let tick = moments.first()?.begin;
        let base_ns = moments.first()?.before_ns;
        let period = f64::from(period);
        let moments: Vec<Moment> = moments.iter().map(|moment| moment.unwrapped(tick)).collect();
        // The differences are taken first, because an absolute count has more digits than a float64 holds.
        let behind = |host_ns: u64, at: u64| difference(host_ns, base_ns) - difference(at, tick) * period;
        // Earliest and latest time of the tick, according to each moment.
        let earliest: Vec<f64> = moments.iter().map(|m| behind(m.before_ns, m.begin)).collect();
        let latest: Vec<f64> = moments.iter().map(|m| behind(m.after_ns, m.end)).collect();
        let (mut from, mut to) = (largest(&earliest), smallest(&latest));
        if from > to {
            (from, to) = (smallest(&earliest), largest(&latest));
        }
        let uncertainty_ns = ((to - from) / 2.0).max(0.0).ceil() as u64;
        Some(Self { tick, base_ns, behind_ns: f64::midpoint(from, to), period, uncertainty_ns })
    }

    /// Creates a clock of ticks alone, starting at this one.
    pub(crate) fn own(tick: u64, period: f32) -> Self {
        Self { tick, base_ns: 0, behind_ns: 0.0, period: f64::from(period), uncertainty_ns: 0 }
    }

    /// Returns the time of a tick on the host's clock, in ns.
    pub(crate) fn nanoseconds(&self, tick: u64) -> u64 {
        let behind = self.behind_ns + difference(unwrapped(tick, self.tick), self.tick) * self.period;
        self.base_ns.saturating_add_signed(behind.round() as i64)
    }
}

fn difference(value: u64, from: u64) -> f64 {
    (i128::from(value) - i128::from(from)) as f64
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

fn smallest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(before_ns: u64, tick: u64, after_ns: u64) -> Moment {
        Moment { before_ns, begin: tick, end: tick, after_ns }
    }

    #[test]
    fn a_moment_places_ticks_within_half_of_what_it_took() {
        let clock = TickClock::fit(&[moment(1_000, 50, 1_400)], 10.0).unwrap();
        assert_eq!((clock.nanoseconds(50), clock.nanoseconds(60), clock.uncertainty_ns), (1_200, 1_300, 200));
        assert_eq!(clock.nanoseconds(45), 1_150, "ticks before it");
        assert_eq!(TickClock::fit(&[], 1.0), None);
    }

    #[test]
    fn moments_make_each_other_more_exact() {
        // The true time is 1_300 at tick 50: the first reading was too early, the second too late.
        let moments =
            [moment(1_000, 50, 1_310), moment(11_290, 1_050, 12_000), moment(20_000, 2_050, 25_000)];
        let clock = TickClock::fit(&moments, 10.0).unwrap();
        assert_eq!((clock.nanoseconds(50), clock.uncertainty_ns), (1_300, 10));
    }

    #[test]
    fn the_pair_of_a_moment_is_between_its_host_times() {
        // The timestamps are 300 ns apart, so only 100 of the 400 ns are uncertain.
        let both = Moment { before_ns: 1_000, begin: 50, end: 80, after_ns: 1_400 };
        let clock = TickClock::fit(&[both], 10.0).unwrap();
        assert_eq!((clock.nanoseconds(50), clock.uncertainty_ns), (1_050, 50));
    }

    #[test]
    fn clocks_that_drift_are_less_certain_and_no_contradiction() {
        // 1 µs further apart at the end.
        let moments = [moment(1_000, 0, 1_020), moment(102_000, 10_000, 102_020)];
        let clock = TickClock::fit(&moments, 10.0).unwrap();
        assert_eq!((clock.nanoseconds(0), clock.uncertainty_ns), (1_510, 510));
    }

    #[test]
    fn a_counter_that_starts_anew_goes_on_in_time() {
        let end = 1 << 36;
        let moments = [moment(1_000, end - 100, 1_020), moment(3_000, 100, 3_020)];
        let clock = TickClock::fit(&moments, 10.0).unwrap();
        assert_eq!((clock.nanoseconds(end - 50), clock.nanoseconds(50)), (1_510, 2_510));
        assert_eq!(clock.uncertainty_ns, 10);
    }

    #[test]
    fn large_counts_keep_their_nanoseconds() {
        let (tick, now) = (1_700_000_000_000_000_000, 1_000_000_000_000_000);
        let clock = TickClock::fit(&[moment(now, tick, now)], 1.0).unwrap();
        assert_eq!(clock.nanoseconds(tick + 1), now + 1);
        assert_eq!(clock.nanoseconds(tick - 7), now - 7);
    }

    #[test]
    fn a_clock_of_its_own_begins_at_its_first_tick() {
        let clock = TickClock::own(1_000, 2.0);
        assert_eq!((clock.nanoseconds(1_000), clock.nanoseconds(1_005)), (0, 10));
    }
}
