//! The subcommands, one file each.

mod alone;
mod asked;
mod baseline;
mod calibrate;
mod compare;
mod doctor;
mod gate;
mod init;
mod list;
mod memory;
mod pages;
mod profile;
mod report;
mod run;
mod session;
mod show;
mod trace;
mod workers;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use clap::{CommandFactory as _, Parser as _};

use crate::args::{Cli, ColorWhen, Command, GlobalOpts, SchemaOf};
use crate::config::Config;
use crate::exit::{CommandError, CommandResult, Exit, exit_code};
use crate::probe;
use crate::record::schema::{gate_schema, run_schema};
use crate::render::Layout;

/// Reads the arguments, does what they say, and tells the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return exit_code(if error.use_stderr() { Exit::USAGE } else { Exit::OK });
        }
    };
    if matches!(cli.command, Command::Worker) {
        return perfharness_contract::serve(perfharness_all::all());
    }
    if let Command::Probe { question } = cli.command {
        return exit_code(if probe::answer(question).is_ok() { Exit::OK } else { Exit::FAILED });
    }
    let terminal = Terminal::new(&cli.global);
    match dispatch(cli, &terminal) {
        Ok(code) => exit_code(code),
        Err(error) => {
            terminal.error(&error);
            exit_code(error.code())
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
        // Handled before, because they need stdout for themselves.
        Command::Worker | Command::Probe { .. } => Ok(Exit::OK),
    }
}

/// Where output goes: results to stdout, everything else to stderr.
pub(crate) struct Terminal {
    color: ColorChoice,
    /// Show no progress and no hints.
    pub(crate) quiet: bool,
}

impl Terminal {
    fn new(global: &GlobalOpts) -> Self {
        let color = match global.color {
            ColorWhen::Auto => ColorChoice::Auto,
            ColorWhen::Always => ColorChoice::Always,
            ColorWhen::Never => ColorChoice::Never,
        };
        Self { color, quiet: global.quiet }
    }

    /// The width of the terminal; 100 columns where there is none.
    pub(crate) fn layout() -> Layout {
        let width = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
        width.map_or_else(Layout::default, |(width, _)| Layout { width: width.0.clamp(60, 160) })
    }

    /// Prints a result.
    pub(crate) fn print(&self, text: &str) -> CommandResult {
        let mut out = AutoStream::new(io::stdout(), self.color).lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            // Whoever reads, e.g. `head`, has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::OK),
            Err(error) => {
                Err(CommandError::Other(anyhow::Error::new(error).context("cannot write to stdout")))
            }
            Ok(()) => Ok(Exit::OK),
        }
    }

    /// Prints a result as JSON.
    pub(crate) fn print_json(&self, value: &impl serde::Serialize) -> CommandResult {
        let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?;
        self.print(&format!("{text}\n"))
    }

    /// Says something beside the result, unless the user wants quiet.
    pub(crate) fn hint(&self, text: &str) {
        if !self.quiet {
            self.say("", text);
        }
    }

    /// Warns of something that the user should know whether quiet or not.
    pub(crate) fn warn(&self, text: &str) {
        self.say("warning: ", text);
    }

    fn error(&self, error: &CommandError) {
        self.say("error: ", &error.to_string());
    }

    fn say(&self, prefix: &str, text: &str) {
        let mut err = AutoStream::new(io::stderr(), self.color).lock();
        // Where stderr is closed, nobody can be told.
        let _ = writeln!(err, "{prefix}{text}");
    }
}
