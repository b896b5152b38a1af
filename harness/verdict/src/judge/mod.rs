//! From estimates and policy to verdicts: the rules of the gate, without the gate.

mod accounting;
mod acknowledgement;
mod amount;
mod confirmation;
mod discovery;
mod evidence;
mod judgement;
#[cfg(test)]
mod operating;
mod outcome;
mod policy;
mod rules;
mod suspicion;
mod terms;
mod time_paired;
mod time_unpaired;
mod why;
mod worsening;

pub use accounting::{Account, AccountError, Expected, Presence, Seen, SeenState, account};
pub use acknowledgement::Bounds;
pub use amount::{ExactFigure, Spread, judge_exact, judge_size};
pub use confirmation::{
    CONFIRMATION_ALPHA, Confirmation, MAX_CONFIRMATION_LAUNCHES, MIN_CONFIRMATION_LAUNCHES, Recheck, confirm,
    confirmation_launches,
};
pub use discovery::{FALSE_DISCOVERY_RATE, benjamini_hochberg};
pub use evidence::{Ended, Evidence, PairedEvidence, UnpairedEvidence};
pub use judgement::{Advisory, Judgement, Reason, Verdict};
pub use outcome::GateOutcome;
pub use perfharness_contract::Direction;
pub use policy::{
    CODE_INSTRUCTIONS_RELATIVE, ExactPolicy, GROWTH_MARGIN_BYTES, INSTRUCTIONS_RELATIVE, Limit, LimitError,
    MUST_SEE, RESIDENT_MARGIN_BYTES, SAME_INSTRUCTIONS, SIZE_MARGIN_BYTES, SIZE_RELATIVE,
    SOFTWARE_TIME_THRESHOLD, SizePolicy, TIME_THRESHOLD, TimePolicy,
};
pub use rules::{Adapter, CONFIDENCE, SPEED_UP, Subject, share_to_plant, time_counts};
pub use suspicion::Suspicion;
pub use terms::RowTerms;
pub use time_paired::{MAX_DROPPED_SHARE, PairedRun, judge_paired};
pub use time_unpaired::{MIN_BASELINE_RUNS, Pooled, RunFigure, StoredBaseline, judge_unpaired};
pub use why::{End, Why};
