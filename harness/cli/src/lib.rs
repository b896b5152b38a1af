//! The program: arguments and configuration in, a record, a page and an exit code out; one file for each subcommand.
//!
//! The crates below do the work of the subcommands: `perfharness-engine` measures, `perfharness-record` holds and judges,
//! `perfharness-report` shows. This crate has the parts that only a program needs: `args`, `config`, [`commands`], `exit`,
//! [`doctor`], which says what a machine can measure, and `versions`, which builds two commits so that only the code
//! differs. The library exists for the tests; its interface is the command line.

mod args;
pub mod commands;
mod config;
pub mod doctor;
mod exit;
pub mod inputs;
mod listener;
mod plan_text;
mod progress;
mod terminal;
mod versions;
