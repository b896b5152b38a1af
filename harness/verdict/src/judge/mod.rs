//! From estimates and policy to verdicts: the rules of the gate, without the gate.

mod accounting;
mod amount;
mod confirmation;
mod discovery;
mod evidence;
mod judgement;
#[cfg(test)]
mod operating;
mod outcome;
mod policy;
mod sentence;
mod time_paired;
mod time_unpaired;
mod zone;

pub use accounting::{Account, AccountError, Expected, Presence, Seen, SeenState, account};
pub use amount::{ExactFigure, judge_exact, judge_size};
pub use confirmation::{
    CONFIRMATION_ALPHA, Confirmation, MAX_CONFIRMATION_LAUNCHES, Recheck, confirm, confirmation_launches,
};
pub use discovery::{FALSE_DISCOVERY_RATE, benjamini_hochberg};
pub use evidence::{Ended, Evidence, PairedEvidence, UnpairedEvidence};
pub use judgement::{Advisory, Judgement, Reason, Verdict};
pub use outcome::GateOutcome;
pub use policy::{
    Direction, ExactPolicy, Limit, LimitError, Policy, SIZE_FLOOR_BYTES, SIZE_RELATIVE,
    SOFTWARE_TIME_THRESHOLD, SizePolicy, TIME_THRESHOLD, TimePolicy,
};
pub use sentence::{Wording, sentence};
pub use time_paired::{MAX_DROPPED_SHARE, PairedRun, judge_paired};
pub use time_unpaired::{MIN_BASELINE_RUNS, Pooled, RunFigure, StoredBaseline, judge_unpaired};
