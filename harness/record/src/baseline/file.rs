//! Files of the folder of baselines: read strictly, written canonically.
//!
//! A file is only read if it is, to the byte, what this module writes for what it says. That one rule refuses whatever
//! was truncated, damaged, edited by hand, merged wrongly or has a key twice: each line carries a digest of its content,
//! so that a value that was changed no longer fits. Every benchmark has a line of its own, so that changes of different
//! benchmarks merge.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calibration::{CALIBRATION_VERSION, ENDING, is_calibration};
use super::{Acceptance, BASELINE_VERSION, Baseline, Conditions, Entry, Former};
use crate::file::{read_regular, write_atomically};
use crate::json::BASELINE_LIMITS;
use crate::{file_name, json};

/// Kind of a file in the folder of baselines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The accepted figures of a machine class.
    Baseline,
    /// The calibration of a machine class.
    Calibration,
}

impl Kind {
    fn version(self) -> u32 {
        match self {
            Self::Baseline => BASELINE_VERSION,
            Self::Calibration => CALIBRATION_VERSION,
        }
    }

    fn next_step(self) -> &'static str {
        match self {
            Self::Baseline => {
                "restore it from git, or make it again with `perfharness baseline accept`; baselines are not edited by hand"
            }
            Self::Calibration => {
                "restore it from git, or remove it and make it again with `perfharness calibrate`; calibrations are not edited by hand"
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Baseline => "baseline",
            Self::Calibration => "calibration",
        })
    }
}

