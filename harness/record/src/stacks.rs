//! The profile of one benchmark, from all of its profiled samples, and its plainest form: folded stacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use perfharness_contract::protocol::{ProfileClock, SampleReply, Stack};
use serde::{Deserialize, Serialize};

/// Unit of a profile in which every instruction was counted: each is met once.
pub const INSTRUCTIONS: &str = "instructions";

/// Stacks of all profiled samples of one benchmark.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StackProfile {
    /// Stacks with the number of times that each was met; the outermost function first.
    pub stacks: BTreeMap<Vec<String>, u64>,
    /// Sum of all of them, in `unit`.
    pub total: f64,
    /// Unit of what the profiler counts by: `ns` for time.
    pub unit: String,
    /// Clock of the profiler.
    pub clock: ProfileClock,
    /// Iterations that were profiled.
    pub iterations: u64,
    /// Wall-clock time that they took.
    pub wall_ns: u64,
    /// CPU time that the process spent in them, where it says.
    pub cpu_ns: Option<u64>,
    /// Misses of a simulated processor in them, where it was one.
    pub simulated: Option<Misses>,
}

/// Misses of a simulated processor, whose caches are the same on every machine. A real one has others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Misses {
    /// Reads and writes that missed the first cache for data, of 32 KiB.
    pub first_cache: f64,
    /// Accesses that missed the last cache, of 8 MiB.
    pub last_cache: f64,
    /// Branches that were predicted wrongly.
    pub branches: f64,
}

impl StackProfile {
    /// Takes up a profiled sample of so many iterations.
    ///
    /// # Errors
    /// When the sample has no profile, or one that does not fit.
    pub fn add(&mut self, reply: SampleReply, iterations: u64) -> Result<(), String> {
        let Some(profile) = reply.profile else {
            return Err("its answer to a profiled `sample` has no `profile`".into());
        };
        let period = profile.period.0;
        if !(period.is_finite() && period > 0.0) {
            return Err(format!("the period of its profile is {period}"));
        }
        let first = self.iterations == 0;
        if first {
            (self.unit, self.clock) = (profile.unit, profile.clock);
        } else if (&self.unit, self.clock) != (&profile.unit, profile.clock) {
            return Err("its profiles are of different units or clocks".into());
        }
        for Stack { frames, count } in profile.stacks.into_iter().filter(|stack| stack.count > 0) {
            self.total += count as f64 * period;
            let met = self.stacks.entry(frames).or_default();
            *met = met.saturating_add(count);
        }
        self.iterations += iterations;
        self.wall_ns += reply.wall_ns;
        self.cpu_ns = match (first, self.cpu_ns, reply.cpu_ns) {
            (true, _, cpu) => cpu,
            (false, Some(sum), Some(cpu)) => Some(sum + cpu),
            (false, _, _) => None,
        };
        Ok(())
    }

    /// Number of samples of the profiler.
    pub fn samples(&self) -> u64 {
        self.stacks.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Share of a stack that was met once, in `unit`.
    pub fn period(&self) -> f64 {
        match self.samples() {
            0 => 0.0,
            samples => self.total / samples as f64,
        }
    }

    /// Sum of all stacks, in `unit` for an iteration.
    pub fn per_iteration(&self) -> f64 {
        self.total / self.iterations.max(1) as f64
    }

    /// Share of the wall-clock time that the process was on the CPU; above 1 where several threads were.
    pub fn on_cpu(&self) -> Option<f64> {
        self.cpu_ns.filter(|_| self.wall_ns > 0).map(|cpu| cpu as f64 / self.wall_ns as f64)
    }

    /// Time that the profiler has looked at, where it says so, and else the time that has passed.
    pub fn sampled_ns(&self) -> u64 {
        match (self.clock, self.cpu_ns) {
            (ProfileClock::Cpu, Some(cpu)) => cpu,
            (ProfileClock::Cpu | ProfileClock::Wall, _) => self.wall_ns,
        }
    }

    /// Returns the counted quantity, in words.
    pub fn quantity(&self) -> &str {
        match (self.unit.as_str(), self.clock) {
            ("ns", ProfileClock::Cpu) => "CPU time",
            ("ns", ProfileClock::Wall) => "wall-clock time",
            (unit, _) => unit,
        }
    }

    /// Why no stack was met at all.
    pub fn why_empty(&self) -> String {
        let wall = crate::units::duration(self.wall_ns as f64);
        match self.clock {
            ProfileClock::Wall => format!("the profiler met no stack in {wall}"),
            ProfileClock::Cpu => {
                let share = self.on_cpu().map(|share| {
                    format!(", of which it was on the CPU for {}", crate::units::percent(share))
                });
                format!(
                    "the profiler met no stack in {wall}{}: it sees time on the CPU, and waiting is not in it",
                    share.unwrap_or_default()
                )
            }
        }
    }

    /// Share of each function in all samples that met it innermost, the largest first.
    pub fn hottest(&self) -> Vec<(&str, f64)> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (frames, count) in &self.stacks {
            let innermost = frames.last().map_or("", String::as_str);
            let sum = counts.entry(innermost).or_default();
            *sum = sum.saturating_add(*count);
        }
        let all = self.samples().max(1) as f64;
        let mut shares: Vec<(&str, f64)> =
            counts.into_iter().map(|(name, count)| (name, count as f64 / all)).collect();
        // Stable: functions with the same share stay in the order of their names.
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    /// Folded stacks below `root`: a line for each, the functions divided by semicolons, and how often it was met.
    pub fn folded(&self, root: &str) -> String {
        let lines = self.stacks.iter().map(|(frames, count)| (frames.as_slice(), *count));
        fold(root, lines)
    }
}

/// Folded stacks. What is equal once it is written is one line.
pub fn fold<'a>(root: &str, stacks: impl IntoIterator<Item = (&'a [String], u64)>) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (frames, count) in stacks {
        let sum = lines.entry(fold_line(root, frames)).or_default();
        *sum = sum.saturating_add(count);
    }
    let mut text = String::new();
    for (stack, count) in lines.iter().filter(|(_, count)| **count > 0) {
        let _ = writeln!(text, "{stack} {count}");
    }
    text
}

