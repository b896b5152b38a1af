//! Frames of workers as text: limits and parsing.
//!
//! A worker must not exhaust the harness's memory. The thread that reads a line enforces its longest length; an answer has
//! a longest length and a largest number of values, by its request; and it is parsed into the types of the protocol only,
//! because a generic tree of values takes a hundred times the memory of some texts.

use std::fmt::Write as _;

use perfharness_contract::protocol::{Description, FRAME_START, Mode, Request, SampleRequest, WireError};
use perfharness_record::plain_text::is_plain;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Longest line of a worker's stdout, in bytes. The largest answers are traces and profiles: one of 16,384 spans of a GPU,
/// 10,000 iterations and 8,192 points takes 2.8 MiB.
pub(super) const LONGEST_LINE: usize = 16 << 20;
/// Longest error message that is kept, in characters.
const LONGEST_MESSAGE: usize = 2_000;

/// Limits of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    bytes: usize,
    values: usize,
}

impl Bounds {
    /// Returns the limits of the answer to a request.
    pub(super) fn of(request: &Request) -> Self {
        match request {
            Request::Describe => Self { bytes: 4 << 20, values: 60_000 },
            Request::Sample(SampleRequest { mode: Mode::Profiled | Mode::Traced, .. }) => {
                Self { bytes: LONGEST_LINE, values: 500_000 }
            }
            Request::Sample(_)
            | Request::Hello(_)
            | Request::Prepare { .. }
            | Request::Check { .. }
            | Request::Release { .. }
            | Request::Finish => Self { bytes: 256 << 10, values: 10_000 },
        }
    }

    /// Checks an answer against the limits, and replaces characters in its texts that a terminal would obey.
    ///
    /// # Errors
    /// When the answer exceeds the limits, in words that continue "its answer".
    pub(super) fn checked(self, frame: String) -> Result<String, String> {
        let too_long = || Err(format!("is longer than {} KiB", self.bytes >> 10));
        if frame.len() > self.bytes {
            return too_long();
        }
        let (values, is_plain) = survey(&frame);
        if values > self.values {
            return Err(format!("has more than {} values", self.values));
        }
        if is_plain {
            return Ok(frame);
        }
        let frame = plain_json(&frame);
        if frame.len() > self.bytes { too_long() } else { Ok(frame) }
    }
}

/// Returns an upper bound of the values in a JSON text, and whether all of its texts are certainly plain.
fn survey(json: &str) -> (usize, bool) {
    let (mut values, mut in_string, mut escaped, mut is_plain) = (1, false, false, true);
    for byte in json.bytes() {
        match byte {
            _ if escaped => {
                escaped = false;
                is_plain &= matches!(byte, b'"' | b'\\' | b'/' | b'n' | b't');
            }
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // Delete, and the first bytes of other control characters in UTF-8.
            0x7f | 0xc2 | 0xe2 => is_plain = false,
            b',' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    (values, is_plain)
}

/// Replaces characters and escapes that a terminal would obey in the texts of a JSON text.
fn plain_json(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    let (mut in_string, mut chars) = (false, json.chars());
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                in_string = !in_string;
                plain.push(c);
            }
            '\\' if in_string => match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    match code {
                        Some(code) if !is_plain(code) => plain.push(char::REPLACEMENT_CHARACTER),
                        // Half of a surrogate pair, or no digits: the parser decides.
                        Some(_) | None => {
                            let _ = write!(plain, "\\u{digits}");
                        }
                    }
                }
                Some('b' | 'f' | 'r') => plain.push(char::REPLACEMENT_CHARACTER),
                Some(other) => plain.extend(['\\', other]),
                None => plain.push('\\'),
            },
            // Characters below the blank are invalid within a text, and white space outside of it.
            c if in_string && c > ' ' && !is_plain(c) => plain.push(char::REPLACEMENT_CHARACTER),
            c => plain.push(c),
        }
    }
    plain
}

/// Returns the position at which a frame begins in a line.
pub(super) fn start_in(line: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(brace) = line.get(from..)?.iter().position(|byte| *byte == b'{') {
        if line[from + brace..].starts_with(FRAME_START.as_bytes()) {
            return Some(from + brace);
        }
        from += brace + 1;
    }
    None
}

/// Whether a line of a worker's stdout contains an answer to `describe`, as the harness parses it.
pub fn has_answer(line: &[u8]) -> bool {
    let frame = start_in(line).and_then(|start| String::from_utf8(line[start..].to_vec()).ok());
    let frame = frame.and_then(|frame| Bounds::of(&Request::Describe).checked(frame).ok());
    let content = |frame: String| {
        let content = serde_json::from_str::<Answer<'_>>(&frame).ok()?.content_in(&frame)?;
        serde_json::from_str::<Description>(frame.get(content)?).ok()
    };
    frame.and_then(content).is_some()
}

