//! Profiler of Linux and macOS.

use pprof::{Frames, ProfilerGuard, ProfilerGuardBuilder};

use super::Stack;

pub(super) const ABSENCE: Option<&str> = None;

pub(super) struct Profiler(ProfilerGuard<'static>);

impl Profiler {
    pub(super) fn start(per_second: u32) -> Result<Self, String> {
        let per_second = i32::try_from(per_second).map_err(|error| error.to_string())?;
        let guard = ProfilerGuardBuilder::default().frequency(per_second).build();
        guard.map(Self).map_err(|error| error.to_string())
    }

    pub(super) fn stop(self) -> Result<Vec<Stack>, String> {
        let report = self.0.report().build().map_err(|error| error.to_string())?;
        let own = own_thread();
        let stack = |(frames, count): (&Frames, &isize)| Stack {
            frames: names(frames),
            own_thread: frames.thread_id == own,
            count: u64::try_from(*count).unwrap_or(0),
        };
        Ok(report.data.iter().map(stack).collect())
    }
}

/// Number of the thread in the profiler's notation.
#[expect(unsafe_code, reason = "a system call that std does not offer")]
fn own_thread() -> u64 {
    // SAFETY: no memory is involved.
    unsafe { libc::pthread_self() as u64 }
}

/// Returns the names of a stack, outermost first. A frame has several names if the compiler inlined functions and debug
/// information lists them; the innermost comes first, like the innermost frame.
fn names(frames: &Frames) -> Vec<String> {
    let frames = frames.frames.iter().map(|frame| frame.iter().map(pprof::Symbol::name).collect());
    let mut names: Vec<String> = without_profiler(frames.collect()).iter().map(|name| plain(name)).collect();
    names.reverse();
    names
}

/// Returns all names without those of the frames that take the stack. Some names of inlined functions have no path.
fn without_profiler(frames: Vec<Vec<String>>) -> Vec<String> {
    let is_own = |frame: &Vec<String>| frame.iter().any(|name| is_profiler(name));
    frames.into_iter().skip_while(is_own).flatten().collect()
}

/// Returns a name without the suffix of the system's linker.
fn plain(name: &str) -> String {
    // `write@@GLIBC_2.2.5`.
    name.split_once("@@").map_or(name, |(name, _)| name).to_owned()
}

/// Whether a function belongs to the frames that take the stack, down to the call of the signal handler.
fn is_profiler(name: &str) -> bool {
    const OWN: [&str; 6] = [
        "_Unwind_Backtrace",
        "__restore_rt",
        "_sigtramp",
        "__kernel_rt_sigreturn",
        "perf_signal_handler",
        "Unknown",
    ];
    let path = name.trim_start_matches(['<', '_']);
    OWN.contains(&name)
        || path.starts_with("backtrace::")
        || path.starts_with("pprof::")
        || name.contains("<pprof::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_profiler_are_told_from_others() {
        for name in [
            "backtrace::backtrace::libunwind::trace",
            "<pprof::backtrace::backtrace_rs::Trace as pprof::backtrace::Trace>::trace",
            "pprof::profiler::perf_signal_handler",
            "trace_unsynchronized<pprof::profiler::perf_signal_handler::{closure_env#0}>",
            "__restore_rt",
        ] {
            assert!(is_profiler(name), "{name}");
        }
        for name in ["write", "my::backtrace::run", "mypprof::run", ""] {
            assert!(!is_profiler(name), "{name}");
        }
        let inlined = ["trace", "trace_unsynchronized<pprof::x>", "<pprof::Trace as T>::trace"];
        let frames = [&inlined[..], &["__restore_rt"], &["inner", "outer"], &["backtrace::capture"]];
        let frames = frames.iter().map(|frame| frame.iter().map(ToString::to_string).collect());
        assert_eq!(without_profiler(frames.collect()), ["inner", "outer", "backtrace::capture"]);
        assert_eq!(plain("write@@GLIBC_2.2.5"), "write");
        assert_eq!(plain("my::run"), "my::run");
    }
}
