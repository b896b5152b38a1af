//! Workers that break the protocol. They read stdin and write stdout directly, because `serve` cannot break it.

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};

use perfharness_known_work::Spin;
use perfharness_platform::clock;
use serde_json::{Value, json};

/// Largest output of `endless`, so that a harness that reads it all leaves the machine usable.
pub const ENDLESS_BYTES: usize = 200 << 20;

const STEPS: u64 = 40_000;
/// Iterations of every sample of `same-time`, which take more than a millisecond.
const SAME_ITERATIONS: u64 = 25;

/// Size of the answer of `huge-frame`.
pub const HUGE_BYTES: usize = 60 << 20;
/// Size of the output of `torrent`, on both of its outputs together.
pub const TORRENT_BYTES: usize = 1 << 30;
/// Text that takes the most memory for its length when it is read into a tree of values.
const COSTLY: &str = "{\"\":0},";

/// Fault of a raw worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Answers `hello` with protocol 99.
    NewerProtocol,
    /// Answers `prepare` with the id of another request.
    OutOfOrder,
    /// Prints lines that are not frames around every answer, and text before it on the same line, but works.
    Garbage,
    /// Dies in the middle of its answer to `sample`.
    HalfAnswer,
    /// Reads `hello` and never answers.
    Silent,
    /// Answers `hello` with a line that begins like a frame and is not JSON.
    NotJson,
    /// Answers `prepare` with both `ok` and `error`.
    Both,
    /// Answers `hello` with 200 MiB without an end of line.
    Endless,
    /// Answers `hello` with a frame of 60 MiB.
    HugeFrame,
    /// Answers `prepare` with many small values.
    ManyValues,
    /// Describes a case with parameters that are as costly as an answer allows, but works.
    CostlyCase,
    /// Answers `prepare` again and again.
    Flood,
    /// Prints 1 GiB on its outputs when it receives a request for a sample, and ends.
    Torrent,
    /// Has thousands of readings for each sample.
    Readings,
    /// Answers the next request, too, when it receives a request for a sample.
    Early,
    /// Reports that each sample took more than 2^53 ns.
    Beyond,
    /// Reports that each sample took longer than it did.
    Exaggerates,
    /// Reports that each sample took a tenth of its time, and that it did nothing else meanwhile.
    Understates,
    /// Does the same work in each sample, however many iterations it is asked for.
    SameTime,
    /// Declares more work for each iteration than any machine does in its time.
    BelowFloor,
    /// Has a clock that runs at half speed.
    HalfSpeed,
    /// Leaves a sleeping process behind, and ends normally.
    LeavesChild,
    /// Leaves a sleeping process behind, and ends when it receives a request for a sample.
    LeavesChildAndDies,
    /// Leaves a sleeping process behind, and stops answering when it receives a request for a sample.
    LeavesChildAndHangs,
}

