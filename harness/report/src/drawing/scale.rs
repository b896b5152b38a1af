//! Conversion of values to pixels, and round values for an axis.

/// A horizontal or vertical axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisScale {
    /// Value at the first pixel.
    pub(crate) from: f64,
    /// Value at the last pixel.
    pub(crate) to: f64,
    /// The first pixel.
    pub(crate) first: i32,
    /// The last pixel.
    pub(crate) last: i32,
    /// Whether equal distances are equal ratios.
    pub(crate) log: bool,
}

/// Ratio from which a linear axis would crowd the small values.
const LOG_FROM: f64 = 6.0;

/// The smallest positive number, 2^-1074.
const SMALLEST: f64 = f64::from_bits(1);

/// The bound 2^53, up to which an integer differs from the next one.
const COUNTABLE: f64 = 9_007_199_254_740_992.0;

impl AxisScale {
    /// Returns a scale that shows all positive values with a margin; `None` if there are none.
    pub(crate) fn fit(values: impl Iterator<Item = f64>, first: i32, last: i32) -> Option<Self> {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (least, most) = (least.min(value), most.max(value));
        }
        if most <= 0.0 {
            return None;
        }
        // The ratio of the largest number to the smallest is infinite.
        if ln_ratio(most, least) >= LOG_FROM.ln() {
            let room = (most / least).powf(0.03);
            let room = if room.is_finite() { room } else { (0.03 * ln_ratio(most, least)).exp() };
            let (from, to) = ((least / room).max(SMALLEST), (most * room).min(f64::MAX));
            return Some(Self { from, to, first, last, log: true });
        }
        // Times that hardly differ get an axis so wide that their noise does not look like a difference.
        let room = ((most - least) * 0.05).max(most * 0.01).max(SMALLEST);
        let (from, to) = ((least - room).max(0.0), (most + room).min(f64::MAX));
        Some(Self { from, to, first, last, log: false })
    }

    /// Returns a logarithmic scale.
    pub(crate) fn log(from: f64, to: f64, first: i32, last: i32) -> Self {
        Self { from, to, first, last, log: true }
    }

    /// Returns the pixel of a value.
    pub(crate) fn at(&self, value: f64) -> i32 {
        let share = if self.log {
            ln_ratio(value, self.from) / ln_ratio(self.to, self.from)
        } else {
            (value - self.from) / (self.to - self.from)
        };
        // Clamps pixels far outside of the axis.
        let share = if share.is_finite() { share.clamp(-10.0, 10.0) } else { 0.0 };
        self.first + (share * f64::from(self.last - self.first)).round() as i32
    }

    /// Returns about `most` round values at most; none if the axis is empty or has an infinite end.
    pub(crate) fn ticks(&self, most: usize) -> Vec<f64> {
        let is_axis = self.from.is_finite() && self.to.is_finite() && self.from < self.to && most > 0;
        let ticks = match self.log {
            _ if !is_axis => Vec::new(),
            true if self.from <= 0.0 => Vec::new(),
            true => self.log_ticks(most),
            false => self.linear_ticks(most),
        };
        ticks.into_iter().filter(|value| *value >= self.from && *value <= self.to).collect()
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let span = self.to - self.from;
        let rough = span / most as f64;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|step| span / step <= most as f64);
        let step = step.unwrap_or(10.0 * magnitude);
        let (first, last) = ((self.from / step).ceil(), (self.to / step).floor());
        // Without a countable step there are no ticks: numbers are too sparse here, or the axis exceeds their range.
        let can_count = step.is_normal() && first.abs().max(last.abs()) < COUNTABLE;
        if !can_count || last - first > most as f64 {
            return Vec::new();
        }
        (first as i64..=last as i64).map(|at| at as f64 * step).collect()
    }

    fn log_ticks(&self, most: usize) -> Vec<f64> {
        let within = |value: &f64| *value >= self.from && *value <= self.to;
        let decades = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
        for digits in [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]] {
            let all = decades.clone().flat_map(|d| digits.iter().map(move |m| m * 10f64.powi(d)));
            let ticks: Vec<f64> = all.filter(within).collect();
            if ticks.len() <= most {
                return ticks;
            }
        }
        let every = ln_ratio(self.to, self.from) / std::f64::consts::LN_10 / most as f64;
        let every = every.ceil().max(1.0) as usize;
        decades.step_by(every).map(|d| 10f64.powi(d)).filter(within).collect()
    }
}

