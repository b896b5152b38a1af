//! Comparison of two profiles, both scaled to one iteration.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use perfharness_record::{StackProfile, fold_line};
use serde::{Deserialize, Serialize};

/// The side whose time determines the widths of a differential graph. Stacks of the other side alone have no width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Widths {
    /// The reference: shows what the candidate saves.
    Reference,
    /// The candidate: shows what it adds.
    Candidate,
}

/// Two profiles, each scaled to one iteration, with their stacks matched.
///
/// Different variants have different functions. Two stacks match if they are equal once functions of one side alone
/// are left out, between the outermost function and the first one that both sides have: a `write` that both sides
/// call is compared, whichever functions call it.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    root: String,
    reference: Vec<Weighted>,
    candidate: Vec<Weighted>,
    /// Unit of the weights.
    pub unit: String,
}

/// A stack and the amount that one iteration spends in it.
#[derive(Clone, Debug, PartialEq)]
struct Weighted {
    frames: Vec<String>,
    weight: u64,
    /// Key by which stacks match; `None` if all functions below the outermost belong to this side alone.
    key: Option<Vec<String>>,
}

/// Replaces the outermost function in a key if the two variants name it differently.
const VARIANT: &str = "[the variant]";

impl Difference {
    /// Scales two profiles and matches them. Returns `None` if their units differ.
    pub fn new(reference: &StackProfile, candidate: &StackProfile, root: &str) -> Option<Self> {
        if (&reference.unit, reference.clock) != (&candidate.unit, candidate.clock) {
            return None;
        }
        let scale = UnitScale::of(&reference.unit, reference.per_iteration().max(candidate.per_iteration()));
        let both = Common::of(reference, candidate);
        Some(Self {
            root: root.to_owned(),
            reference: both.weigh(reference, &scale),
            candidate: both.weigh(candidate, &scale),
            unit: scale.unit,
        })
    }

    /// Returns the folded stacks of one side with two counts each: the amount of the other side and its own.
    pub(super) fn lines(&self, widths: Widths) -> String {
        let (other, own) = match widths {
            Widths::Reference => (&self.candidate, &self.reference),
            Widths::Candidate => (&self.reference, &self.candidate),
        };
        let (theirs, ours) = (by_key(other), by_key(own));
        let mut lines: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for Weighted { frames, weight, key } in own {
            // Stacks that share a key share the amount of the other side in proportion to their own.
            let part = |key: &Vec<String>| {
                let (all, sum) = (*theirs.get(key)?, *ours.get(key)?);
                Some((all as f64 * *weight as f64 / sum.max(1) as f64).round() as u64)
            };
            let matched = key.as_ref().and_then(part).unwrap_or(0);
            let line = lines.entry(fold_line(&self.root, frames)).or_default();
            *line = (line.0 + matched, line.1 + weight);
        }
        text(&lines)
    }

    /// Returns the folded stacks of both sides with two counts each: reference and candidate. Matching stacks share a
    /// line.
    pub(super) fn folded(&self) -> String {
        let (before, after) = (by_key(&self.reference), by_key(&self.candidate));
        // A stack without a match keeps the names of its side.
        let line = |stack: &Weighted, theirs: &BTreeMap<&Vec<String>, u64>| {
            let key = stack.key.as_ref().filter(|key| theirs.contains_key(key));
            fold_line(&self.root, key.unwrap_or(&stack.frames))
        };
        let mut lines: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for stack in &self.reference {
            lines.entry(line(stack, &after)).or_default().0 += stack.weight;
        }
        for stack in &self.candidate {
            lines.entry(line(stack, &before)).or_default().1 += stack.weight;
        }
        text(&lines)
    }
}

fn by_key(side: &[Weighted]) -> BTreeMap<&Vec<String>, u64> {
    let mut sums = BTreeMap::new();
    for stack in side {
        if let Some(key) = &stack.key {
            *sums.entry(key).or_default() += stack.weight;
        }
    }
    sums
}

fn text(lines: &BTreeMap<String, (u64, u64)>) -> String {
    let mut text = String::new();
    for (stack, (first, second)) in lines.iter().filter(|(_, counts)| **counts != (0, 0)) {
        let _ = writeln!(text, "{stack} {first} {second}");
    }
    text
}

/// Functions that both profiles have.
struct Common<'a> {
    outermost: BTreeSet<&'a str>,
    others: BTreeSet<&'a str>,
}

