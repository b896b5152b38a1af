//! Regressions that are planted beside the known work: more work, and faults.
//!
//! A gate compares two processes of the same program, so a difference between them has to come from outside: from the
//! setting `known-work`, which both sides of a run receive, or from an environment variable, which is set per process.

use std::fmt;

use perfharness_contract::{Failure, Setup};
use perfharness_platform::env;

/// Name of the setting.
pub(crate) const SETTING: &str = "known-work";
/// Name of the environment variable. It overrides the setting where both name the same thing.
pub const VARIABLE: &str = "PERFHARNESS_KNOWN_WORK";

/// Upper limit of every number: large enough to be seen, and small enough that a typo does not overload the machine.
const MOST: u64 = 100;
/// Upper limit of the bytes that an iteration leaks.
const MOST_LEAKED: u64 = 1 << 20;

/// A way for a variant to end or to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Every result is wrong.
    Wrong,
    /// The first iteration aborts the process.
    Crash,
    /// The first iteration never ends.
    Hang,
}

/// Work and faults that are planted in all variants of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Planted {
    /// Factor by which the work grows.
    pub(crate) time: f64,
    /// Additional copies in each iteration.
    pub(crate) copies: u64,
    /// Additional syncs in each iteration, of the device or of the file.
    pub(crate) syncs: u64,
    /// Additional writes to the file in each iteration.
    pub(crate) writes: u64,
    /// Additional allocations for each item of an iteration.
    pub(crate) allocations: u64,
    /// Factor by which the held memory grows.
    pub(crate) peak: u64,
    /// Bytes that each iteration allocates and never frees: on the heap, and for the GPU on the device.
    pub(crate) leak: u64,
    pub(crate) fault: Option<Fault>,
    /// Id of the one case in which all of this is planted; every case where absent.
    pub(crate) only: Option<&'static str>,
}

/// Error of a specification that cannot be planted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{item}` cannot be planted: {why}; an example of everything: \
     time=1.10,copies=+1,syncs=+1,writes=+1,allocations=+1,peak=2,leak=1024,wrong (or crash, or hang)"
)]
pub(crate) struct SpecError {
    item: String,
    why: String,
}

impl Planted {
    /// Nothing at all.
    pub(crate) const NOTHING: Self = Self {
        time: 1.0,
        copies: 0,
        syncs: 0,
        writes: 0,
        allocations: 0,
        peak: 1,
        leak: 0,
        fault: None,
        only: None,
    };

    /// Reads what the user planted in a case, and adds a note that says so.
    pub(crate) fn of(setup: &Setup, case: &str) -> Result<Self, Failure> {
        Self::read(setup, case, env::var(VARIABLE).as_deref())
    }

    fn read(setup: &Setup, case: &str, variable: Option<&str>) -> Result<Self, Failure> {
        let mut planted = Self::NOTHING;
        let sources = [("--set known-work", setup.setting(SETTING)), (VARIABLE, variable)];
        for (source, spec) in sources {
            let Some(spec) = spec.filter(|spec| !spec.trim().is_empty()) else { continue };
            planted =
                planted.with(spec).map_err(|error| Failure::Failed(format!("{source}={spec}: {error}")))?;
        }
        let planted = if planted.only.is_none_or(|only| only == case) {
            Self { only: None, ..planted }
        } else {
            Self::NOTHING
        };
        // A record must state that its figures are not those of the known work alone.
        if planted != Self::NOTHING {
            setup.note(format!("planted: {planted}"));
        }
        Ok(planted)
    }

    /// Adds the items of a specification.
    pub(crate) fn with(mut self, spec: &str) -> Result<Self, SpecError> {
        for item in spec.split(',').map(str::trim) {
            let error = |why: String| SpecError { item: item.into(), why };
            let (key, value) =
                item.split_once('=').map_or((item, None), |(key, value)| (key, Some(value.trim())));
            let number_to = |most| match value {
                Some(value) => count(value, most).map_err(error),
                None => Err(error("it needs a number".into())),
            };
            let number = || number_to(MOST);
            let fault = |fault| match value {
                None => Ok(Some(fault)),
                Some(_) => Err(error("it takes no value".into())),
            };
            match key.trim() {
                "time" => self.time = factor(value.unwrap_or_default()).map_err(error)?,
                "copies" => self.copies = number()?,
                "syncs" => self.syncs = number()?,
                "writes" => self.writes = number()?,
                "allocations" => self.allocations = number()?,
                "leak" => self.leak = number_to(MOST_LEAKED)?,
                "peak" => {
                    self.peak = number()?;
                    if self.peak == 0 {
                        return Err(error("it is a factor of at least 1".into()));
                    }
                }
                "only" => {
                    let ids = crate::CASES.iter().chain(&crate::SUITE).map(|params| params.id);
                    let found = ids.clone().find(|id| Some(*id) == value);
                    self.only = Some(found.ok_or_else(|| {
                        error(format!(
                            "there is no such case; there are {}",
                            ids.collect::<Vec<_>>().join(", ")
                        ))
                    })?);
                }
                "wrong" => self.fault = fault(Fault::Wrong)?,
                "crash" => self.fault = fault(Fault::Crash)?,
                "hang" => self.fault = fault(Fault::Hang)?,
                _ => return Err(error("it is unknown".into())),
            }
        }
        Ok(self)
    }
}

/// Parses a factor such as `1.10`. Less work than the result needs is impossible.
fn factor(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(factor) if (1.0..=MOST as f64).contains(&factor) => Ok(factor),
        _ => Err(format!("it needs a factor from 1 to {MOST}")),
    }
}

