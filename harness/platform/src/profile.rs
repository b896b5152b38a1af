//! A profiler within the process: a timer interrupts it as its CPU time passes, and the stack that it is met with is
//! kept.
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

/// A call stack, and how often the process was met with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Demangled names of the functions that have one, the outermost first; those of the profiler are left out. What the
    /// compiler inlined has a frame of its own only where the program has debug information.
    pub frames: Vec<String>,
    /// Whether it is of the thread that stopped the profiler.
    pub own_thread: bool,
    /// How often it was met.
    pub count: u64,
}

/// Why there is no profiler, where there is none.
pub fn absence() -> Option<&'static str> {
    imp::ABSENCE
}

/// A profiler that is on. There can be one in a process.
pub struct Profiler(imp::Profiler);

impl std::fmt::Debug for Profiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Profiler").finish_non_exhaustive()
    }
}

impl Profiler {
    /// Begins to look where the process is, so often in each second of its CPU time. Systems may do so less often.
    ///
    /// # Errors
    /// Where there is no profiler, or one is on already, or its memory and its temporary file cannot be had.
    pub fn start(per_second: u32) -> Result<Self, String> {
        imp::Profiler::start(per_second).map(Self)
    }

    /// Ends it and tells what was met, in no order.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn stop(self) -> Result<Vec<Stack>, String> {
        self.0.stop()
    }
}