/// A stack below `root` as a line, without a count.
pub fn fold_line(root: &str, frames: &[String]) -> String {
    let names = std::iter::once(root).chain(frames.iter().map(String::as_str)).map(frame_name);
    names.collect::<Vec<_>>().join(";")
}

/// A name as it can stand in a line of folded stacks, where a semicolon ends it, and so does a number behind a space.
fn frame_name(name: &str) -> String {
    let mut text: String = name
        .trim()
        .chars()
        .map(|c| match c {
            // As in `[u8; 4]`.
            ';' => ',',
            c if c.is_whitespace() || c.is_control() => ' ',
            // XML has none of these.
            '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect();
    if let Some(space) = text.rfind(' ')
        && text[space + 1..].chars().all(|c| c.is_ascii_digit() || c == '.')
    {
        text.replace_range(space..=space, "_");
    }
    // A line that begins so is a comment.
    if text.starts_with("# ") {
        text.replace_range(1..2, "_");
    }
    if text.is_empty() { "[no name]".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{profile, reply};

    #[test]
    fn samples_with_different_periods_add_up_to_what_they_stand_for() {
        let mut profile = profile(10, 1_000.0, &[("run;a", 2), ("run;b", 1)]);
        profile.add(reply(4_000.0, &[("run;a", 1)]), 10).unwrap();
        assert_eq!((profile.samples(), profile.iterations), (4, 20));
        assert_eq!(profile.total, 7_000.0);
        assert_eq!(profile.period(), 1_750.0);
        assert_eq!(profile.per_iteration(), 350.0);
        assert_eq!((profile.wall_ns, profile.cpu_ns), (2_000, Some(1_800)));
        assert_eq!(profile.on_cpu(), Some(0.9));
        assert_eq!(profile.folded("w/c/v"), "w/c/v;run;a 3\nw/c/v;run;b 1\n");
        assert_eq!(profile.hottest(), [("a", 0.75), ("b", 0.25)]);
    }

    #[test]
    fn a_sample_without_its_cpu_time_leaves_the_sum_unknown() {
        let mut profile = profile(1, 1.0, &[]);
        profile.add(SampleReply { cpu_ns: None, ..reply(1.0, &[]) }, 1).unwrap();
        assert_eq!((profile.cpu_ns, profile.on_cpu()), (None, None));
    }

    #[test]
    fn profiles_that_do_not_fit_are_refused() {
        let mut first = profile(1, 1.0, &[("run", 1)]);
        assert!(first.add(SampleReply::default(), 1).unwrap_err().contains("no `profile`"));
        for period in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(first.add(reply(period, &[]), 1).unwrap_err().contains("period"), "{period}");
        }
        let mut other = reply(1.0, &[]);
        other.profile.as_mut().unwrap().unit = "bytes".into();
        assert!(first.add(other, 1).unwrap_err().contains("different units"));
        let mut other = reply(1.0, &[]);
        other.profile.as_mut().unwrap().clock = ProfileClock::Wall;
        assert!(first.add(other, 1).unwrap_err().contains("clocks"));
    }

    #[test]
    fn nothing_met_says_that_waiting_is_not_seen() {
        let empty = profile(3, 1.0, &[("run", 0)]);
        assert_eq!((empty.samples(), empty.period()), (0, 0.0));
        assert!(empty.stacks.is_empty() && empty.hottest().is_empty() && empty.folded("root").is_empty());
        let why = empty.why_empty();
        assert!(why.contains("waiting is not in it") && why.contains("90.0 %"), "{why}");
        let wall = StackProfile { clock: ProfileClock::Wall, ..empty };
        assert!(!wall.why_empty().contains("CPU"), "{}", wall.why_empty());
    }

    #[test]
    fn names_keep_their_lines_whole() {
        let cases = [
            ("<[u8; 4] as T>::f", "<[u8, 4] as T>::f"),
            ("operator new(unsigned long)", "operator new(unsigned long)"),
            ("thread 12", "thread_12"),
            ("thread 1.5", "thread_1.5"),
            ("12", "12"),
            (" a\tb\nc ", "a b c"),
            ("", "[no name]"),
            ("# heading", "#_heading"),
        ];
        for (name, due) in cases {
            assert_eq!(frame_name(name), due, "{name:?}");
            assert_eq!(frame_name(due), due, "{due:?}");
        }
    }

    #[test]
    fn stacks_that_look_the_same_are_one_line() {
        let stacks = [vec!["a; b".to_owned()], vec!["a, b".to_owned()]];
        assert_eq!(fold("r", stacks.iter().map(|s| (s.as_slice(), 2))), "r;a, b 4\n");
    }
}