/// Answer to a request.
enum Answer {
    /// An answer with this frame.
    Frame(String),
    /// No answer.
    Nothing,
    /// The last bytes that the worker writes.
    LastWords(&'static str),
    /// An endless answer.
    Endless,
    /// A frame of `bytes` bytes, which is never in memory as a whole.
    Long { head: String, bytes: usize, tail: &'static str },
    /// The same answer, repeated.
    Flood(String),
    /// Output of a program that prints without end, and then ends.
    Torrent,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 24] = [
        Self::NewerProtocol,
        Self::OutOfOrder,
        Self::Garbage,
        Self::HalfAnswer,
        Self::Silent,
        Self::NotJson,
        Self::Both,
        Self::Endless,
        Self::HugeFrame,
        Self::ManyValues,
        Self::CostlyCase,
        Self::Flood,
        Self::Torrent,
        Self::Readings,
        Self::Early,
        Self::Beyond,
        Self::Exaggerates,
        Self::Understates,
        Self::SameTime,
        Self::BelowFloor,
        Self::HalfSpeed,
        Self::LeavesChild,
        Self::LeavesChildAndDies,
        Self::LeavesChildAndHangs,
    ];

    /// Returns the argument that selects this mode.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewerProtocol => "newer-protocol",
            Self::OutOfOrder => "out-of-order",
            Self::Garbage => "garbage",
            Self::HalfAnswer => "half-answer",
            Self::Silent => "silent",
            Self::NotJson => "not-json",
            Self::Both => "both",
            Self::Endless => "endless",
            Self::HugeFrame => "huge-frame",
            Self::ManyValues => "many-values",
            Self::CostlyCase => "costly-case",
            Self::Flood => "flood",
            Self::Torrent => "torrent",
            Self::Readings => "readings",
            Self::Early => "early",
            Self::Beyond => "beyond",
            Self::Exaggerates => "exaggerates",
            Self::Understates => "understates",
            Self::SameTime => "same-time",
            Self::BelowFloor => "below-floor",
            Self::HalfSpeed => "half-speed",
            Self::LeavesChild => "leaves-child",
            Self::LeavesChildAndDies => "leaves-child-and-dies",
            Self::LeavesChildAndHangs => "leaves-child-and-hangs",
        }
    }

    /// Returns the mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    fn answer(self, request: &Value) -> Answer {
        let id = request["id"].as_u64().unwrap_or(0);
        let op = request["op"].as_str().unwrap_or_default();
        match (self, op) {
            (Self::NewerProtocol, "hello") => Answer::Frame(ok(id, &json!({ "protocol": 99 }))),
            (Self::OutOfOrder, "prepare") => Answer::Frame(ok(id + 1, &reply(op, request))),
            (Self::Both, "prepare") => Answer::Frame(format!(
                r#"{{"perfharness":1,"id":{id},"ok":{},"error":{{"code":"failed","message":"both"}}}}"#,
                reply(op, request)
            )),
            (Self::HalfAnswer, "sample") => Answer::LastWords(r#"{"perfharness":1,"id":"#),
            (Self::Silent, _) | (Self::LeavesChildAndHangs, "sample") => Answer::Nothing,
            (Self::NotJson, "hello") => Answer::Frame(format!(r#"{{"perfharness":1,"id":{id},"#)),
            (Self::Endless, "hello") => Answer::Endless,
            (Self::HugeFrame, "hello") => Answer::Long {
                head: format!(r#"{{"perfharness":1,"id":{id},"ok":{{"protocol":1,"more":["#),
                bytes: HUGE_BYTES,
                tail: "0]}}",
            },
            (Self::ManyValues, "prepare") => Answer::Long {
                head: format!(r#"{{"perfharness":1,"id":{id},"ok":{{"handle":1,"more":["#),
                bytes: 200 << 10,
                tail: "0]}}",
            },
            (Self::CostlyCase, "describe") => Answer::Long {
                head: format!(
                    r#"{{"perfharness":1,"id":{id},"ok":{{"workloads":[{{"id":"raw","version":1,"variants":[{{"id":"v"}}],"cases":[{{"id":"c","params":{{"more":["#
                ),
                bytes: 29_900 * COSTLY.len(),
                tail: "0]}}]}]}}",
            },
            (Self::Flood, "prepare") => Answer::Flood(ok(id, &reply(op, request))),
            (Self::Torrent, "sample") => Answer::Torrent,
            (Self::Early, "sample") => {
                let reply = reply(op, request);
                Answer::Frame(format!("{}\n{}", ok(id, &reply), ok(id + 1, &reply)))
            }
            (Self::Readings | Self::Beyond | Self::Exaggerates | Self::Understates, "sample") => {
                Answer::Frame(ok(id, &self.falsified(reply(op, request))))
            }
            (Self::SameTime, "sample") => {
                let reply = sample(&json!({ "lead_in": 0, "iterations": SAME_ITERATIONS }));
                Answer::Frame(ok(id, &reply))
            }
            (Self::BelowFloor, "describe") => {
                let mut reply = reply(op, request);
                reply["workloads"][0]["cases"][0]["floor"] = json!({ "host_bytes": 1e15 });
                Answer::Frame(ok(id, &reply))
            }
            (Self::HalfSpeed, "hello" | "sample") => Answer::Frame(ok(id, &slowed(reply(op, request)))),
            (Self::LeavesChildAndDies, "sample") => Answer::LastWords(""),
            _ => Answer::Frame(ok(id, &reply(op, request))),
        }
    }

    /// Returns the answer to `sample`, with the fault of this mode.
    fn falsified(self, mut reply: Value) -> Value {
        let wall_ns = reply["wall_ns"].as_u64().unwrap_or(0);
        match self {
            Self::Readings => {
                let readings = (0..2000).map(|number| (format!("reading-{number}"), json!(number)));
                reply["readings"] = Value::Object(readings.collect());
            }
            Self::Beyond => reply["wall_ns"] = json!((1_u64 << 53) + 1),
            Self::Exaggerates => reply["wall_ns"] = json!(2 * wall_ns + 100_000_000),
            Self::Understates => {
                reply["wall_ns"] = json!(wall_ns / 10 + 1);
                reply["untimed_ns"] = json!(0);
            }
            _ => {}
        }
        reply
    }

    /// Whether this mode leaves a process behind.
    fn leaves_a_child(self) -> bool {
        matches!(self, Self::LeavesChild | Self::LeavesChildAndDies | Self::LeavesChildAndHangs)
    }
}

/// Starts this program as a process that sleeps, with this one's outputs and in its group.
///
/// # Errors
/// Returns an error if it does not start.
fn leave_a_child() -> io::Result<()> {
    let mut sleeper = Command::new(std::env::current_exe()?);
    sleeper.arg("sleeps").stdin(Stdio::null()).spawn()?;
    Ok(())
}

/// Prints lines of 1 KiB on both outputs.
fn torrent(mut output: impl Write) -> io::Result<()> {
    const LINES: usize = 64;
    let chunk = format!("{}\n", "x".repeat(1023)).repeat(LINES);
    let mut errors = io::stderr().lock();
    for _ in 0..TORRENT_BYTES / chunk.len() / 2 {
        output.write_all(chunk.as_bytes())?;
        errors.write_all(chunk.as_bytes())?;
    }
    output.flush()
}

fn ok(id: u64, reply: &Value) -> String {
    // Written by hand: a frame's first key is `perfharness`, and a map would sort it elsewhere.
    format!(r#"{{"perfharness":1,"id":{id},"ok":{reply}}}"#)
}

/// Returns the right answer.
fn reply(op: &str, request: &Value) -> Value {
    match op {
        "hello" => json!({
            "protocol": 1,
            "worker": "perfharness-test-worker, raw",
            "clock_ns": clock::monotonic_ns(),
        }),
        "describe" => json!({ "workloads": [{
            "id": "raw",
            "version": 1,
            "summary": "A worker that breaks the protocol",
            "cases": [{ "id": "c" }],
            "variants": [{ "id": "v" }],
        }] }),
        "prepare" => json!({ "handle": request["placement"].as_u64().unwrap_or(0) + 1 }),
        "sample" => sample(request),
        "check" => json!({ "passed": true }),
        _ => json!({}),
    }
}

/// Returns an answer with the times of a clock that runs at half speed.
fn slowed(mut reply: Value) -> Value {
    for key in ["clock_ns", "start_ns", "wall_ns", "untimed_ns"] {
        if let Some(ns) = reply[key].as_u64() {
            reply[key] = json!(ns / 2);
        }
    }
    reply
}

/// Spends time, so that the samples look normal.
fn sample(request: &Value) -> Value {
    let received = clock::now();
    let number = |key: &str| request[key].as_u64().unwrap_or(0);
    let run = |iterations| {
        for index in 0..iterations {
            black_box(Spin::chain(index, STEPS));
        }
    };
    run(number("lead_in"));
    let untimed_ns = received.elapsed().as_nanos() as u64;
    let start_ns = clock::monotonic_ns();
    let start = clock::now();
    run(number("iterations"));
    let wall_ns = start.elapsed().as_nanos() as u64;
    json!({ "start_ns": start_ns, "wall_ns": wall_ns, "untimed_ns": untimed_ns })
}

/// Answers requests until `finish` or the end of input, according to the mode.
///
/// # Errors
/// Returns an error if reading or writing fails, if a line is not JSON, or if the mode is to die.
pub fn serve_on(mode: Mode, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.lines() {
        let request: Value = serde_json::from_str(&line?)?;
        if mode.leaves_a_child() && request["op"] == "prepare" && request["placement"] == 0 {
            leave_a_child()?;
        }
        match mode.answer(&request) {
            Answer::Frame(frame) if mode == Mode::Garbage => {
                output.write_all(b"no frame\n\n{\"id\":1}\nnot UTF-8: \xff\xfe\nunfinished: ")?;
                writeln!(output, "{frame}\nno frame either")?;
            }
            Answer::Frame(frame) => writeln!(output, "{frame}")?,
            Answer::Nothing => {}
            Answer::LastWords(words) => {
                output.write_all(words.as_bytes())?;
                output.flush()?;
                return Err(io::Error::other("died as planned"));
            }
            Answer::Long { head, bytes, tail } => {
                output.write_all(head.as_bytes())?;
                for _ in 0..bytes / COSTLY.len() {
                    output.write_all(COSTLY.as_bytes())?;
                }
                writeln!(output, "{tail}")?;
            }
            Answer::Flood(frame) => {
                // More than a harness could hold in memory, but finite for one that reads to the end.
                for _ in 0..TORRENT_BYTES / frame.len() {
                    writeln!(output, "{frame}")?;
                }
            }
            Answer::Torrent => {
                torrent(&mut output)?;
                return Err(io::Error::other("died as planned"));
            }
            Answer::Endless => {
                let chunk = [b'x'; 1 << 12];
                for _ in 0..ENDLESS_BYTES / chunk.len() {
                    output.write_all(&chunk)?;
                }
            }
        }
        output.flush()?;
        if request["op"] == "finish" {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use perfharness_contract::protocol::{
        CheckReply, Description, FRAME_START, Hello, HelloReply, Mode as SampleMode, Prepared, Request,
        RequestFrame, ResponseFrame, SampleReply, SampleRequest,
    };
    use serde::de::DeserializeOwned;

    use super::*;

    fn requests() -> Vec<Request> {
        vec![
            Request::Hello(Hello {
                protocols: vec![1],
                harness: "test".into(),
                seed: 1,
                device: "none".into(),
                scratch_dir: "unused".into(),
                memory_limit_bytes: None,
                settings: std::collections::BTreeMap::new(),
                modes: SampleMode::ALL.to_vec(),
            }),
            Request::Describe,
            Request::Prepare { benchmark: "raw/c/v".parse().unwrap(), placement: 0 },
            Request::Check { handle: 1, round: 900, index: 0, fresh: true },
            Request::Sample(SampleRequest {
                handle: 1,
                mode: SampleMode::Timed,
                round: 0,
                offset: 0,
                lead_in: 1,
                iterations: 2,
            }),
            Request::Finish,
        ]
    }

    /// Returns the output of the worker for the first `count` requests, with ids from 1, and whether it succeeds.
    fn talk(mode: Mode, count: usize) -> (String, bool) {
        let mut input = String::new();
        for (request, id) in requests().into_iter().take(count).zip(1..) {
            let frame = RequestFrame { perfharness: 1, id, deadline_ms: Some(1000), request };
            input += &serde_json::to_string(&frame).unwrap();
            input.push('\n');
        }
        let mut output = Vec::new();
        let ended_well = serve_on(mode, input.as_bytes(), &mut output).is_ok();
        (String::from_utf8_lossy(&output).into_owned(), ended_well)
    }

    fn frames(text: &str) -> Vec<ResponseFrame> {
        let frame = |line: &str| line.find(FRAME_START).map(|at| serde_json::from_str(&line[at..]).unwrap());
        text.lines().filter_map(frame).collect()
    }

    fn answered<T: DeserializeOwned>(frame: &ResponseFrame, id: u64) -> T {
        assert_eq!(frame.id, id);
        assert_eq!(frame.error, None);
        serde_json::from_value(frame.ok.clone().unwrap()).unwrap()
    }

    #[test]
    fn garbage_still_answers_everything_rightly() {
        let (text, ended_well) = talk(Mode::Garbage, 6);
        assert!(ended_well);
        assert!(text.lines().filter(|line| !line.contains(FRAME_START)).count() > 6);
        let frames = frames(&text);
        assert_eq!(frames.len(), 6);
        assert_eq!(answered::<HelloReply>(&frames[0], 1).protocol, 1);
        let description: Description = answered(&frames[1], 2);
        assert_eq!(description.workloads[0].problems(), Vec::<String>::new());
        assert_eq!(answered::<Prepared>(&frames[2], 3).handle, 1);
        assert!(answered::<CheckReply>(&frames[3], 4).check.passed);
        assert!(answered::<SampleReply>(&frames[4], 5).wall_ns > 0);
    }

    #[test]
    fn modes_that_break_at_hello_do() {
        let (text, _) = talk(Mode::NewerProtocol, 1);
        assert_eq!(answered::<HelloReply>(&frames(&text)[0], 1).protocol, 99);
        assert_eq!(talk(Mode::Silent, 6), (String::new(), true));
        let (text, _) = talk(Mode::NotJson, 1);
        assert!(text.starts_with(FRAME_START) && serde_json::from_str::<Value>(&text).is_err(), "{text}");
        let (text, _) = talk(Mode::Endless, 1);
        assert!(text.len() == ENDLESS_BYTES && !text.contains('\n'));
    }

    #[test]
    fn modes_that_break_later_describe_themselves_first() {
        for mode in [Mode::OutOfOrder, Mode::HalfAnswer, Mode::Both] {
            let (text, ended_well) = talk(mode, 2);
            assert!(ended_well);
            let description: Description = answered(&frames(&text)[1], 2);
            assert_eq!(description.workloads[0].id, "raw");
        }
        assert_eq!(frames(&talk(Mode::OutOfOrder, 3).0)[2].id, 4);
        let both = frames(&talk(Mode::Both, 3).0).remove(2);
        assert!(both.ok.is_some() && both.error.is_some());
        let (text, ended_well) = talk(Mode::HalfAnswer, 6);
        assert!(text.ends_with(r#"{"perfharness":1,"id":"#) && !ended_well, "{text}");
    }

    #[test]
    fn modes_that_are_costly_keep_to_the_protocol_all_the_same() {
        let (text, ended_well) = talk(Mode::CostlyCase, 2);
        assert!(ended_well);
        let description: Description = answered(&frames(&text)[1], 2);
        assert_eq!(description.workloads[0].problems(), Vec::<String>::new());
        let (text, _) = talk(Mode::ManyValues, 3);
        assert_eq!(answered::<Prepared>(&frames(&text)[2], 3).handle, 1);
        let (text, _) = talk(Mode::HugeFrame, 1);
        assert!(text.starts_with(FRAME_START) && text.len() > HUGE_BYTES);
        let (text, _) = talk(Mode::Readings, 5);
        assert_eq!(answered::<SampleReply>(&frames(&text)[4], 5).readings.len(), 2000);
    }

    #[test]
    fn modes_that_lie_about_time_do() {
        let reply = |mode| answered::<SampleReply>(&frames(&talk(mode, 5).0)[4], 5);
        assert!(reply(Mode::Beyond).wall_ns > 1 << 53);
        assert!(reply(Mode::Exaggerates).wall_ns > 100_000_000);
        assert_eq!(reply(Mode::Understates).untimed_ns, Some(0));
        assert_eq!(frames(&talk(Mode::Early, 5).0)[5].id, 6, "which was not asked for");
    }

    #[test]
    fn every_mode_is_found_by_its_name() {
        for mode in Mode::ALL {
            assert_eq!(Mode::from_name(mode.name()), Some(mode));
        }
        assert_eq!(Mode::from_name("good"), None);
    }
}
