//! Results for people: text from records, nothing measured and nothing decided here.

mod doctor;
mod list;
mod progress;
mod table;
pub mod units;

pub use doctor::render_diagnosis;
pub use list::render_list;
pub use progress::Progress;
pub use table::{Layout, render_extent, render_plan, render_record};
