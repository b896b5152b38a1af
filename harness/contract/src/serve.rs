//! The worker's side of the protocol.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufWriter, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

use perfharness_platform::{clock, self_usage, take_stdout};
use serde::Serialize;

use crate::meter::HeapMeter;
use crate::protocol::{
    CheckReply, Description, ErrorCode, Hello, HelloReply, Mode, PROTOCOL_VERSION, Prepared, Reading,
    Request, RequestFrame, ResponseFrame, SampleReply, SampleRequest, WireError,
};
use crate::{BenchmarkId, CountingAllocator, Failure, Measured, Meter, Setup, Workload};

/// Answers requests on stdin until `finish` or the end of input: the `main` of a worker.
///
/// The real stdout is moved away first, so that whatever a workload prints ends up on stderr and cannot break
/// the frames. A panic of a workload is answered as a failure.
pub fn serve(workloads: Vec<Workload>) -> ExitCode {
    let served = take_stdout().and_then(|out| serve_on(workloads, io::stdin().lock(), out));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(
                clippy::print_stderr,
                reason = "the pipe to the harness is gone; stderr is all that is left"
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
/// When reading or writing fails; everything else becomes an answer.
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
            Err(error) => (request_id(&line), Err(bad_request(error.to_string())), false),
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

/// The id of a request that does not parse otherwise, so that its answer still finds its way.
fn request_id(line: &str) -> u64 {
    let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
    value.and_then(|v| v.get("id")?.as_u64()).unwrap_or(0)
}

fn bad_request(message: impl Into<String>) -> WireError {
    WireError { code: ErrorCode::BadRequest, message: message.into() }
}

fn panicked(panic: &(dyn Any + Send)) -> WireError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    WireError {
        code: ErrorCode::Failed,
        message: format!("panicked: {}", text.unwrap_or("without a message")),
    }
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
    serde_json::to_value(reply).map_err(|e| WireError {
        code: ErrorCode::Failed,
        message: format!("an answer has no JSON form: {e}"),
    })
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
        self.hello = Some(hello);
        let heap = HeapMeter;
        to_answer(HelloReply {
            protocol: PROTOCOL_VERSION,
            worker: concat!("perfharness-contract ", env!("CARGO_PKG_VERSION")).into(),
            modes: vec![Mode::Timed, Mode::Metered],
            clock_ns: Some(clock::monotonic_ns()),
            clock_resolution_ns: Some(clock::resolution_ns()),
            meters: [heap.version()].map(|(name, version)| (name.to_owned(), version)).into(),
            facts: build_facts(),
        })
    }

    fn prepare(&mut self, benchmark: &BenchmarkId, placement: u32) -> Answer {
        let Some(hello) = &self.hello else {
            return Err(bad_request("`hello` comes before `prepare`"));
        };
        let Some(workload) = self.workloads.iter().find(|w| w.definition().id == benchmark.workload) else {
            return Err(bad_request(format!("there is no workload `{}`", benchmark.workload)));
        };
        let handle = self.next_handle;
        let scratch = PathBuf::from(&hello.scratch_dir).join(format!("placement-{placement:03}"));
        std::fs::create_dir_all(&scratch).map_err(|e| WireError {
            code: ErrorCode::Failed,
            message: format!("cannot create the folder {}: {e}", scratch.display()),
        })?;
        let setup = workload.setup(hello.seed, &hello.device, scratch);
        let measured = workload.construct(&benchmark.case, &benchmark.variant, &setup)?;
        self.placements.insert(handle, Placement { measured, setup, sampled: None });
        self.next_handle += 1;
        to_answer(Prepared { handle })
    }

    fn placement(&mut self, handle: u64) -> Result<&mut Placement, WireError> {
        self.placements.get_mut(&handle).ok_or_else(|| unknown_handle(handle))
    }
}

fn unknown_handle(handle: u64) -> WireError {
    bad_request(format!("there is no placement with handle {handle}"))
}

