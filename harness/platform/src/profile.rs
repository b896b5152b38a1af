//! A profiler within the process: a timer interrupts it as its CPU time passes, and the current stack is recorded.
//!
//! | | Linux | macOS | others |
//! | --- | --- | --- | --- |
//! | [`Profiler`], with the feature `profile` | `SIGPROF` by `ITIMER_PROF` | `SIGPROF` by `ITIMER_PROF` | - |

#[cfg(all(feature = "profile", any(target_os = "linux", target_os = "macos")))]
mod sampler;
#[cfg(all(feature = "profile", any(target_os = "linux", target_os = "macos")))]
use sampler as imp;

#[cfg(not(all(feature = "profile", any(target_os = "linux", target_os = "macos"))))]
mod absent;
#[cfg(not(all(feature = "profile", any(target_os = "linux", target_os = "macos"))))]
use absent as imp;

/// A call stack, and how often it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Demangled names of the functions that have one, outermost first, without those of the profiler. An inlined
    /// function has a frame of its own only if the program has debug information.
    pub frames: Vec<String>,
    /// Whether the stack belongs to the thread that stopped the profiler.
    pub own_thread: bool,
    /// Number of times that it was recorded.
    pub count: u64,
}

/// Returns the reason why there is no profiler, if there is none.
pub fn absence() -> Option<&'static str> {
    imp::ABSENCE
}

/// A running profiler. A process can have only one.
pub struct Profiler(imp::Profiler);

impl std::fmt::Debug for Profiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profiler").finish_non_exhaustive()
    }
}

impl Profiler {
    /// Starts to record stacks `per_second` times per second of the process's CPU time. Systems may do so less often.
    ///
    /// # Errors
    /// Returns an error if there is no profiler, if one is already running, or if it gets no memory or temporary file.
    pub fn start(per_second: u32) -> Result<Self, String> {
        imp::Profiler::start(per_second).map(Self)
    }

    /// Stops the profiler and returns the recorded stacks, in no particular order.
    ///
    /// # Errors
    /// Returns an error if the temporary file cannot be read.
    pub fn stop(self) -> Result<Vec<Stack>, String> {
        self.0.stop()
    }
}
