//! The worker's side of the protocol.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use perfharness_platform::{clock, profile, take_stdout};
use serde::Serialize;

use crate::protocol::{
    Description, ErrorCode, Hello, HelloReply, Mode, PROTOCOL_VERSION, Prepared, Request, RequestFrame,
    ResponseFrame, WireError,
};
use crate::{BenchmarkId, Failure, Placement, Workload};

/// Answers requests on stdin until `finish` or the end of input: the `main` of a worker.
///
/// The real stdout is replaced first, so that anything that a workload prints ends up on stderr and cannot break the
/// frames. A panic of a workload is answered as a failure.
pub fn serve(workloads: Vec<Workload>) -> ExitCode {
    let served = take_stdout().and_then(|out| serve_on(workloads, io::stdin().lock(), out));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(
                clippy::print_stderr,
                reason = "the pipe to the harness is closed, so only stderr is left"
            )]
            {
                eprintln!("worker: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Answers requests from any input on any output.
///
/// # Errors
/// Returns an error if reading or writing fails; every other error becomes an answer.
pub fn serve_on(workloads: Vec<Workload>, input: impl BufRead, output: impl Write) -> io::Result<()> {
    let mut worker = Worker { workloads, hello: None, placements: BTreeMap::new(), next_handle: 1 };
    let mut output = BufWriter::new(output);
    for line in input.lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let (id, result, last) = match serde_json::from_str::<RequestFrame>(&line) {
            Ok(frame) => {
                let last = matches!(frame.request, Request::Finish);
                let answer = catch_unwind(AssertUnwindSafe(|| worker.answer(frame.request)));
                (frame.id, answer.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))), last)
            }
            Err(error) => (request_id(&line), Err(WireError::bad_request(error.to_string())), false),
        };
        let (ok, error) = match result {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(error)),
        };
        let frame = ResponseFrame { perfharness: PROTOCOL_VERSION, id, ok, error };
        serde_json::to_writer(&mut output, &frame)?;
        output.write_all(b"\n")?;
        output.flush()?;
        if last {
            break;
        }
    }
    Ok(())
}

/// Returns the id of a request that does not parse otherwise, so that its answer has the right id.
fn request_id(line: &str) -> u64 {
    let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
    value.and_then(|v| v.get("id")?.as_u64()).unwrap_or(0)
}

impl WireError {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self { code: ErrorCode::BadRequest, message: message.into() }
    }

    fn failed(message: String) -> Self {
        Self { code: ErrorCode::Failed, message }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> WireError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    WireError::failed(format!("panicked: {}", text.unwrap_or("without a message")))
}

impl From<Failure> for WireError {
    fn from(failure: Failure) -> Self {
        let code = match failure {
            Failure::Unavailable(_) => ErrorCode::Unavailable,
            Failure::OutOfMemory(_) => ErrorCode::OutOfMemory,
            Failure::Failed(_) => ErrorCode::Failed,
        };
        Self { code, message: failure.to_string() }
    }
}

type Answer = Result<serde_json::Value, WireError>;

fn to_answer(reply: impl Serialize) -> Answer {
    serde_json::to_value(reply).map_err(|e| WireError::failed(format!("an answer has no JSON form: {e}")))
}

struct Worker {
    workloads: Vec<Workload>,
    hello: Option<Hello>,
    placements: BTreeMap<u64, Placement>,
    next_handle: u64,
}

impl Worker {
    fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Hello(hello) => self.hello(hello),
            Request::Describe => to_answer(Description {
                workloads: self.workloads.iter().map(|w| w.definition().clone()).collect(),
            }),
            Request::Prepare { benchmark, placement } => self.prepare(&benchmark, placement),
            Request::Check { handle, round, index, fresh } => {
                to_answer(self.placement(handle)?.check(round, index, fresh)?)
            }
            Request::Sample(sample) => to_answer(self.placement(sample.handle)?.sample(&sample)?),
            Request::Release { handle } => match self.placements.remove(&handle) {
                Some(_) => to_answer(serde_json::json!({})),
                None => Err(unknown_handle(handle)),
            },
            Request::Finish => {
                self.placements.clear();
                to_answer(serde_json::json!({}))
            }
        }
    }

    fn hello(&mut self, hello: Hello) -> Answer {
        if !hello.protocols.contains(&PROTOCOL_VERSION) {
            let message = format!(
                "this worker speaks protocol {PROTOCOL_VERSION}; {} offers {:?}",
                hello.harness, hello.protocols
            );
            return Err(WireError { code: ErrorCode::UnsupportedProtocol, message });
        }
        let mut modes = vec![Mode::Timed, Mode::Metered];
        if hello.modes.contains(&Mode::Traced) {
            modes.push(Mode::Traced);
        }
        self.hello = Some(hello);
        let mut meters: BTreeMap<String, u32> = BTreeMap::new();
        for (name, version) in self.workloads.iter().flat_map(Workload::meters) {
            if meters.insert(name.to_string(), *version).is_some_and(|other| other != *version) {
                let what = format!("two workloads declare different versions of the meter `{name}`");
                return Err(WireError::failed(what));
            }
        }
        let mut absent_modes = BTreeMap::new();
        match profile::absence() {
            None => modes.push(Mode::Profiled),
            Some(reason) => {
                absent_modes.insert(Mode::Profiled.as_str().to_owned(), reason.to_owned());
            }
        }
        to_answer(HelloReply {
            protocol: PROTOCOL_VERSION,
            worker: concat!("perfharness-contract ", env!("CARGO_PKG_VERSION")).into(),
            modes,
            clock_ns: Some(clock::monotonic_ns()),
            clock_resolution_ns: Some(clock::resolution_ns()),
            meters,
            facts: build_facts(),
            absent_modes,
        })
    }

    fn prepare(&mut self, benchmark: &BenchmarkId, placement: u32) -> Answer {
        let Some(hello) = &self.hello else {
            return Err(WireError::bad_request("`hello` must come before `prepare`"));
        };
        let Some(workload) = self.workloads.iter().find(|w| w.definition().id == benchmark.workload) else {
            return Err(WireError::bad_request(format!("unknown workload `{}`", benchmark.workload)));
        };
        let handle = self.next_handle;
        let scratch = PathBuf::from(&hello.scratch_dir).join(format!("placement-{placement:03}"));
        std::fs::create_dir_all(&scratch)
            .map_err(|e| WireError::failed(format!("cannot create the folder {}: {e}", scratch.display())))?;
        let setup = workload.setup(hello.seed, &hello.device, scratch).with_settings(hello.settings.clone());
        let placement = Placement::prepare(workload, &benchmark.case, &benchmark.variant, setup)?;
        let notes = placement.notes();
        self.placements.insert(handle, placement);
        self.next_handle += 1;
        to_answer(Prepared { handle, notes })
    }

    fn placement(&mut self, handle: u64) -> Result<&mut Placement, WireError> {
        self.placements.get_mut(&handle).ok_or_else(|| unknown_handle(handle))
    }
}