impl<'a> Common<'a> {
    fn of(one: &'a StackProfile, other: &'a StackProfile) -> Self {
        fn names(profile: &StackProfile, wanted: fn(&[String]) -> &[String]) -> BTreeSet<&str> {
            profile.stacks.keys().flat_map(|frames| wanted(frames)).map(String::as_str).collect()
        }
        let common = |wanted| names(one, wanted).intersection(&names(other, wanted)).copied().collect();
        Self {
            outermost: common(|frames| &frames[..frames.len().min(1)]),
            others: common(|frames| frames.get(1..).unwrap_or_default()),
        }
    }

    fn weigh(&self, profile: &StackProfile, scale: &UnitScale) -> Vec<Weighted> {
        let weigh = |(frames, weight): (&Vec<String>, u64)| Weighted {
            frames: frames.clone(),
            weight,
            key: self.key(frames),
        };
        scale.weights(profile).map(weigh).collect()
    }

    fn key(&self, frames: &[String]) -> Option<Vec<String>> {
        let (first, rest) = frames.split_first()?;
        let known = first.starts_with('[') || self.outermost.contains(first.as_str());
        let outermost = if known { first.as_str() } else { VARIANT };
        let from = match rest.iter().position(|name| self.others.contains(name.as_str())) {
            Some(at) => at,
            None if rest.is_empty() => 0,
            None => return None,
        };
        Some([&[outermost.to_owned()], &rest[from..]].concat())
    }
}

/// Factor to whole numbers, which folded lines require: the unit is so small that rounding errors disappear in the
/// width of a sample.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnitScale {
    factor: f64,
    /// The unit, per iteration.
    pub(super) unit: String,
}

impl UnitScale {
    /// Smallest number of steps per iteration, if the unit can be that small. A profile has some thousand samples.
    const STEPS: f64 = 1e5;

    /// Returns the largest unit that is small enough for this amount of `unit` per iteration.
    pub(super) fn of(unit: &str, per_iteration: f64) -> Self {
        const TIMES: &[(f64, &str)] =
            &[(1e-6, "ms"), (1e-3, "µs"), (1.0, "ns"), (1e3, "ps"), (1e6, "fs"), (1e9, "as")];
        const OTHERS: &[(f64, &str)] =
            &[(1.0, ""), (1e3, "thousandths of "), (1e6, "millionths of "), (1e9, "billionths of ")];
        let is_time = unit == "ns";
        let units = if is_time { TIMES } else { OTHERS };
        let fits = |(factor, _): &&(f64, &str)| per_iteration * factor >= Self::STEPS;
        let (factor, name) = units.iter().find(fits).or(units.last()).copied().unwrap_or((1.0, ""));
        let unit =
            if is_time { format!("{name} per iteration") } else { format!("{name}{unit} per iteration") };
        Self { factor, unit }
    }