/// Why a file of the folder could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file cannot be read.
    #[error("cannot read the {kind} {}: {source}", path.display())]
    Read {
        /// Kind of the file.
        kind: Kind,
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is not of its kind, or not whole.
    #[error("the {kind} {} is damaged: {what}; {}", path.display(), kind.next_step())]
    Damaged {
        /// Kind of the file.
        kind: Kind,
        /// The file.
        path: PathBuf,
        /// Reason, as a clause.
        what: String,
    },
    /// The file was written by a later version.
    #[error(
        "the {kind} {} has format {found}; this perfharness reads formats up to {}: update perfharness",
        path.display(),
        kind.version()
    )]
    Version {
        /// Kind of the file.
        kind: Kind,
        /// The file.
        path: PathBuf,
        /// The version in it.
        found: u64,
    },
    /// The file cannot be written.
    #[error("cannot write the {kind} {}: {source}", path.display())]
    Write {
        /// Kind of the file.
        kind: Kind,
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

/// Content of a file of the folder.
pub(super) trait Kept: Sized {
    /// Kind of the file.
    const KIND: Kind;

    /// Reads the content of a file of a known format, unchecked.
    fn from_json(text: &str) -> Result<Self, serde_json::Error>;

    /// Returns the one text of the content in a format.
    fn to_text(&self, format: u32) -> Result<String, serde_json::Error>;

    /// Checks that the content makes sense, which no digest can tell.
    fn check(&self) -> Result<(), String>;

    /// The machine class that it is of.
    fn class(&self) -> &str;

    /// Name of the file for a machine class.
    fn name_for(class: &str) -> String;
}

/// Reads the file of a machine class in a folder; `None` where there is none.
pub(super) fn read_kept<T: Kept>(folder: &Path, class: &str) -> Result<Option<T>, BaselineError> {
    let path = folder.join(T::name_for(class));
    match read_path::<T>(&path) {
        Err(BaselineError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Ok(other) if other.class() != class => {
            let what = format!("it holds the figures of the machine class {}", other.class());
            Err(BaselineError::Damaged { kind: T::KIND, path, what })
        }
        other => other.map(Some),
    }
}

fn read_path<T: Kept>(path: &Path) -> Result<T, BaselineError> {
    let text = read_regular(path, BASELINE_LIMITS.bytes).map_err(|source| BaselineError::Read {
        kind: T::KIND,
        path: path.into(),
        source,
    })?;
    parse_kept(path, &text)
}

/// Reads the content of a file; `path` is for messages.
pub(super) fn parse_kept<T: Kept>(path: &Path, content: &[u8]) -> Result<T, BaselineError> {
    let kind = T::KIND;
    let damaged = |what: String| BaselineError::Damaged { kind, path: path.into(), what };
    let text =
        std::str::from_utf8(content).map_err(|error| damaged(format!("it is not a text ({error})")))?;
    // Git may write files with the line ends of the system.
    let text = text.replace("\r\n", "\n");
    if text.trim().is_empty() {
        return Err(damaged("it is empty".into()));
    }
    // The version first: a later format may not parse otherwise.
    let format =
        json::check(&text, BASELINE_LIMITS).map_err(|error| damaged(format!("it is not JSON ({error})")))?;
    let found = format.ok_or_else(|| damaged("it does not say its format".into()))?;
    let format = u32::try_from(found).ok().filter(|format| (1..=kind.version()).contains(format));
    let Some(format) = format else {
        return Err(BaselineError::Version { kind, path: path.into(), found });
    };
    let content = T::from_json(&text).map_err(|error| damaged(error.to_string()))?;
    let due = content.to_text(format).map_err(|error| damaged(error.to_string()))?;
    if due != text {
        let same = due.lines().zip(text.lines()).take_while(|(due, found)| due == found).count();
        return Err(damaged(format!("line {} is not as it was written", same + 1)));
    }
    content.check().map_err(damaged)?;
    Ok(content)
}

/// Writes a file into its folder, whole or not at all, and returns its path.
pub(super) fn write_kept<T: Kept>(folder: &Path, content: &T) -> Result<PathBuf, BaselineError> {
    let (kind, class) = (T::KIND, content.class());
    let path = folder.join(T::name_for(class));
    let named = file_name::check_id(class).map_err(std::io::Error::other).and_then(|()| {
        let told = || std::io::Error::other(format!("a machine class does not end with {ENDING}"));
        if class.ends_with(ENDING) { Err(told()) } else { Ok(()) }
    });
    let text = named.and_then(|()| content.to_text(kind.version()).map_err(std::io::Error::from));
    let written = text.and_then(|text| {
        // What could not be read again must not take the place of what can.
        json::check(&text, BASELINE_LIMITS)?;
        write_atomically(&path, text.as_bytes())
    });
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(BaselineError::Write { kind, path, source }),
    }
}

/// The file's name for a machine class.
pub fn name_for(class: &str) -> String {
    format!("{class}.json")
}

/// Whether a file of the folder, by its name, is a baseline. A calibration lies beside it.
pub fn is_baseline(path: &Path) -> bool {
    path.extension().is_some_and(|ext| ext == "json") && !is_calibration(path)
}

/// The accepted figures of one machine class, as a file.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "perfharness baseline, format 2")]
pub(crate) struct Head {
    /// Version of this format.
    #[serde(rename = "format")]
    _format: u32,
    /// The machine class.
    #[serde(deserialize_with = "file_name::id")]
    class: String,
    /// The conditions that figures depend on, beside the code and the machine.
    conditions: Conditions,
    /// Facts of the machine of the latest acceptance.
    facts: BTreeMap<String, String>,
    /// The acceptances, oldest first.
    acceptances: Vec<Acceptance>,
    /// Digest of everything above.
    #[serde(rename = "digest")]
    _digest: Digest,
    /// The benchmarks, sorted by id.
    benchmarks: Vec<Sealed<Entry>>,
}

/// A line with a digest of the rest of it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct Sealed<T> {
    #[serde(flatten)]
    pub(super) content: T,
    digest: Digest,
}

/// Reads the baseline of a machine class in a folder; `None` where there is none.
///
/// # Errors
/// When the file cannot be read, is damaged, or has a format of another version.
pub fn read_class(folder: &Path, class: &str) -> Result<Option<Baseline>, BaselineError> {
    read_kept(folder, class)
}

/// Reads every baseline of a folder; one that is not there has none. A damaged one is an error even if another would do.
///
/// # Errors
/// When the folder cannot be listed, or a file not be read, is damaged, or has a format of another version.
pub fn read_all(folder: &Path) -> Result<Vec<Baseline>, BaselineError> {
    read_all_kept(folder, is_baseline)
}

/// Reads every file of a folder that `is_one` by its path.
pub(super) fn read_all_kept<T: Kept>(
    folder: &Path,
    is_one: fn(&Path) -> bool,
) -> Result<Vec<T>, BaselineError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(BaselineError::Read { kind: T::KIND, path: folder.into(), source }),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| is_one(path));
    paths.sort();
    paths.iter().map(|path| read_path(path)).collect()
}

/// Reads a baseline.
///
/// # Errors
/// When the file cannot be read, is damaged, or has a format of another version.
pub fn read(path: &Path) -> Result<Baseline, BaselineError> {
    read_path(path)
}

