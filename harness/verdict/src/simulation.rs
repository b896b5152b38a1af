//! Seeded random comparisons with known truth, for tests. The generator has a published, stable algorithm, so
//! that a simulation gives the same figures on every machine and for ever.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::{Block, Paired};

/// Standard normal numbers by the method of Box and Muller.
pub(crate) struct Normal {
    uniform: Pcg64Mcg,
    spare: Option<f64>,
}

impl Normal {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { uniform: Pcg64Mcg::seed_from_u64(seed), spare: None }
    }

    pub(crate) fn next(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * self.open_unit().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.open_unit()).sin_cos();
        self.spare = Some(radius * sin);
        radius * cos
    }

    /// A number strictly between 0 and 1, from the upper 53 bits.
    fn open_unit(&mut self) -> f64 {
        ((self.uniform.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }
}

/// A planted truth: the effect, and the standard deviation that each level adds. All are log-ratios.
#[derive(Clone, Copy)]
pub(crate) struct Truth {
    pub(crate) effect: f64,
    pub(crate) launch_sd: f64,
    pub(crate) placement_sd: f64,
    pub(crate) round_sd: f64,
}

impl Truth {
    /// The noise of a busy shared machine, without an effect.
    pub(crate) const NOISY: Self = Self { effect: 0.0, launch_sd: 0.03, placement_sd: 0.02, round_sd: 0.01 };

    /// A comparison with `blocks(launch, placement)` blocks in each placement.
    pub(crate) fn paired(
        self,
        normal: &mut Normal,
        launches: usize,
        placements: usize,
        blocks: impl Fn(usize, usize) -> usize,
    ) -> Paired {
        (0..launches)
            .map(|launch| {
                let launch_value = self.effect + self.launch_sd * normal.next();
                (0..placements)
                    .map(|placement| {
                        let value = launch_value + self.placement_sd * normal.next();
                        (0..blocks(launch, placement))
                            .map(|_| {
                                let mut round = || value + self.round_sd * normal.next();
                                Block::new(round(), round())
                            })
                            .collect()
                    })
                    .collect()
            })
            .collect()
    }
}

#[test]
fn the_normal_numbers_have_mean_zero_sd_one_and_the_right_tails() {
    let mut normal = Normal::seeded(1);
    let values: Vec<f64> = (0..200_000).map(|_| normal.next()).collect();
    let summary = crate::Summary::of(&values).unwrap();
    assert!(summary.mean.abs() < 0.01, "{summary:?}");
    assert!((summary.sd.unwrap() - 1.0).abs() < 0.01, "{summary:?}");
    let beyond = values.iter().filter(|value| value.abs() > 1.959_964).count() as f64 / values.len() as f64;
    assert!((beyond - 0.05).abs() < 0.002, "{beyond}");
}
