//! The one place that writes to a terminal. Nothing that others wrote is obeyed there, nor by the runner of a CI job, who
//! reads the same lines.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal as _, Write as _};
use std::panic::PanicHookInfo;

use anstream::{AutoStream, ColorChoice};
use perfharness_record::plain_text::{is_plain, json, styled, unstyled};
use perfharness_report::render::{GateFormat, Layout};

use crate::args::{ColorWhen, GlobalOpts};
use crate::exit::{CommandError, CommandResult, Exit};

/// Where output goes: results to stdout, everything else to stderr.
pub(crate) struct Terminal {
    color: ColorChoice,
    /// Show no progress and no hints.
    pub(crate) quiet: bool,
}

impl Terminal {
    pub(crate) fn new(global: &GlobalOpts) -> Self {
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

    /// Prints a result without styles.
    pub(crate) fn print(&self, text: &str) -> CommandResult {
        self.put(&unstyled(text))
    }

    /// Prints a result that a renderer has put styles into, and has made plain what others wrote in it.
    pub(crate) fn print_styled(&self, text: &str) -> CommandResult {
        self.put(&styled(text))
    }

    /// Prints a result as JSON.
    pub(crate) fn print_json(&self, value: &impl serde::Serialize) -> CommandResult {
        let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?;
        self.put(&json(&format!("{text}\n")))
    }

    /// Prints what a gate found, in this format.
    pub(crate) fn print_gate(&self, text: &str, format: GateFormat) -> CommandResult {
        match format {
            GateFormat::Text => self.print_styled(text),
            GateFormat::Json => self.put(&json(text)),
            GateFormat::Markdown | GateFormat::Junit => self.print(text),
            // Each line is a command of ours, and its renderer has seen to what is in it.
            GateFormat::Github => self.put(text),
        }
    }

    fn put(&self, text: &str) -> CommandResult {
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

    /// Says something beside the result, unless the user wants quiet.
    pub(crate) fn hint(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }

    /// Warns of something that the user should know whether quiet or not.
    #[expect(clippy::unused_self, reason = "as for a hint; how a warning is shown is the terminal's matter")]
    pub(crate) fn warn(&self, text: &str) {
        say(&format!("warning: {text}"));
    }

    /// Says what a command failed with.
    #[expect(clippy::unused_self, reason = "as for a warning")]
    pub(crate) fn error(&self, error: &CommandError) {
        say(&format!("error: {error}"));
    }
}

/// Says a line on stderr. Nothing that is said there has styles.
pub(crate) fn say(text: &str) {
    // Where stderr is closed, nobody can be told.
    let _ = writeln!(io::stderr(), "{}", unstyled(text));
}

/// Whether stderr is a terminal.
pub(crate) fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Says what the arguments ask for in place of a command: what is wrong with them, or help.
pub(crate) fn say_of_arguments(error: &clap::Error) {
    let hostile = |argument: std::ffi::OsString| !argument.to_string_lossy().chars().all(is_plain);
    if error.use_stderr() && std::env::args_os().any(hostile) {
        // It quotes arguments, whose styles nobody could tell from its own.
        return say(error.render().to_string().trim_end());
    }
    let text = styled(&error.render().ansi().to_string());
    let _ = if error.use_stderr() {
        AutoStream::auto(io::stderr()).write_all(text.as_bytes())
    } else {
        AutoStream::auto(io::stdout()).write_all(text.as_bytes())
    };
}

/// Sees to it that what a panic says is cleaned like everything else: it may quote what others wrote.
pub(crate) fn tame_panics() {
    std::panic::set_hook(Box::new(|info| say(&panic_text(info))));
}

fn panic_text(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let trace = Backtrace::capture();
    let trace = match trace.status() {
        BacktraceStatus::Captured => format!("stack backtrace:\n{trace}"),
        _ => "note: with `RUST_BACKTRACE=1` in the environment this says where it comes from".to_owned(),
    };
    format!("thread '{}' {info}\n{trace}", thread.name().unwrap_or("<unnamed>"))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn what_a_panic_quotes_is_not_obeyed() {
        let said = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&said);
        std::panic::set_hook(Box::new(move |info| {
            *kept.lock().unwrap() = unstyled(&panic_text(info));
        }));
        let ended = std::thread::spawn(|| panic!("it says {:}", "\u{1b}[2Jx\r\n::error::y")).join();
        let _ = std::panic::take_hook();
        assert!(ended.is_err());
        let said = said.lock().unwrap();
        assert!(said.contains("it says �[2Jx�\n�::error::y\n"), "{said}");
        assert!(said.contains("terminal.rs"), "{said}");
    }
}
