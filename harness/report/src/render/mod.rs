//! Results for people, as text made from records. Nothing here measures or decides.

mod baseline;
mod claims;
pub mod export;
mod gate;
mod memory;
mod outcome;
pub mod page;
mod profile;
mod table;
mod trace;
mod words;

pub use baseline::{Calibration, CalibrationRow, LOOKS, render_baseline, render_calibration, render_changes};
pub use export::{ExportFormat, export};
pub use gate::{GateFormat, render_gate};
pub use memory::render_memory;
pub use profile::render_profiles;
pub use table::{Layout, heading, render_record, wrap};
pub use trace::render_traces;
