//! A run on the terminal: notes, progress, and Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use perfharness_engine::measure::Event;
use perfharness_engine::plan::Plan;
use perfharness_engine::run::{Listener, Note};

use crate::plan_text::render_announcement;
use crate::progress::Progress;
use crate::terminal::Terminal;

/// Shows a run on the terminal.
pub(crate) struct Shown<'t> {
    terminal: &'t Terminal,
    /// Set by Ctrl-C once the run has something to keep.
    interrupted: Arc<AtomicBool>,
    is_heard: bool,
    progress: Option<Progress>,
}

impl<'t> Shown<'t> {
    /// Shows a run that `interrupted` ends.
    pub(crate) fn new(interrupted: &Arc<AtomicBool>, terminal: &'t Terminal) -> Self {
        Self { terminal, interrupted: Arc::clone(interrupted), is_heard: false, progress: None }
    }

    /// Lets Ctrl-C end the run in good order from here on.
    pub(crate) fn hear_interrupts(&mut self) -> Result<(), String> {
        if !self.is_heard {
            let interrupted = Arc::clone(&self.interrupted);
            ctrlc::set_handler(move || interrupted.store(true, Ordering::Relaxed))
                .map_err(|error| format!("cannot listen to Ctrl-C: {error}"))?;
            self.is_heard = true;
        }
        Ok(())
    }
}

impl Listener for Shown<'_> {
    fn note(&mut self, note: &Note) {
        if !note.is_warning() {
            return self.terminal.hint(&note.to_string());
        }
        self.terminal.warn(&note.to_string());
        if let Note::WorkerFailed { outcome, .. } = note {
            outcome.stderr.iter().for_each(|line| self.terminal.warn(&format!("  | {line}")));
        }
    }

    fn begin(&mut self, plan: &Plan, spent: Duration) -> Result<(), String> {
        self.hear_interrupts()?;
        self.terminal.hint(&render_announcement(plan, spent));
        self.progress = Some(Progress::new(plan, self.terminal.quiet));
        Ok(())
    }

    fn event(&mut self, event: &Event) {
        if let Some(progress) = &mut self.progress {
            progress.event(event);
        }
    }

    fn end(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish();
        }
    }
}