/// Reads a baseline from the content of a file; `path` is for messages, and has the class for its name.
///
/// # Errors
/// When the content is damaged or has a format of another version.
pub fn parse(path: &Path, content: &[u8]) -> Result<Baseline, BaselineError> {
    parse_kept(path, content)
}

impl Kept for Baseline {
    const KIND: Kind = Kind::Baseline;

    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let head: Head = serde_json::from_str(text)?;
        Ok(Self {
            class: head.class,
            facts: head.facts,
            conditions: head.conditions,
            acceptances: head.acceptances,
            // The digest of a line is checked with the text of the whole file.
            benchmarks: head.benchmarks.into_iter().map(|line| line.content).collect(),
        })
    }

    fn to_text(&self, format: u32) -> Result<String, serde_json::Error> {
        let Self { class, facts, conditions, acceptances, benchmarks } = self;
        let own = serde_json::to_string(&(format, class, conditions, facts, acceptances))?;
        let mut text = format!(
            "{{\n\"format\": {format},\n\"class\": {},\n\"conditions\": {},\n\"facts\": {},\n\"acceptances\": [",
            serde_json::to_string(class)?,
            serde_json::to_string(conditions)?,
            serde_json::to_string(facts)?,
        );
        lines(&mut text, acceptances)?;
        text.push_str("],\n\"digest\": ");
        text.push_str(&serde_json::to_string(&digest(&own))?);
        text.push_str(",\n\"benchmarks\": [");
        if format == 1 {
            sealed_lines(&mut text, benchmarks)?;
        } else {
            let current = |entry: &Entry| Entry { calibrated: Former::default(), ..entry.clone() };
            sealed_lines(&mut text, &benchmarks.iter().map(current).collect::<Vec<_>>())?;
        }
        text.push_str("]\n}\n");
        Ok(text)
    }

    fn check(&self) -> Result<(), String> {
        sensible(self)
    }

    fn class(&self) -> &str {
        &self.class
    }

    fn name_for(class: &str) -> String {
        name_for(class)
    }
}

/// Checks that a baseline makes sense, which no digest can tell.
fn sensible(baseline: &Baseline) -> Result<(), String> {
    let ordered = baseline.benchmarks.windows(2).all(|pair| pair[0].id < pair[1].id);
    if !ordered {
        return Err("its benchmarks are not in order, or one is there twice".into());
    }
    for entry in &baseline.benchmarks {
        let wrong = |what: &str| Err(format!("{}: {what}", entry.id));
        if baseline.acceptance(entry).is_none() {
            return wrong("it was accepted at no known time");
        }
        for (metric, figures) in &entry.metrics {
            let numbers = figures.values.iter().chain(&figures.anchors).chain(figures.range.iter().flatten());
            if !numbers.clone().all(|number| number.is_finite()) {
                return wrong(&format!("`{metric}` has a figure that is not a finite number"));
            }
            if figures.values.is_empty() {
                return wrong(&format!("`{metric}` has no figure"));
            }
            if !figures.anchors.is_empty() && figures.anchors.len() != figures.values.len() {
                return wrong(&format!("`{metric}` has more or fewer anchors than figures"));
            }
        }
    }
    Ok(())
}

/// The one text of a baseline.
///
/// # Errors
/// When a figure is no finite number, which JSON cannot say.
pub fn to_text(baseline: &Baseline) -> Result<String, serde_json::Error> {
    Kept::to_text(baseline, BASELINE_VERSION)
}

pub(super) fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

/// A line for each item, with its digest.
pub(super) fn sealed_lines<T: Serialize>(text: &mut String, items: &[T]) -> Result<(), serde_json::Error> {
    let sealed = items.iter().map(|content| {
        let own = serde_json::to_string(content)?;
        Ok(Sealed { content, digest: digest(&own) })
    });
    lines(text, &sealed.collect::<Result<Vec<_>, serde_json::Error>>()?)
}

/// A line for each item.
fn lines<T: Serialize>(text: &mut String, items: &[T]) -> Result<(), serde_json::Error> {
    text.push('\n');
    for (at, item) in items.iter().enumerate() {
        text.push_str(&serde_json::to_string(item)?);
        text.push_str(if at + 1 == items.len() { "\n" } else { ",\n" });
    }
    Ok(())
}

