//! Names and times of a device's work in a traced sample, in room that is allocated before the sample begins. Pure
//! functions without a device.

use std::ops::Range;

use perfharness_contract::protocol::{TraceKind, TraceSpan};

use crate::clock::TickClock;
use crate::spans::{Span, SpanKind};

/// Largest number of spans, and of waits, that are kept.
const MOST: usize = 16_384;
/// Largest number of different names that are kept, and their total size in bytes.
const MOST_NAMES: usize = 512;
const NAME_BYTES: usize = 32 << 10;

/// Mark of a span that is not traced.
pub(crate) const NO_MARK: u32 = u32::MAX;

/// Name of the device's track.
pub(crate) const GPU: &str = "gpu";
const HOST: &str = "host";

/// Distinct names.
#[derive(Debug)]
struct Names {
    text: String,
    known: Vec<Range<usize>>,
}

/// Id of a name, if there was room for it.
type NameId = Option<u32>;

impl Names {
    fn new() -> Self {
        Self { text: String::with_capacity(NAME_BYTES), known: Vec::with_capacity(MOST_NAMES) }
    }

    /// Returns the id of the name that consists of these parts.
    fn of(&mut self, parts: &[&str]) -> NameId {
        let known = self.known.iter().position(|range| is_joined(&self.text[range.clone()], parts));
        if let Some(at) = known {
            return Some(at as u32);
        }
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        if self.known.len() == MOST_NAMES || self.text.len() + bytes > NAME_BYTES {
            return None;
        }
        let start = self.text.len();
        for part in parts {
            self.text.push_str(part);
        }
        self.known.push(start..self.text.len());
        Some(self.known.len() as u32 - 1)
    }

    fn text(&self, name: NameId) -> Option<&str> {
        self.known.get(name? as usize).map(|range| &self.text[range.clone()])
    }
}

fn is_joined(text: &str, parts: &[&str]) -> bool {
    parts.iter().try_fold(text, |left, part| left.strip_prefix(part)) == Some("")
}

/// A stretch of device time in progress.
#[derive(Debug)]
struct Mark {
    kind: SpanKind,
    name: NameId,
    /// Number of commands in it.
    commands: u32,
}

#[derive(Debug)]
struct Wait {
    name: NameId,
    start_ns: u64,
    duration_ns: u64,
}

/// Log of names and times.
#[derive(Debug)]
pub(crate) struct TraceLog {
    names: Names,
    marks: Vec<Mark>,
    waits: Vec<Wait>,
    /// Number of events without room.
    pub(crate) dropped: u64,
}

impl TraceLog {
    pub(crate) fn new() -> Self {
        Self {
            names: Names::new(),
            marks: Vec::with_capacity(MOST),
            waits: Vec::with_capacity(MOST),
            dropped: 0,
        }
    }

    /// Begins a stretch of commands of one kind.
    pub(crate) fn mark(&mut self, kind: SpanKind) -> u32 {
        if self.marks.len() == MOST {
            self.dropped += 1;
            return NO_MARK;
        }
        self.marks.push(Mark { kind, name: None, commands: 0 });
        self.marks.len() as u32 - 1
    }

    /// Adds a command to a stretch, by the parts of its name. A stretch is named after its first command.
    pub(crate) fn command(&mut self, mark: u32, name: &[&str]) {
        let Some(mark) = self.marks.get_mut(mark as usize) else { return };
        if mark.commands == 0 {
            mark.name = self.names.of(name);
        }
        mark.commands += 1;
    }

    /// Records a wait of the host.
    pub(crate) fn wait(&mut self, name: &[&str], start_ns: u64, duration_ns: u64) {
        if self.waits.len() == MOST {
            self.dropped += 1;
            return;
        }
        let name = self.names.of(name);
        self.waits.push(Wait { name, start_ns, duration_ns });
    }