/// Answer whose content is not parsed yet.
#[derive(Deserialize)]
pub(super) struct Answer<'a> {
    /// Version of the framing.
    pub(super) perfharness: u32,
    /// Id of the request.
    pub(super) id: u64,
    /// Content, whose shape depends on the request.
    #[serde(default, borrow)]
    pub(super) ok: Option<&'a RawValue>,
    /// Error in place of the content.
    #[serde(default)]
    pub(super) error: Option<WireError>,
}

impl Answer<'_> {
    /// Returns the range of the content in the frame that was parsed.
    pub(super) fn content_in(&self, frame: &str) -> Option<std::ops::Range<usize>> {
        let content = self.ok?.get();
        let start = content.as_ptr().addr().checked_sub(frame.as_ptr().addr())?;
        Some(start..start + content.len())
    }
}

/// Cuts a message to the longest length that is kept.
pub(super) fn shortened(message: &str) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use perfharness_record::plain_text::make_plain;
    use serde_json::{Value, json};

    use super::*;

    const SMALL: Bounds = Bounds { bytes: 100, values: 10 };

    #[test]
    fn an_answer_within_its_bounds_is_left_as_it_is() {
        for frame in [r#"{"a":[1,2,{"b":"c,[{\" \\"}]}"#, "", "{", r#"{"ü":"± µs × “x” 日本"}"#] {
            assert_eq!(SMALL.checked(frame.into()), Ok(frame.to_owned()));
        }
    }

    #[test]
    fn too_long_and_too_many_are_refused() {
        let refused = |frame: String| SMALL.checked(frame).unwrap_err();
        assert_eq!(refused(" ".repeat(101)), "is longer than 0 KiB");
        assert_eq!(refused("[[],[],[],[],[],[]]".into()), "has more than 10 values");
        assert_eq!(refused(r#"[{"":0},{"":0},{"":0},{"":0}, 0,0]"#.into()), "has more than 10 values");
        assert!(SMALL.checked(format!("\"{}\"", "[,{".repeat(30))).is_ok(), "texts are one value");
        // Each of these becomes three times as long.
        assert_eq!(refused(format!("\"{}\"", "\u{7f}".repeat(40))), "is longer than 0 KiB");
    }

    #[test]
    fn texts_are_made_plain_as_those_of_a_value_are() {
        let raw = json!({"a\u{1b}[0m": ["\u{202e}x\r\n\t\u{8}\u{c}", {"b\u{7f}": "\u{9b}\\u001b\" \u{e9}"}], "c": 1});
        for text in [raw.to_string(), r#"{"a":"\u001b\u00e9\ud83d\ude00\/\u202E"}"#.into()] {
            let mut due: Value = serde_json::from_str(&text).unwrap();
            make_plain(&mut due);
            let checked = Bounds { bytes: 1000, values: 100 }.checked(text).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&checked).unwrap(), due, "{checked}");
        }
    }

    #[test]
    fn text_that_is_not_json_does_not_become_json() {
        for text in ["{\"a\":\"\\u12", "\"\\", "{\"a\":\"\u{1b}\"}", "\"\\uzzzz\u{7f}\"", "\"\\ud800\u{7f}\""]
        {
            let checked = SMALL.checked(text.into()).unwrap();
            assert!(serde_json::from_str::<Value>(&checked).is_err(), "{checked}");
        }
    }

    #[test]
    fn a_frame_is_found_behind_other_text() {
        assert_eq!(start_in(b"{\"perfharness\":1}"), Some(0));
        assert_eq!(start_in(b"{{\"perf {\"perfharness\":1}"), Some(8));
        assert_eq!(start_in(b"{\"perfharness\" :1}"), None);
        assert_eq!(start_in(b""), None);
    }

    #[test]
    fn the_content_of_an_answer_is_a_part_of_it() {
        let frame = r#"{"perfharness":1,"id":7,"ok":{"a":[1]} }"#;
        let answer: Answer<'_> = serde_json::from_str(frame).unwrap();
        assert_eq!(&frame[answer.content_in(frame).unwrap()], r#"{"a":[1]}"#);
        let answer: Answer<'_> = serde_json::from_str(r#"{"perfharness":1,"id":7,"ok":null}"#).unwrap();
        assert!(answer.ok.is_none());
    }

    #[test]
    fn a_message_is_cut_where_nobody_reads_on() {
        assert_eq!(shortened("short"), "short");
        assert_eq!(shortened(&"ü".repeat(LONGEST_MESSAGE + 1)).chars().count(), LONGEST_MESSAGE + 1);
    }
}
