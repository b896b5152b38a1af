//! The subcommands, one file each.

mod alone;
mod baseline;
mod calibrate;
mod compare;
mod doctor;
mod gate;
mod init;
mod list;
mod memory;
mod pages;
mod places;
mod profile;
mod report;
mod request;
mod run;
mod show;
mod trace;
mod workers;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use perfharness_engine::journal::journal_schema;
use perfharness_engine::probe;
use perfharness_record::schema::{baseline_schema, gate_schema, run_schema};

use crate::args::{Cli, Command, SchemaOf};
use crate::config::Config;
use crate::exit::{CommandResult, Exit};
pub(crate) use crate::terminal::Terminal;
use crate::terminal::{say_of_arguments, tame_panics};

/// Reads the arguments, does what they say, and tells the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            say_of_arguments(&error);
            return ExitCode::from(if error.use_stderr() { Exit::USAGE } else { Exit::OK });
        }
    };
    if matches!(cli.command, Command::Worker) {
        return perfharness_contract::serve(perfharness_all::all());
    }
    if let Command::Probe { words } = &cli.command {
        return ExitCode::from(if probe::answer(words).is_ok() { Exit::OK } else { Exit::FAILED });
    }
    tame_panics();
    let terminal = Terminal::new(&cli.global);
    match dispatch(cli, &terminal) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(error.code())
        }
    }
}

fn dispatch(cli: Cli, terminal: &Terminal) -> CommandResult {
    let config = || Config::load(cli.global.config.as_deref());
    match cli.command {
        Command::Run(opts) => run::run(&opts, &config()?, terminal),
        Command::Profile(opts) => profile::profile(&opts, &config()?, terminal),
        Command::Trace(opts) => trace::trace(&opts, &config()?, terminal),
        Command::Memory(opts) => memory::memory(&opts, &config()?, terminal),
        Command::List(opts) => list::list(&opts, &config()?, terminal),
        Command::Show(opts) => show::show(&opts, terminal),
        Command::Report(opts) => report::report(&opts, &config()?, terminal),
        Command::Gate(opts) => gate::gate(&opts, &config()?, cli.global.config.as_deref(), terminal),
        Command::Compare(opts) => compare::compare(&opts, &config()?, terminal),
        Command::Baseline(command) => baseline::baseline(&command, cli.global.config.as_deref(), terminal),
        Command::Calibrate(opts) => calibrate::calibrate(&opts, &config()?, terminal),
        Command::Doctor(opts) => doctor::doctor(&opts, &config()?, terminal),
        Command::Init => init::init(terminal),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "perfharness", &mut script);
            terminal.print(&String::from_utf8_lossy(&script))
        }
        Command::Schema { of: SchemaOf::Run } => terminal.print_json(&run_schema()),
        Command::Schema { of: SchemaOf::Gate } => terminal.print_json(&gate_schema()),
        Command::Schema { of: SchemaOf::Baseline } => terminal.print_json(&baseline_schema()),
        Command::Schema { of: SchemaOf::Journal } => terminal.print_json(&journal_schema()),
        // Handled before, because they need stdout for themselves.
        Command::Worker | Command::Probe { .. } => Ok(Exit::OK),
    }
}
