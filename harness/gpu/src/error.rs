//! Errors, and the outcomes of a benchmark that they become.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use perfharness_contract::Failure;

/// Error of an operation on the GPU. `?` converts it to a [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// No adapter matches the request; the benchmark is skipped.
    #[error("no adapter: {reason}; {next}")]
    NoAdapter {
        /// The reason.
        reason: String,
        /// Next step for the user.
        next: String,
    },
    /// The adapter lacks something that the work needs; the benchmark is skipped.
    #[error("{adapter} lacks {what}; {next}")]
    Lacks {
        /// Name of the adapter.
        adapter: String,
        /// The missing feature, or the limit.
        what: String,
        /// Next step for the user.
        next: String,
    },
    /// Device memory ran out, or was never large enough.
    #[error("out of device memory: {0}")]
    OutOfMemory(String),
    /// The driver reset the device, e.g. because a kernel ran too long.
    #[error("the device was lost: {0}")]
    Lost(String),
    /// The program made an invalid request: a bug in a workload or a shader.
    #[error("{0}")]
    Invalid(String),
    /// The driver or wgpu failed internally.
    #[error("the driver failed: {0}")]
    Driver(String),
}

impl GpuError {
    pub(crate) fn lacks(
        adapter: impl Into<String>,
        what: impl Into<String>,
        next: impl Into<String>,
    ) -> Self {
        Self::Lacks { adapter: adapter.into(), what: what.into(), next: next.into() }
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        let text = error.to_string();
        match error {
            GpuError::NoAdapter { .. } | GpuError::Lacks { .. } => Self::Unavailable(text),
            GpuError::OutOfMemory(_) => Self::OutOfMemory(text),
            GpuError::Lost(_) | GpuError::Invalid(_) | GpuError::Driver(_) => Self::Failed(text),
        }
    }
}

impl From<wgpu::Error> for GpuError {
    fn from(error: wgpu::Error) -> Self {
        match error {
            wgpu::Error::OutOfMemory { source } => Self::OutOfMemory(chain(source.as_ref())),
            wgpu::Error::Validation { description, .. } => Self::Invalid(one_line(&description)),
            wgpu::Error::Internal { description, .. } => Self::Driver(one_line(&description)),
        }
    }
}

/// Formats an error and its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Converts wgpu's indented, multi-line descriptions to one line.
fn one_line(description: &str) -> String {
    const HEADINGS: [&str; 3] = ["Validation Error", "Internal Error", "Caused by:"];
    let lines = description.lines().map(str::trim).filter(|l| !l.is_empty() && !HEADINGS.contains(l));
    lines.collect::<Vec<_>>().join(": ")
}

/// Faults that wgpu reported outside the result of a call. Its handlers may run on any thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    raised: Arc<AtomicBool>,
    first: Arc<Mutex<Option<GpuError>>>,
}

impl Faults {
    /// Keeps the first fault, which causes those after it, but a loss of the device replaces any other fault.
    pub(crate) fn raise(&self, error: GpuError) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() || matches!(error, GpuError::Lost(_)) {
            *first = Some(error);
        }
        self.raised.store(true, Ordering::Release);
    }

    /// Returns the fault since the last call, if any. The loss of the device is reported every time.
    pub(crate) fn check(&self) -> Result<(), GpuError> {
        if !self.raised.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(GpuError::Lost(_)) = &*first {
            return first.clone().map_or(Ok(()), Err);
        }
        self.raised.store(false, Ordering::Release);
        first.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_its_outcome() {
        let missing = GpuError::lacks("llvmpipe", "shader-f16", "use another adapter");
        assert!(matches!(Failure::from(missing), Failure::Unavailable(text)
            if text == "llvmpipe lacks shader-f16; use another adapter"));
        assert!(matches!(Failure::from(GpuError::OutOfMemory("x".into())), Failure::OutOfMemory(_)));
        assert!(matches!(Failure::from(GpuError::Lost("x".into())), Failure::Failed(_)));
        assert!(matches!(Failure::from(GpuError::Invalid("x".into())), Failure::Failed(_)));
    }

    #[test]
    fn a_fault_is_told_once_and_a_loss_for_ever() {
        let faults = Faults::default();
        assert_eq!(faults.check(), Ok(()));
        faults.raise(GpuError::Invalid("first".into()));
        faults.raise(GpuError::Invalid("second".into()));
        assert_eq!(faults.check(), Err(GpuError::Invalid("first".into())));
        assert_eq!(faults.check(), Ok(()));
        faults.raise(GpuError::Invalid("cause".into()));
        faults.raise(GpuError::Lost("gone".into()));
        assert_eq!(faults.check(), Err(GpuError::Lost("gone".into())));
        assert_eq!(faults.check(), Err(GpuError::Lost("gone".into())));
    }

    #[test]
    fn descriptions_become_one_line() {
        let text = "Validation Error\n\nCaused by:\n  In Device::create_buffer, label = 'x'\n    too large\n";
        assert_eq!(one_line(text), "In Device::create_buffer, label = 'x': too large");
    }
}