/// Writes a baseline into its folder, whole or not at all, and tells the path.
///
/// # Errors
/// When it cannot be written; an older file is then still there.
pub fn write(folder: &Path, baseline: &Baseline) -> Result<PathBuf, BaselineError> {
    write_kept(folder, baseline)
}

#[cfg(test)]
mod tests {
    use perfharness_contract::{Direction, Effort, MetricKind, OutcomeKind, Portability, Role};
    use proptest::prelude::*;

    use super::*;
    use crate::baseline::Figures;

    fn figures(kind: MetricKind, values: &[f64]) -> Figures {
        Figures {
            unit: "count".into(),
            kind,
            direction: Direction::Lower,
            portability: Portability::Portable,
            work: false,
            version: 1,
            values: values.to_vec(),
            launches: 8,
            range: None,
            anchors: Vec::new(),
            under: [("tool".to_owned(), "valgrind 3.19".to_owned())].into(),
        }
    }

    fn baseline() -> Baseline {
        let entry = |id: &str| Entry {
            id: id.parse().unwrap(),
            accepted: 1,
            definition: 3,
            identity: Digest::of(id.as_bytes()),
            efforts: Effort::ALL.to_vec(),
            role: Role::Optimized,
            expected: OutcomeKind::Ok,
            calibrated: Former::default(),
            metrics: [
                ("syncs".to_owned(), figures(MetricKind::Exact, &[3.0])),
                (
                    "wall-time".to_owned(),
                    Figures {
                        anchors: vec![1e6, 1.1e6],
                        ..figures(MetricKind::Time, &[0.1 + 0.2, 123_456.789])
                    },
                ),
            ]
            .into(),
            before: None,
        };
        Baseline {
            class: "linux-x86_64-test-2c".into(),
            facts: [("os".to_owned(), "linux".to_owned())].into(),
            conditions: Conditions { seed: 1, device: "auto".into(), settings: BTreeMap::new() },
            acceptances: vec![Acceptance {
                number: 1,
                when: "2026-01-01T00:00:00Z".into(),
                reason: "a \"first\"\none".into(),
                commit: Some("abc".into()),
                dirty: false,
                runs: vec!["r1".into(), "r2".into()],
                harness: "perfharness 0.1.0".into(),
            }],
            benchmarks: vec![entry("a/b/c"), entry("a/b/d")],
        }
    }

    fn parsed(text: &[u8]) -> Result<Baseline, BaselineError> {
        parse(Path::new("x.json"), text)
    }

    #[test]
    fn what_is_written_is_read_whatever_the_line_ends() {
        let text = to_text(&baseline()).unwrap();
        assert_eq!(parsed(text.as_bytes()).unwrap(), baseline());
        assert_eq!(parsed(text.replace('\n', "\r\n").as_bytes()).unwrap(), baseline());
        let empty = Baseline { benchmarks: Vec::new(), ..baseline() };
        assert_eq!(parsed(to_text(&empty).unwrap().as_bytes()).unwrap(), empty);
    }

    #[test]
    fn each_benchmark_has_a_line_of_its_own() {
        let mut other = baseline();
        other.benchmarks[1].definition = 4;
        let (before, after) = (to_text(&baseline()).unwrap(), to_text(&other).unwrap());
        let differing = before.lines().zip(after.lines()).filter(|(a, b)| a != b).count();
        assert_eq!((differing, before.lines().count()), (1, after.lines().count()));
    }

    /// The bytes that it was truncated to, or the bit that flipped, can be anywhere.
    #[test]
    fn what_is_truncated_is_damaged_at_every_place() {
        let text = to_text(&baseline()).unwrap();
        for end in 0..text.len() - 1 {
            let error = parsed(&text.as_bytes()[..end]).unwrap_err().to_string();
            assert!(error.contains("damaged") && error.contains("baseline accept"), "{end}: {error}");
        }
    }