    /// Returns the waits of the host.
    pub(crate) fn waits(&self) -> impl Iterator<Item = TraceSpan> + '_ {
        self.waits.iter().map(|wait| TraceSpan {
            track: HOST.into(),
            name: self.names.text(wait.name).unwrap_or("wait").to_owned(),
            kind: TraceKind::Wait,
            start_ns: wait.start_ns,
            duration_ns: wait.duration_ns,
        })
    }

    /// Converts a stretch of device time that was read back; `None` if it was not marked.
    pub(crate) fn device_span(&self, mark: u32, span: Span, clock: &TickClock) -> Option<TraceSpan> {
        let mark = self.marks.get(mark as usize)?;
        let kind = match mark.kind {
            SpanKind::Compute => TraceKind::Compute,
            SpanKind::Copy => TraceKind::Copy,
            SpanKind::Clear => TraceKind::Clear,
        };
        let first = self.names.text(mark.name).unwrap_or(kind.as_str());
        let name = match mark.commands {
            0 | 1 => first.to_owned(),
            commands => format!("{first} and {} more", commands - 1),
        };
        let start_ns = clock.nanoseconds(span.begin);
        // Computed from the end, so that adjacent spans stay adjacent, whatever the length of a tick.
        let duration_ns = clock.nanoseconds(span.end).saturating_sub(start_ns);
        Some(TraceSpan { track: GPU.into(), name, kind, start_ns, duration_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;

    fn clock() -> TickClock {
        TickClock::fit(&[Moment { before_ns: 1_000, begin: 10, end: 10, after_ns: 1_000 }], 2.0).unwrap()
    }

    #[test]
    fn a_stretch_is_called_after_its_first_command_and_tells_of_the_others() {
        let mut log = TraceLog::new();
        let copies = log.mark(SpanKind::Copy);
        log.command(copies, &["copy ", "a", " to ", "b"]);
        log.command(copies, &["download ", "b"]);
        log.command(copies, &["download ", "b"]);
        let pass = log.mark(SpanKind::Compute);
        log.command(pass, &["sort"]);
        let nameless = log.mark(SpanKind::Clear);
        let span = Span::from_pair(10, 15).unwrap();
        let named = |mark| {
            let span = log.device_span(mark, span, &clock()).unwrap();
            (span.name, span.kind, span.start_ns, span.duration_ns)
        };
        assert_eq!(named(copies), ("copy a to b and 2 more".into(), TraceKind::Copy, 1_000, 10));
        assert_eq!(named(pass), ("sort".into(), TraceKind::Compute, 1_000, 10));
        assert_eq!(named(nameless).0, "clear");
        assert_eq!(log.device_span(NO_MARK, span, &clock()), None);
    }

    #[test]
    fn names_are_kept_once_and_those_without_room_are_left_out() {
        let mut names = Names::new();
        let first = names.of(&["copy ", "ab"]);
        assert_eq!((first, names.of(&["copy a", "b"])), (Some(0), Some(0)));
        assert_eq!(names.of(&["copy ", "a"]), Some(1), "a beginning is another name");
        assert_eq!(names.text(first), Some("copy ab"));
        let (text, known) = (names.text.capacity(), names.known.capacity());
        let long = "x".repeat(1_000);
        let kept = (0..100).filter_map(|n| names.of(&[&long, &n.to_string()])).count();
        assert!(kept > 20 && kept < 40, "{kept}");
        assert_eq!((names.text.capacity(), names.known.capacity()), (text, known), "it takes no more memory");
        assert_eq!(names.text(None), None);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut log = TraceLog::new();
        let marks = log.marks.capacity();
        for _ in 0..MOST {
            log.mark(SpanKind::Compute);
            log.wait(&["wait"], 0, 1);
        }
        assert_eq!(log.mark(SpanKind::Compute), NO_MARK);
        log.wait(&["wait"], 0, 1);
        log.command(NO_MARK, &["nothing"]);
        assert_eq!((log.dropped, log.marks.capacity()), (2, marks));
        assert_eq!(log.waits().count(), MOST);
    }
}