    /// Returns the amount of each stack per iteration, at least 1: a graph whose amounts are all 0 cannot be drawn.
    pub(super) fn weights<'p>(
        &self,
        profile: &'p StackProfile,
    ) -> impl Iterator<Item = (&'p Vec<String>, u64)> {
        let scale = profile.period() / profile.iterations.max(1) as f64 * self.factor;
        profile
            .stacks
            .iter()
            .map(move |(frames, count)| (frames, (*count as f64 * scale).round().max(1.0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use perfharness_record::testing::profile;

    use super::*;

    #[test]
    fn both_sides_are_for_one_iteration() {
        // 300 µs per iteration against 100 µs, from equally many samples.
        let slow = profile(10, 1e6, &[("run;open", 2), ("run;write", 1)]);
        let fast = profile(30, 1e6, &[("run;write", 3)]);
        let difference = Difference::new(&slow, &fast, "w/c").unwrap();
        assert_eq!(difference.unit, "ns per iteration");
        assert_eq!(
            difference.lines(Widths::Reference),
            "w/c;run;open 0 200000\nw/c;run;write 100000 100000\n"
        );
        assert_eq!(difference.lines(Widths::Candidate), "w/c;run;write 100000 100000\n");
        assert_eq!(difference.folded(), "w/c;run;open 200000 0\nw/c;run;write 100000 100000\n");
    }

    #[test]
    fn more_iterations_of_the_same_are_no_difference() {
        let stacks = [("run;a", 30), ("run;b", 10)];
        let (short, long) = (profile(5, 1e6, &stacks), profile(5_000, 1e9, &stacks));
        let difference = Difference::new(&short, &long, "w/c").unwrap();
        for text in [difference.lines(Widths::Reference), difference.folded()] {
            assert_eq!(text.lines().count(), 2);
            for line in text.lines() {
                let mut counts = line.rsplit(' ');
                assert_eq!(counts.next(), counts.next(), "{line}");
            }
        }
    }

    #[test]
    fn what_both_call_is_compared_whatever_calls_it() {
        let slow = profile(
            1,
            1e6,
            &[
                ("slow::run;slow::log;slow::line;write", 3),
                ("slow::run;slow::other;write", 1),
                ("slow::run;slow::log;build", 5),
                ("slow::run;slow::log;slow::copy;log", 2),
                ("slow::run", 1),
            ],
        );
        let fast = profile(
            1,
            1e6,
            &[
                ("fast::run;fast::log;write", 2),
                ("fast::run", 2),
                ("fast::run;fast::log", 1),
                ("fast::run;write;log", 1),
            ],
        );
        let difference = Difference::new(&slow, &fast, "w/c").unwrap();
        let ms = |text: String| text.replace("00000 ", " ").replace("00000\n", "\n");
        // The two writes of the slow side share the two of the fast side. Nothing of the fast side matches the build.
        assert_eq!(
            ms(difference.lines(Widths::Reference)),
            "w/c;slow::run 20 10\n\
             w/c;slow::run;slow::log;build 0 50\n\
             w/c;slow::run;slow::log;slow::copy;log 0 20\n\
             w/c;slow::run;slow::log;slow::line;write 15 30\n\
             w/c;slow::run;slow::other;write 5 10\n"
        );
        assert_eq!(
            ms(difference.lines(Widths::Candidate)),
            "w/c;fast::run 10 20\n\
             w/c;fast::run;fast::log 0 10\n\
             w/c;fast::run;fast::log;write 40 20\n\
             w/c;fast::run;write;log 0 10\n"
        );
        assert_eq!(
            ms(difference.folded()),
            "w/c;[the variant] 10 20\n\
             w/c;[the variant];write 40 20\n\
             w/c;fast::run;fast::log 0 10\n\
             w/c;fast::run;write;log 0 10\n\
             w/c;slow::run;slow::log;build 50 0\n\
             w/c;slow::run;slow::log;slow::copy;log 20 0\n"
        );
    }

    #[test]
    fn below_a_function_that_both_have_stacks_are_compared_exactly() {
        let slow = profile(1, 1e6, &[("run;log;copy", 1), ("run;log", 1)]);
        let fast = profile(1, 1e6, &[("run;log;move", 1), ("[other threads];log", 4)]);
        let difference = Difference::new(&slow, &fast, "w/c").unwrap();
        let lines = difference.lines(Widths::Reference);
        assert_eq!(lines, "w/c;run;log 0 1000000\nw/c;run;log;copy 0 1000000\n");
    }

    #[test]
    fn empty_stacks_and_empty_profiles_do_no_harm() {
        let (nothing, one) = (profile(1, 1e6, &[]), profile(1, 1e6, &[("", 1)]));
        let difference = Difference::new(&nothing, &one, "w/c").unwrap();
        assert_eq!(difference.lines(Widths::Reference), "");
        assert_eq!(difference.folded(), "w/c 0 1000000\n");
    }

    #[test]
    fn profiles_of_different_things_have_no_difference() {
        let time = profile(1, 1.0, &[("run", 1)]);
        let bytes = StackProfile { unit: "bytes".into(), ..time.clone() };
        assert_eq!(Difference::new(&time, &bytes, "w/c"), None);
    }

    #[test]
    fn what_was_met_is_never_nothing() {
        let rare = StackProfile { unit: "bytes".into(), ..profile(1 << 53, 1.0, &[("run", 1)]) };
        let difference = Difference::new(&rare, &rare, "w/c").unwrap();
        assert_eq!(difference.lines(Widths::Reference), "w/c;run 1 1\n");
    }

    #[test]
    fn units_are_as_small_as_whole_numbers_need() {
        let unit = |ns| UnitScale::of("ns", ns).unit;
        assert_eq!(unit(2.2e9), "µs per iteration");
        assert_eq!(unit(2.2e6), "ns per iteration");
        assert_eq!(unit(300.0), "ps per iteration");
        assert_eq!(unit(0.0), "as per iteration");
        assert_eq!(unit(f64::NAN), "as per iteration");
        assert_eq!(UnitScale::of("bytes", 1e6).unit, "bytes per iteration");
        assert_eq!(UnitScale::of("bytes", 1e3).unit, "thousandths of bytes per iteration");
    }
}
