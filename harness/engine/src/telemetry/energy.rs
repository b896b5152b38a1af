//! Power of a GPU from its energy counter. A pure fold over readings.

/// Energy counter of a GPU, and its latest readings.
#[derive(Clone, Debug)]
pub(super) struct EnergyCounter {
    /// Value when watching began, in mJ.
    from_mj: u64,
    last_mj: u64,
    last_ns: u64,
}

impl EnergyCounter {
    /// Begins with a reading of the counter in mJ, at a time in ns.
    pub(super) fn new(mj: u64, at_ns: u64) -> Self {
        Self { from_mj: mj, last_mj: mj, last_ns: at_ns }
    }

    /// Returns the mean power in W since the reading before. `None` if the counter has not moved: drivers renew it a few
    /// times a second, and a GPU that is on takes some power. The next reading then covers both stretches.
    pub(super) fn watts(&mut self, mj: u64, at_ns: u64) -> Option<f64> {
        if mj < self.last_mj {
            // The driver was loaded again, and counts from 0.
            *self = Self { from_mj: mj, last_mj: mj, last_ns: at_ns };
            return None;
        }
        let (used_mj, ns) = (mj - self.last_mj, at_ns.saturating_sub(self.last_ns));
        if used_mj == 0 || ns == 0 {
            return None;
        }
        (self.last_mj, self.last_ns) = (mj, at_ns);
        Some(used_mj as f64 * 1e6 / ns as f64)
    }

    /// Returns the energy in J since watching began.
    pub(super) fn joules(&self, mj: u64) -> f64 {
        mj.saturating_sub(self.from_mj) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn power_is_that_of_the_stretch_between_two_readings_alone() {
        let mut counter = EnergyCounter::new(1_000, 0);
        // 100 W for 250 ms, then 400 W: a mean over a second would show 100 W as 325 W at the end.
        assert_eq!(counter.watts(26_000, 250 * MS), Some(100.0));
        for step in 1..=3 {
            assert_eq!(counter.watts(26_000 + 100_000 * step, 250 * (1 + step) * MS), Some(400.0));
        }
        assert_eq!(counter.joules(326_000), 325.0);
    }

    #[test]
    fn a_counter_that_has_not_moved_says_nothing_until_it_does() {
        let mut counter = EnergyCounter::new(0, 0);
        assert_eq!(counter.watts(0, 100 * MS), None);
        assert_eq!(counter.watts(20_000, 200 * MS), Some(100.0));
        assert_eq!(counter.watts(30_000, 200 * MS), None, "no time has passed");
    }

    #[test]
    fn a_counter_that_begins_anew_gives_no_power_and_no_energy_of_before() {
        let mut counter = EnergyCounter::new(5_000, 0);
        assert_eq!(counter.watts(1_000, 100 * MS), None);
        assert_eq!(counter.watts(2_000, 200 * MS), Some(10.0));
        assert_eq!(counter.joules(2_000), 1.0);
    }
}
