//! The statistics of perfharness: samples and policy in, estimates and verdicts out.
//!
//! The crate is pure. It reads no clock, file or environment and prints nothing, so that every figure of a
//! report can be made again from a run record, years later. `docs/verdict.md` tells the same story for
//! readers of reports.
//!
//! A comparison is made of log-ratios `d = ln(t_candidate / t_reference)`, one per round, in the nesting
//! launch > placement > block > round ([`Paired`]). [`estimate()`] reduces them to one effect `theta` and its
//! interval, with the launch as the unit that counts: repetition below the launch does not average out what
//! differs between launches.
//!
//! | question | answer |
//! | --- | --- |
//! | How large is the effect, and how sure is it? | [`estimate()`] |
//! | How long does one side take? | [`level()`] |
//! | When may the data be looked at, and at which confidence? | [`Looks`] |
//! | Where does the noise come from, and where is time best spent? | [`components()`], [`allocate`] |
//! | What could this run have seen? | [`Detection`] |
//! | Does an assumption-free test agree? | [`sign_flip()`] |
//! | Does something grow that should not? | [`judge_growth`] |
//! | Does a measured figure keep a promise? | [`judge_at_least`] |
//! | What follows from a comparison, and for a whole gate? | [`judge`] |
//!
//! Eight launches in which the candidate takes a tenth longer:
//!
//! ```
//! use perfharness_verdict::judge::{Direction, Ended, Limit, PairedRun, TimePolicy, Verdict, judge_paired};
//! use perfharness_verdict::{Block, Launch, Paired, Placement, estimate};
//!
//! let launch = |noise: f64| -> Launch {
//!     let block = Block::new(1.1_f64.ln() + noise, 1.1_f64.ln() - noise / 2.0);
//!     [Placement::from_iter([block, block])].into_iter().collect()
//! };
//! let paired = Paired { launches: (0..8).map(|n| launch(f64::from(n) / 1000.0)).collect() };
//!
//! let estimate = estimate(&paired, 0.99)?;
//! let interval = estimate.interval.expect("eight launches have an interval");
//! assert!(interval.lower > 1.09_f64.ln() && interval.upper < 1.11_f64.ln());
//!
//! let terms = TimePolicy { threshold: Limit::new(0.05)?, ..TimePolicy::HARDWARE }.terms();
//! let ended = Ended::Look { launches: 8 };
//! let run = PairedRun { estimate: &estimate, if_kept: None, dropped_blocks: 0, blocks: 16, ended, terms };
//! let judgement = judge_paired(&run, Direction::Lower).expect("a time is not neutral");
//! assert_eq!(judgement.verdict, Verdict::Regressed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod allocation;
mod claim;
mod components;
mod error;
mod estimate;
mod growth;
mod interval;
pub mod judge;
mod layout;
mod level;
mod location;
mod looks;
mod mde;
mod paired;
mod sign_flip;
#[cfg(test)]
mod simulation;
pub mod student;
mod summary;

pub use allocation::{Costs, allocate};
pub use claim::{ClaimFigure, ClaimVerdict, judge_at_least, judge_within};
pub use components::{Allocation, Components, components};
pub use error::EstimateError;
pub use estimate::{Estimate, MIN_LAUNCHES_TO_DECIDE, estimate};
pub use growth::{GrowthPolicy, GrowthTest, GrowthVerdict, MIN_GROWTH_POINTS, judge_growth};
pub use interval::Interval;
pub use layout::{LayoutChoice, Layouts, judge_layouts};
pub use level::{Level, Scale, level};
pub use location::{MIN_LAUNCHES_FOR_INTERVAL, TRIMMED_FROM_LAUNCHES};
pub use looks::{Look, Looks, LooksError, SEQUENTIAL_LOOKS};
pub use mde::{Detection, MAX_LAUNCHES_NEEDED, MDE_POWER};
pub use paired::{Block, Launch, Lead, Paired, Placement, launch_values, log_ratio};
pub use sign_flip::{MAX_SIGN_FLIP_LAUNCHES, SignFlipError, sign_flip};
pub use summary::{Summary, median};
