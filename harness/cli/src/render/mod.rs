//! Results for people: text from records, nothing measured and nothing decided here.

mod baseline;
mod claims;
mod doctor;
pub mod export;
mod gate;
mod list;
mod memory;
mod outcome;
pub mod page;
mod profile;
mod progress;
mod table;
mod trace;
pub mod units;
mod words;

#[cfg(test)]
pub(crate) use gate::sample as sample_rows;

pub use baseline::{
    Calibration, CalibrationRow, PlantedRow, render_baseline, render_calibration, render_changes,
};
pub use doctor::render_diagnosis;
pub use export::{ExportFormat, export};
pub use gate::{GateFormat, render_gate};
pub use list::render_list;
pub use memory::render_memory;
pub use profile::render_profiles;
pub use progress::Progress;
pub use table::{Layout, render_extent, render_plan, render_record};
pub use trace::render_traces;
