//! Baseline files: read strictly, written canonically.
//!
//! A file is only read if it is, to the byte, what this module writes for what it says. That one rule refuses whatever
//! was truncated, damaged, edited by hand, merged wrongly or has a key twice: each line carries a digest of its content,
//! so that a value that was changed no longer fits. Every benchmark has a line of its own, so that changes of different
//! benchmarks merge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perfharness_contract::Digest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Acceptance, BASELINE_VERSION, Baseline, Conditions, Entry};
use crate::record::file::write_atomically;

/// Why a baseline could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file cannot be read.
    #[error("cannot read the baseline {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no baseline, or not whole.
    #[error("the baseline {} is damaged: {what}; {NEXT_STEP}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The file was written by a later version.
    #[error(
        "the baseline {} has format {found}; this perfharness reads format {BASELINE_VERSION}: update perfharness",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in it.
        found: u64,
    },
    /// The file cannot be written.
    #[error("cannot write the baseline {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

const NEXT_STEP: &str = "restore it from git, or make it again with `perfharness baseline accept`; baselines are not edited by hand";

/// The file's name for a machine class.
pub fn name_for(class: &str) -> String {
    format!("{class}.json")
}

/// Everything but the benchmarks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    format: u32,
    class: String,
    conditions: Conditions,
    facts: BTreeMap<String, String>,
    acceptances: Vec<Acceptance>,
    digest: Digest,
    benchmarks: Vec<serde_json::Value>,
}

/// A line with the digest of the rest of it.
#[derive(Serialize, Deserialize)]
struct Sealed<T> {
    #[serde(flatten)]
    content: T,
    digest: Digest,
}

/// Reads the baseline of a machine class in a folder; `None` where there is none.
///
/// # Errors
/// When the file cannot be read, is damaged, or has a format of another version.
pub fn read_class(folder: &Path, class: &str) -> Result<Option<Baseline>, BaselineError> {
    let path = folder.join(name_for(class));
    match read(&path) {
        Err(BaselineError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Reads a baseline.
///
/// # Errors
/// When the file cannot be read, is damaged, or has a format of another version.
pub fn read(path: &Path) -> Result<Baseline, BaselineError> {
    let text = std::fs::read(path).map_err(|source| BaselineError::Read { path: path.into(), source })?;
    parse(path, &text)
}

/// Reads a baseline from the content of a file; `path` is for messages, and has the class for its name.
///
/// # Errors
/// When the content is damaged or has a format of another version.
pub fn parse(path: &Path, content: &[u8]) -> Result<Baseline, BaselineError> {
    let damaged = |what: String| BaselineError::Damaged { path: path.into(), what };
    let text = std::str::from_utf8(content).map_err(|error| damaged(format!("it is no text ({error})")))?;
    // Git may write files with the line ends of the system.
    let text = text.replace("\r\n", "\n");
    if text.trim().is_empty() {
        return Err(damaged("it is empty".into()));
    }
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| damaged(format!("it is no JSON ({error})")))?;
    // The version first: a later format may not parse otherwise.
    match value.get("format").and_then(serde_json::Value::as_u64) {
        Some(found) if found != u64::from(BASELINE_VERSION) => {
            return Err(BaselineError::Version { path: path.into(), found });
        }
        Some(_) => {}
        None => return Err(damaged("it does not say its format".into())),
    }
    let head: Head = serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
    let benchmarks = head.benchmarks.into_iter().enumerate().map(|(at, value)| {
        entry(value).map_err(|error| damaged(format!("benchmark number {}: {error}", at + 1)))
    });
    let baseline = Baseline {
        class: head.class,
        facts: head.facts,
        conditions: head.conditions,
        acceptances: head.acceptances,
        benchmarks: benchmarks.collect::<Result<_, _>>()?,
    };
    let due = to_text(&baseline).map_err(|error| damaged(error.to_string()))?;
    if due != text {
        let same = due.lines().zip(text.lines()).take_while(|(due, found)| due == found).count();
        return Err(damaged(format!("line {} is not as it was written", same + 1)));
    }
    sensible(&baseline).map_err(damaged)?;
    Ok(baseline)
}

/// The digest of a line is checked with the text of the whole file.
fn entry(mut value: serde_json::Value) -> Result<Entry, serde_json::Error> {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("digest");
    }
    from_value(value)
}

fn from_value<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value)
}

/// What no digest can tell: whether what was written makes sense.
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
                return wrong(&format!("`{metric}` has a figure that is no finite number"));
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
    let Baseline { class, facts, conditions, acceptances, benchmarks } = baseline;
    let own = serde_json::to_string(&(BASELINE_VERSION, class, conditions, facts, acceptances))?;
    let mut text = format!(
        "{{\n\"format\": {BASELINE_VERSION},\n\"class\": {},\n\"conditions\": {},\n\"facts\": {},\n\"acceptances\": [",
        serde_json::to_string(class)?,
        serde_json::to_string(conditions)?,
        serde_json::to_string(facts)?,
    );
    lines(&mut text, acceptances)?;
    text.push_str(&format!("],\n\"digest\": {},\n\"benchmarks\": [", serde_json::to_string(&digest(&own))?));
    let sealed = benchmarks.iter().map(|content| {
        let own = serde_json::to_string(content)?;
        Ok(Sealed { content, digest: digest(&own) })
    });
    lines(&mut text, &sealed.collect::<Result<Vec<_>, serde_json::Error>>()?)?;
    text.push_str("]\n}\n");
    Ok(text)
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
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
    let path = folder.join(name_for(&baseline.class));
    let text = to_text(baseline).map_err(std::io::Error::from);
    let written = text.and_then(|text| write_atomically(&path, text.as_bytes()));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(BaselineError::Write { path, source }),
    }
}
