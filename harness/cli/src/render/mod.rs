//! Results for people: text from records, nothing measured and nothing decided here.

mod baseline;
mod doctor;
mod gate;
mod list;
mod profile;
mod progress;
mod table;
pub mod units;

pub use baseline::{Calibration, CalibrationRow, render_baseline, render_calibration, render_changes};
pub use doctor::render_diagnosis;
pub use gate::{GateFormat, render_gate};
pub use list::render_list;
pub use profile::render_profiles;
pub use progress::Progress;
pub use table::{Layout, render_extent, render_plan, render_record};
