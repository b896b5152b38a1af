//! From values to pixels, and back to round figures for an axis.

/// A horizontal or vertical axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    /// Value at the first pixel.
    pub(super) from: f64,
    /// Value at the last pixel.
    pub(super) to: f64,
    /// The first pixel.
    pub(super) first: i32,
    /// The last pixel.
    pub(super) last: i32,
    /// Whether equal distances are equal ratios.
    pub(super) log: bool,
}

/// From this ratio on, a linear axis would press the small ones together.
const LOG_FROM: f64 = 6.0;

impl Scale {
    /// A scale for positive values that shows all of them, with some room at both ends; `None` where there are none.
    pub(super) fn fit(values: impl Iterator<Item = f64>, first: i32, last: i32) -> Option<Self> {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.filter(|value| value.is_finite() && *value > 0.0) {
            (least, most) = (least.min(value), most.max(value));
        }
        if most <= 0.0 {
            return None;
        }
        if most / least >= LOG_FROM {
            let room = (most / least).powf(0.03);
            return Some(Self { from: least / room, to: most * room, first, last, log: true });
        }
        // Times that hardly differ get an axis wide enough that their noise does not look like a difference.
        let room = ((most - least) * 0.05).max(most * 0.01);
        Some(Self { from: (least - room).max(0.0), to: most + room, first, last, log: false })
    }

    /// A logarithmic scale.
    pub(super) fn log(from: f64, to: f64, first: i32, last: i32) -> Self {
        Self { from, to, first, last, log: true }
    }

    /// The pixel of a value.
    pub(super) fn at(&self, value: f64) -> i32 {
        let share = if self.log {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        // Far outside is as far as pixels go.
        let share = if share.is_finite() { share.clamp(-10.0, 10.0) } else { 0.0 };
        self.first + (share * f64::from(self.last - self.first)).round() as i32
    }

    /// Round values for the axis, at most so many.
    pub(super) fn ticks(&self, most: usize) -> Vec<f64> {
        if self.log { self.log_ticks(most) } else { self.linear_ticks(most) }
    }

    fn linear_ticks(&self, most: usize) -> Vec<f64> {
        let span = self.to - self.from;
        if span.is_nan() || span <= 0.0 || most == 0 {
            return Vec::new();
        }
        let rough = span / most as f64;
        let magnitude = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * magnitude).find(|step| span / step <= most as f64);
        let step = step.unwrap_or(10.0 * magnitude);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
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
        let every = (self.to / self.from).log10() / most as f64;
        let every = every.ceil().max(1.0) as usize;
        decades.step_by(every).map(|d| 10f64.powi(d)).filter(within).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_at_the_ends() {
        for scale in [
            Scale { from: 2.0, to: 10.0, first: 100, last: 300, log: false },
            Scale::log(2.0, 10.0, 100, 300),
        ] {
            assert_eq!((scale.at(2.0), scale.at(10.0)), (100, 300));
        }
        assert_eq!(Scale::log(1.0, 100.0, 0, 200).at(10.0), 100);
    }

    #[test]
    fn ticks_are_round_within_the_axis_and_not_too_many() {
        let linear = Scale { from: 3.1, to: 9.7, first: 0, last: 1, log: false };
        assert_eq!(linear.ticks(5), [4.0, 6.0, 8.0]);
        assert_eq!(Scale::log(0.9, 12.0, 0, 1).ticks(6), [1.0, 2.0, 5.0, 10.0]);
        for scale in [Scale::log(1e-3, 1e12, 0, 1), Scale::log(1.0, 1e4, 0, 1), linear] {
            let ticks = scale.ticks(6);
            assert!(!ticks.is_empty() && ticks.len() <= 7, "{ticks:?}");
            assert!(ticks.iter().all(|tick| *tick >= scale.from && *tick <= scale.to));
        }
    }

    #[test]
    fn values_that_hardly_differ_are_not_blown_up() {
        let scale = Scale::fit([100.0, 100.01].into_iter(), 0, 1000).unwrap();
        assert!(scale.at(100.01) - scale.at(100.0) < 10);
    }

    #[test]
    fn nothing_positive_has_no_scale() {
        assert_eq!(Scale::fit([f64::NAN, 0.0, -1.0, f64::INFINITY].into_iter(), 0, 1), None);
    }
}