/// Parses a number such as `+1` or `1`.
fn count(value: &str, most: u64) -> Result<u64, String> {
    let digits = value.strip_prefix('+').unwrap_or(value);
    match digits.parse::<u64>() {
        // `parse` accepts a sign of its own.
        Ok(count) if count <= most && digits.starts_with(|c: char| c.is_ascii_digit()) => Ok(count),
        _ => Err(format!("it needs a whole number up to {most}")),
    }
}

impl fmt::Display for Planted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, copies, syncs, writes, allocations, peak, leak, fault, only } = *self;
        let mut items = Vec::new();
        if time != 1.0 {
            items.push(format!("time={time}"));
        }
        let more = [("copies", copies), ("syncs", syncs), ("writes", writes), ("allocations", allocations)];
        for (key, more) in more {
            if more > 0 {
                items.push(format!("{key}=+{more}"));
            }
        }
        if peak != 1 {
            items.push(format!("peak={peak}"));
        }
        if leak > 0 {
            items.push(format!("leak={leak}"));
        }
        items.extend(only.map(|only| format!("only={only}")));
        items.extend(fault.map(|fault| format!("{fault:?}").to_lowercase()));
        f.write_str(&items.join(","))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NOTHING: Planted = Planted::NOTHING;

    #[rstest]
    #[case::time("time=1.10", Planted { time: 1.1, ..NOTHING })]
    #[case::no_more_time("time=1.00", NOTHING)]
    #[case::copies("copies=+1", Planted { copies: 1, ..NOTHING })]
    #[case::without_a_sign("copies=2", Planted { copies: 2, ..NOTHING })]
    #[case::wrong("wrong", Planted { fault: Some(Fault::Wrong), ..NOTHING })]
    #[case::the_later_counts("peak=3,peak=2", Planted { peak: 2, ..NOTHING })]
    #[case::spaces(" syncs = +1 , hang ", Planted { syncs: 1, fault: Some(Fault::Hang), ..NOTHING })]
    #[case::in_one_case("only=spin,time=1.05", Planted { time: 1.05, only: Some("spin"), ..NOTHING })]
    #[case::everything(
        "time=1.5,copies=+1,syncs=+2,writes=+3,allocations=+4,peak=5,leak=1024,only=spin-2,crash",
        Planted {
            time: 1.5, copies: 1, syncs: 2, writes: 3, allocations: 4, peak: 5, leak: 1024, fault: Some(Fault::Crash),
            only: Some("spin-2")
        }
    )]
    fn a_specification_says_what_is_planted(#[case] spec: &str, #[case] planted: Planted) {
        assert_eq!(NOTHING.with(spec), Ok(planted));
        if planted != NOTHING {
            assert_eq!(NOTHING.with(&planted.to_string()), Ok(planted));
        }
    }

    #[rstest]
    #[case::misspelt("tmie=1.1", "is unknown")]
    #[case::a_gap("time=1.1,,wrong", "is unknown")]
    #[case::no_value("time", "factor from 1 to 100")]
    #[case::less_work("time=0.9", "factor from 1 to 100")]
    #[case::not_a_number("time=NaN", "factor from 1 to 100")]
    #[case::infinite("time=inf", "factor from 1 to 100")]
    #[case::nothing_to_count("copies", "needs a number")]
    #[case::negative("syncs=-1", "whole number up to 100")]
    #[case::two_signs("syncs=++1", "whole number up to 100")]
    #[case::a_share("writes=1.5", "whole number up to 100")]
    #[case::too_much("copies=+101", "whole number up to 100")]
    #[case::a_flood("leak=1048577", "whole number up to 1048576")]
    #[case::no_memory("peak=0", "at least 1")]
    #[case::in_an_unknown_case("only=spim", "there is no such case; there are spin,")]
    #[case::a_value_too_many("crash=1", "takes no value")]
    fn what_cannot_be_planted_is_refused_in_words(#[case] spec: &str, #[case] why: &str) {
        let error = NOTHING.with(spec).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("time=1.10"), "{error}");
    }

    #[test]
    fn the_variable_counts_over_the_setting_and_both_are_told() {
        let setup = |spec: &str| {
            Setup::new(1, "none", "unused").with_settings([(SETTING.to_owned(), spec.to_owned())].into())
        };
        let both = setup("time=1.1,copies=+1");
        let planted = Planted::read(&both, "spin", Some("time=1.2")).unwrap();
        assert_eq!(planted, Planted { time: 1.2, copies: 1, ..NOTHING });
        assert_eq!(planted.to_string(), "time=1.2,copies=+1");
        let elsewhere = |case| Planted::read(&setup("only=spin-2,time=1.1"), case, None).unwrap();
        assert_eq!((elsewhere("spin"), elsewhere("spin-2")), (NOTHING, Planted { time: 1.1, ..NOTHING }));
        assert_eq!(Planted::read(&setup(" "), "spin", Some("")).unwrap(), NOTHING);
        let error = |setup: &Setup, variable| match Planted::read(setup, "spin", variable) {
            Err(Failure::Failed(message)) => message,
            other => panic!("{other:?}"),
        };
        assert!(error(&setup("nonsense"), None).starts_with("--set known-work=nonsense: `nonsense` cannot"));
        assert!(error(&both, Some("peak=x")).starts_with("PERFHARNESS_KNOWN_WORK=peak=x: `peak=x` cannot"));
    }
}