fn unknown_handle(handle: u64) -> WireError {
    WireError::bad_request(format!("unknown placement handle {handle}"))
}

/// Returns the compiler and its settings for this program, from the build script.
fn build_facts() -> BTreeMap<String, String> {
    [
        ("rustc", env!("PERFHARNESS_RUSTC")),
        ("rustflags", env!("PERFHARNESS_RUSTFLAGS")),
        ("profile", env!("PERFHARNESS_PROFILE")),
        ("target", env!("PERFHARNESS_TARGET")),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}

#[cfg(test)]
mod tests {
    use crate::{Case, Check, Measured, Role, Setup};

    use super::*;

    struct Nothing;

    impl Measured for Nothing {
        fn load(&mut self, _: u64) -> Result<(), Failure> {
            Ok(())
        }
        fn run(&mut self, _: u64) -> Result<(), Failure> {
            Ok(())
        }
        fn check(&mut self, _: u64) -> Result<Check, Failure> {
            Ok(Check::default())
        }
    }

    #[test]
    fn a_worker_announces_no_mode_that_the_harness_does_not_know() {
        let modes = |known: &str| {
            let input = format!(
                "{{\"perfharness\":1,\"id\":1,\"op\":\"hello\",\"protocols\":[1],\"harness\":\"t\",\"seed\":1,\
                 \"device\":\"none\",\"scratch_dir\":\"\"{known}}}\n"
            );
            let mut output = Vec::new();
            serve_on(Vec::new(), input.as_bytes(), &mut output).unwrap();
            let frame: ResponseFrame = serde_json::from_slice(&output).unwrap();
            serde_json::from_value::<HelloReply>(frame.ok.unwrap()).unwrap().modes
        };
        assert!(!modes("").contains(&Mode::Traced));
        let newer = ",\"modes\":[\"timed\",\"metered\",\"traced\",\"dreamt\"]";
        assert!(modes(newer).starts_with(&[Mode::Timed, Mode::Metered, Mode::Traced]));
    }

    #[test]
    fn what_the_user_set_reaches_the_workload() {
        let prepare = |(): &(), setup: &Setup| match setup.setting("images") {
            Some("photos") if setup.setting("other").is_none() => Ok(Nothing),
            other => Err(Failure::Failed(format!("{other:?}"))),
        };
        let prepared = |settings: &str| {
            let workload = Workload::builder("w", 1, "")
                .case(Case::new("c", ()))
                .variant("v", Role::Other, "", prepare)
                .build();
            let scratch = std::env::temp_dir().join("perfharness-settings");
            let scratch = scratch.display().to_string().replace('\\', "/");
            let input = format!(
                "{{\"perfharness\":1,\"id\":1,\"op\":\"hello\",\"protocols\":[1],\"harness\":\"t\",\"seed\":1,\
                 \"device\":\"none\",\"scratch_dir\":\"{scratch}\"{settings}}}\n\
                 {{\"perfharness\":1,\"id\":2,\"op\":\"prepare\",\"benchmark\":\"w/c/v\",\"placement\":0}}\n"
            );
            let mut output = Vec::new();
            serve_on(vec![workload], input.as_bytes(), &mut output).unwrap();
            String::from_utf8(output).unwrap().lines().last().unwrap().contains("handle")
        };
        assert!(prepared(",\"settings\":{\"images\":\"photos\"}"));
        assert!(!prepared(""));
    }
}