/// Returns `ln(a / b)` of positive numbers, even if the ratio overflows or underflows.
fn ln_ratio(a: f64, b: f64) -> f64 {
    let ratio = a / b;
    if ratio.is_normal() { ratio.ln() } else { a.ln() - b.ln() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ends_are_at_the_ends() {
        for scale in [
            AxisScale { from: 2.0, to: 10.0, first: 100, last: 300, log: false },
            AxisScale::log(2.0, 10.0, 100, 300),
        ] {
            assert_eq!((scale.at(2.0), scale.at(10.0)), (100, 300));
        }
        assert_eq!(AxisScale::log(1.0, 100.0, 0, 200).at(10.0), 100);
    }

    #[test]
    fn ticks_are_round_within_the_axis_and_not_too_many() {
        let linear = AxisScale { from: 3.1, to: 9.7, first: 0, last: 1, log: false };
        assert_eq!(linear.ticks(5), [4.0, 6.0, 8.0]);
        assert_eq!(AxisScale::log(0.9, 12.0, 0, 1).ticks(6), [1.0, 2.0, 5.0, 10.0]);
        for scale in [AxisScale::log(1e-3, 1e12, 0, 1), AxisScale::log(1.0, 1e4, 0, 1), linear] {
            let ticks = scale.ticks(6);
            assert!(!ticks.is_empty() && ticks.len() <= 7, "{ticks:?}");
            assert!(ticks.iter().all(|tick| *tick >= scale.from && *tick <= scale.to));
        }
    }

    #[test]
    fn values_that_hardly_differ_are_not_blown_up() {
        let scale = AxisScale::fit([100.0, 100.01].into_iter(), 0, 1000).unwrap();
        assert!(scale.at(100.01) - scale.at(100.0) < 10);
    }

    #[test]
    fn nothing_positive_has_no_scale() {
        assert_eq!(AxisScale::fit([f64::NAN, 0.0, -1.0, f64::INFINITY].into_iter(), 0, 1), None);
    }

    /// Any number that a record can hold or arithmetic can yield.
    fn any_number() -> impl Strategy<Value = f64> {
        let extreme =
            [5e-324, 1e-308, 1e308, f64::MAX, f64::INFINITY, f64::NAN, 0.0, 1.0, 9_007_199_254_740_993.0];
        let extreme: Vec<f64> = extreme.into_iter().flat_map(|value| [value, -value]).collect();
        prop_oneof![any::<u64>().prop_map(f64::from_bits), proptest::sample::select(extreme)]
    }

    fn assert_bounded(scale: &AxisScale, most: usize) {
        let ticks = scale.ticks(most);
        assert!(ticks.len() <= most + 1, "{scale:?}: {} ticks", ticks.len());
        assert!(ticks.iter().all(|tick| *tick >= scale.from && *tick <= scale.to), "{scale:?}: {ticks:?}");
        for value in [scale.from, scale.to, 0.0, -1.0, f64::NAN, f64::INFINITY, 5e-324, f64::MAX] {
            assert!(scale.at(value).unsigned_abs() <= 11_000, "{scale:?}: {value}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn every_axis_has_few_ticks_and_no_pixel_far_away(
            ends in (any_number(), any_number()),
            log in any::<bool>(),
            most in 0_usize..12,
        ) {
            assert_bounded(&AxisScale { from: ends.0, to: ends.1, first: 0, last: 1_000, log }, most);
        }

        #[test]
        fn an_axis_of_whatever_values_has_ends_that_are_numbers_and_shows_them(
            values in proptest::collection::vec(any_number(), 0..5),
            most in 0_usize..12,
        ) {
            if let Some(scale) = AxisScale::fit(values.iter().copied(), 0, 1_000) {
                assert!(scale.from.is_finite() && scale.to.is_finite() && scale.from < scale.to, "{scale:?}");
                assert_bounded(&scale, most);
                for value in values.into_iter().filter(|value| value.is_finite() && *value > 0.0) {
                    assert!((0..=1_000).contains(&scale.at(value)), "{scale:?}: {value}");
                }
            }
        }
    }

    #[test]
    fn an_axis_over_all_numbers_has_ticks() {
        let scale = AxisScale::fit([5e-324, 1e308].into_iter(), 0, 1_000).unwrap();
        assert!((2..=7).contains(&scale.ticks(6).len()), "{:?}", scale.ticks(6));
        assert!(scale.at(1e308) - scale.at(5e-324) > 900);
    }
}
