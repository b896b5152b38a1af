//! Workers that break the protocol. They are written on stdin and stdout themselves, because `serve` cannot.

use std::hint::black_box;
use std::io::{self, BufRead, Write};

use perfharness_known_work::Spin;
use perfharness_platform::clock;
use serde_json::{Value, json};

/// What `endless` prints at most, so that a harness that reads it all is left with a machine.
pub const ENDLESS_BYTES: usize = 200 << 20;

const STEPS: u64 = 40_000;

/// What a raw worker does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Answers `hello` with protocol 99.
    NewerProtocol,
    /// Answers `prepare` with the id of another request.
    OutOfOrder,
    /// Prints lines that are no frames around every answer, and text before it on the same line; works all the same.
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
}

/// What happens to a request.
enum Answer {
    /// It is answered.
    Frame(String),
    /// It is not.
    Nothing,
    /// These bytes are the last that is heard of the worker.
    LastWords(&'static str),
    /// It is answered without end.
    Endless,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 8] = [
        Self::NewerProtocol,
        Self::OutOfOrder,
        Self::Garbage,
        Self::HalfAnswer,
        Self::Silent,
        Self::NotJson,
        Self::Both,
        Self::Endless,
    ];

    /// The argument that chooses it.
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
        }
    }

    /// The mode of this name.
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
            (Self::Silent, _) => Answer::Nothing,
            (Self::NotJson, "hello") => Answer::Frame(format!(r#"{{"perfharness":1,"id":{id},"#)),
            (Self::Endless, "hello") => Answer::Endless,
            _ => Answer::Frame(ok(id, &reply(op, request))),
        }
    }
}

fn ok(id: u64, reply: &Value) -> String {
    // By hand: a frame's first key is `perfharness`, and a map would sort it elsewhere.
    format!(r#"{{"perfharness":1,"id":{id},"ok":{reply}}}"#)
}

/// The right answer.
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

/// Work that takes time, so that what is made of the samples is as usual.
fn sample(request: &Value) -> Value {
    let number = |key: &str| request[key].as_u64().unwrap_or(0);
    let run = |iterations| {
        for index in 0..iterations {
            black_box(Spin::chain(index, STEPS));
        }
    };
    run(number("lead_in"));
    let start_ns = clock::monotonic_ns();
    let start = clock::now();
    run(number("iterations"));
    json!({ "start_ns": start_ns, "wall_ns": start.elapsed().as_nanos() as u64 })
}

/// Answers requests until `finish` or the end of input, as the mode says.
///
/// # Errors
/// When reading or writing fails, when a line is not JSON, and when the mode is to die.
pub fn serve_on(mode: Mode, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    for line in input.lines() {
        let request: Value = serde_json::from_str(&line?)?;
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

    /// What the worker writes when it gets the first `count` requests, ids from 1, and whether it ends well.
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
    fn every_mode_is_found_by_its_name() {
        for mode in Mode::ALL {
            assert_eq!(Mode::from_name(mode.name()), Some(mode));
        }
        assert_eq!(Mode::from_name("good"), None);
    }
}
