//! The program: plan, measure, record, compare, render; one folder each, and one file for each subcommand.
//!
//! Data flow one way, left to right:
//!
//! ```text
//! workers -> plan -> measure -> record -> compare -> render
//!                                 |          ^
//!                                 baseline --+
//! ```
//!
//! [`doctor`] stands beside that: it says what a machine can measure. Drivers are asked by way of [`probe`].
//!
//! [`telemetry`] watches processor, GPU and workers while a run measures.
//!
//! [`profile`] makes pictures of where a benchmark spends its time, from launches that nothing is timed in, and [`trace`]
//! files of when it does what.
//!
//! [`memory`] tells whether a benchmark leaks, from a launch of many iterations.
//!
//! [`measure`] emits events and never prints; everything right of the record is a pure function of files. The library
//! exists for the tests and for programs that embed the harness; its interface is the command line.

pub mod args;
pub mod baseline;
pub mod ceiling;
pub mod commands;
pub mod compare;
pub mod config;
pub mod doctor;
pub mod exit;
pub mod history;
pub mod index_file;
pub mod inputs;
pub mod measure;
pub mod memory;
mod plain_text;
pub mod plan;
pub mod probe;
pub mod profile;
pub mod record;
pub mod render;
pub mod request;
pub mod telemetry;
mod terminal;
pub mod trace;
pub mod versions;