    #[test]
    fn a_bit_that_flipped_is_damage() {
        let text = to_text(&baseline()).unwrap();
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                assert!(parsed(&bytes).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn edits_by_hand_are_refused_with_the_line() {
        let text = to_text(&baseline()).unwrap();
        let edits = [
            ("[3.0]", "[4.0]"),
            ("[3.0]", "[3]"),
            ("[3.0]", "[\"3\"]"),
            ("[3.0]", "[NaN]"),
            ("[3.0]", "[1e999]"),
            ("[3.0]", "[]"),
            ("[3.0]", "null"),
            ("\"definition\":3", "\"definition\":3,\"definition\":3"),
            ("\"syncs\":{", "\"syncs\":{\"unit\":\"count\"},\"syncs\":{"),
            ("\"class\": ", "\"klass\": "),
            ("\"seed\":1", "\"seed\":2"),
            ("a/b/d", "a/b/b"),
            ("\"benchmarks\": [\n", "\"benchmarks\": [\n\n"),
            ("first", "last"),
        ];
        for (from, to) in edits {
            assert!(text.contains(from), "{from}");
            let error = parsed(text.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert!(matches!(error, BaselineError::Damaged { .. }), "{from} -> {to}: {error}");
        }
        let error = parsed(text.replacen("[3.0]", "[4.0]", 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 11 "), "{error}");
    }

    #[test]
    fn a_version_from_the_future_is_told_apart_from_damage() {
        let text = to_text(&baseline()).unwrap().replacen("\"format\": 3", "\"format\": 4", 1);
        let error = parsed(text.as_bytes()).unwrap_err();
        assert!(matches!(error, BaselineError::Version { found: 4, .. }), "{error}");
    }

    #[test]
    fn a_file_of_format_1_is_read_with_what_it_says_of_a_calibration_and_written_without() {
        let mut former = baseline();
        former.benchmarks[0].calibrated = Former::of(Some(0.0123));
        former.benchmarks[1].calibrated = Former::of(None);
        let text = Kept::to_text(&former, 1).unwrap();
        assert!(text.contains("\"calibrated\":0.0123") && text.contains("\"calibrated\":null"), "{text}");
        let read = parsed(text.as_bytes()).unwrap();
        assert_eq!(read, former);
        assert_eq!(to_text(&read).unwrap(), to_text(&baseline()).unwrap());
        assert!(parsed(text.replacen("0.0123", "0.0124", 1).as_bytes()).is_err());
    }

    #[test]
    fn nonsense_with_a_right_digest_is_refused() {
        let nonsense = |edit: fn(&mut Baseline)| {
            let mut baseline = baseline();
            edit(&mut baseline);
            parsed(to_text(&baseline).unwrap().as_bytes()).unwrap_err().to_string()
        };
        let found = nonsense(|b| b.benchmarks.swap(0, 1));
        assert!(found.contains("order"), "{found}");
        let found = nonsense(|b| b.benchmarks[1] = b.benchmarks[0].clone());
        assert!(found.contains("order"), "{found}");
        let found = nonsense(|b| b.benchmarks[0].accepted = 7);
        assert!(found.contains("no known time"), "{found}");
        let found = nonsense(|b| b.benchmarks[0].metrics.get_mut("syncs").unwrap().values.clear());
        assert!(found.contains("no figure"), "{found}");
        let found = nonsense(|b| b.benchmarks[0].metrics.get_mut("wall-time").unwrap().anchors.truncate(1));
        assert!(found.contains("anchors"), "{found}");
    }

    #[test]
    fn merges_of_different_benchmarks_are_whole() {
        let (mut ours, mut theirs, mut both) = (baseline(), baseline(), baseline());
        ours.benchmarks[0].definition = 8;
        theirs.benchmarks[1].definition = 9;
        both.benchmarks[0].definition = 8;
        both.benchmarks[1].definition = 9;
        let lines = |b: &Baseline| to_text(b).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
        let (base, ours, theirs) = (lines(&baseline()), lines(&ours), lines(&theirs));
        let merged: Vec<&str> = (0..base.len())
            .map(|at| if ours[at] == base[at] { theirs[at].as_str() } else { ours[at].as_str() })
            .collect();
        assert_eq!(parsed((merged.join("\n") + "\n").as_bytes()).unwrap(), both);
    }

    proptest! {
        /// Whatever happens to a file, it is read as what was written or not at all.
        #[test]
        fn no_damage_passes_or_panics(
            at in 0_usize..4000,
            length in 0_usize..40,
            with in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let text = to_text(&baseline()).unwrap();
            let start = at % text.len();
            let end = (start + length).min(text.len());
            let mut bytes = text.clone().into_bytes();
            bytes.splice(start..end, with);
            if bytes != text.as_bytes() {
                match parsed(&bytes) {
                    Ok(found) => prop_assert_eq!(found, baseline()),
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                }
            }
        }

        #[test]
        fn any_bytes_are_refused_in_words(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(parsed(&bytes).is_err());
        }
    }
}