struct Placement {
    measured: Box<dyn Measured>,
    setup: Setup,
    /// Round and last iteration of the sample whose output is still there.
    sampled: Option<(u64, u64)>,
}

impl Placement {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        // Whatever happens next, the output of an earlier sample is gone.
        self.sampled = None;
        self.measured.load(round)
    }

    fn check(&mut self, round: u64, index: u64, fresh: bool) -> Result<CheckReply, WireError> {
        let mut readings = BTreeMap::new();
        if fresh {
            self.load(round)?;
            self.setup.counters.borrow().start();
            let ran = self.measured.run(index).and_then(|()| self.measured.fence());
            self.setup.counters.borrow().stop(&mut readings);
            ran?;
        } else if self.sampled != Some((round, index)) {
            return Err(bad_request(format!(
                "iteration {index} of round {round} is not what the last sample left"
            )));
        }
        Ok(CheckReply { check: self.measured.check(index)?, readings })
    }

    fn sample(&mut self, request: &SampleRequest) -> Result<SampleReply, WireError> {
        if request.iterations == 0 {
            return Err(bad_request("a sample has at least one iteration"));
        }
        match request.mode {
            Mode::Timed | Mode::Metered => {}
            Mode::Profiled => {
                let message = "this worker has no profiler".into();
                return Err(WireError { code: ErrorCode::Unsupported, message });
            }
        }
        self.load(request.round)?;
        let first = request.offset + request.lead_in;
        for index in request.offset..first {
            self.measured.run(index)?;
        }
        if request.lead_in > 0 {
            self.measured.fence()?;
        }
        let indices = first..first + request.iterations;
        let reply = if request.mode == Mode::Timed { self.timed(indices) } else { self.metered(indices) }?;
        self.sampled = Some((request.round, request.last_index()));
        Ok(reply)
    }

    fn timed(&mut self, indices: std::ops::Range<u64>) -> Result<SampleReply, Failure> {
        let before = self_usage();
        let start_ns = clock::monotonic_ns();
        let start = clock::now();
        for index in indices {
            self.measured.run(index)?;
        }
        self.measured.fence()?;
        let wall = start.elapsed();
        let after = self_usage();
        let used = |f: fn(&perfharness_platform::SelfUsage) -> Option<u64>| {
            Some(f(&after)?.saturating_sub(f(&before)?))
        };
        Ok(SampleReply {
            start_ns: Some(start_ns),
            wall_ns: wall.as_nanos() as u64,
            cpu_ns: used(|u| u.cpu_ns),
            involuntary_switches: used(|u| u.involuntary_switches),
            readings: BTreeMap::new(),
        })
    }

    fn metered(&mut self, indices: std::ops::Range<u64>) -> Result<SampleReply, Failure> {
        let mut readings: BTreeMap<String, Reading> = BTreeMap::new();
        let counters = self.setup.counters.borrow();
        let mut meters = self.setup.meters.borrow_mut();
        let mut heap = HeapMeter;
        // The heap meter starts last and stops first, so that the other meters' own memory is not counted.
        meters.iter_mut().for_each(|meter| meter.start());
        counters.start();
        heap.start();
        let start_ns = clock::monotonic_ns();
        let start = clock::now();
        let measured = &mut self.measured;
        let ran =
            indices.into_iter().try_for_each(|index| measured.run(index)).and_then(|()| measured.fence());
        let wall = start.elapsed();
        if CountingAllocator::installed() {
            heap.stop(&mut readings);
        }
        counters.stop(&mut readings);
        meters.iter_mut().for_each(|meter| meter.stop(&mut readings));
        ran?;
        Ok(SampleReply {
            start_ns: Some(start_ns),
            wall_ns: wall.as_nanos() as u64,
            readings,
            ..SampleReply::default()
        })
    }
}

/// Compiler and settings of this program, from the build script.
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
