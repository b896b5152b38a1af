//! The only place that writes to a terminal. It escapes text from other sources, so that neither the terminal nor the
//! runner of a CI job, which reads the same lines, obeys it.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io::{self, IsTerminal as _, Write as _};
use std::panic::PanicHookInfo;

use anstream::{AutoStream, ColorChoice};
use perfharness_record::plain_text::{is_plain, json, styled, unstyled};
use perfharness_report::render::{GateFormat, Layout};

use crate::args::{ColorWhen, GlobalOpts};
use crate::exit::{CommandError, CommandResult, Exit};

/// Destinations of output: results go to stdout, everything else to stderr.
pub(crate) struct Terminal {
    color: ColorChoice,
    /// Suppress progress and hints.
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

    /// Returns the width of the terminal; 100 columns if there is none.
    pub(crate) fn layout() -> Layout {
        let width = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
        width.map_or_else(Layout::default, |(width, _)| Layout { width: width.0.clamp(60, 160) })
    }

    /// Prints a result without styles.
    pub(crate) fn print(&self, text: &str) -> CommandResult {
        self.put(&unstyled(text))
    }

    /// Prints a result with the styles of a renderer, which has escaped text from other sources.
    pub(crate) fn print_styled(&self, text: &str) -> CommandResult {
        self.put(&styled(text))
    }

    /// Prints a result as JSON.
    pub(crate) fn print_json(&self, value: &impl serde::Serialize) -> CommandResult {
        let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::from)?;
        self.put(&json(&format!("{text}\n")))
    }

    /// Prints the report of a gate in this format.
    pub(crate) fn print_gate(&self, text: &str, format: GateFormat) -> CommandResult {
        match format {
            GateFormat::Text => self.print_styled(text),
            GateFormat::Json => self.put(&json(text)),
            GateFormat::Markdown | GateFormat::Junit => self.print(text),
            // Each line is a command of ours, and its renderer escapes the contents.
            GateFormat::Github => self.put(text),
        }
    }

    fn put(&self, text: &str) -> CommandResult {
        let mut out = AutoStream::new(io::stdout(), self.color).lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match written {
            // The reader, e.g. `head`, has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::OK),
            Err(error) => {
                Err(CommandError::Other(anyhow::Error::new(error).context("cannot write to stdout")))
            }
            Ok(()) => Ok(Exit::OK),
        }
    }

    /// Prints a hint, unless the user wants quiet.
    pub(crate) fn hint(&self, text: &str) {
        if !self.quiet {
            say(text);
        }
    }

    /// Prints a warning, even if the user wants quiet.
    #[expect(
        clippy::unused_self,
        reason = "a method like `hint`, because the terminal decides how to show a warning"
    )]
    pub(crate) fn warn(&self, text: &str) {
        say(&format!("warning: {text}"));
    }

    /// Prints the error of a command.
    #[expect(clippy::unused_self, reason = "a method like `hint`")]
    pub(crate) fn error(&self, error: &CommandError) {
        say(&format!("error: {error}"));
    }
}

/// Prints a line without styles to stderr.
pub(crate) fn say(text: &str) {
    // A closed stderr leaves nowhere to report the failure.
    let _ = writeln!(io::stderr(), "{}", unstyled(text));
}

/// Prints the answer of the argument parser: an error or help.
pub(crate) fn say_of_arguments(error: &clap::Error) {
    let hostile = |argument: std::ffi::OsString| !argument.to_string_lossy().chars().all(is_plain);
    if error.use_stderr() && std::env::args_os().any(hostile) {
        // The message quotes arguments, whose styles cannot be distinguished from its own.
        return say(error.render().to_string().trim_end());
    }
    let text = styled(&error.render().ansi().to_string());
    let _ = if error.use_stderr() {
        AutoStream::auto(io::stderr()).write_all(text.as_bytes())
    } else {
        AutoStream::auto(io::stdout()).write_all(text.as_bytes())
    };
}

/// Installs a panic hook that escapes the message, because it may quote text from other sources.
pub(crate) fn tame_panics() {
    std::panic::set_hook(Box::new(|info| say(&panic_text(info))));
}

fn panic_text(info: &PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let trace = Backtrace::capture();
    let trace = match trace.status() {
        BacktraceStatus::Captured => format!("stack backtrace:\n{trace}"),
        _ => "note: set `RUST_BACKTRACE=1` to show a backtrace".to_owned(),
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
        let ended = std::thread::spawn(|| panic!("quoted {:}", "\u{1b}[2Jx\r\n::error::y")).join();
        let _ = std::panic::take_hook();
        assert!(ended.is_err());
        let said = said.lock().unwrap();
        assert!(said.contains("quoted �[2Jx�\n�::error::y\n"), "{said}");
        assert!(said.contains("terminal.rs"), "{said}");
    }
}
