//! Results for people and other programs: pure functions of records and of the files beside them.
//!
//! [`render`] makes text, pages and exports. [`profile`], [`memory`] and [`trace`] write the folders of flame graphs,
//! memory stories and traces. [`history`] keeps a small summary beside each record, so that a page can show a
//! thousand runs side by side without reading their records. Nothing here measures or judges.

mod drawing;
mod file_names;
mod folder;
pub mod history;
pub mod memory;
pub mod profile;
pub mod render;
pub mod trace;
