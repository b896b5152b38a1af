//! Results for people and other programs: pure functions of records and what lies beside them.
//!
//! [`render`] makes text, pages and exports. [`profile`], [`memory`] and [`trace`] write the folders of flame graphs,
//! memory stories and traces. [`history`] keeps a small summary beside each record, so that a thousand runs can be shown
//! side by side without reading them. Nothing is measured here, and nothing is judged.

mod drawing;
mod file_names;
pub mod history;
pub mod memory;
pub mod profile;
pub mod render;
pub mod trace;
