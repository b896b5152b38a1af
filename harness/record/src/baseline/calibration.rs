//! Calibrations: how much the launches of identical sides differ on a machine class, as `calibrate` measured it.
//!
//! A calibration is a file beside the baseline of its class, and is kept without accepted figures, too. It is read and
//! written by the rules of [`file`](super::file).

use std::path::{Path, PathBuf};

use perfharness_contract::{BenchmarkId, Digest};
use serde::{Deserialize, Serialize};

use super::file::{
    BaselineError, Kept, Kind, Sealed, digest, parse_kept, read_all_kept, read_kept, sealed_lines, write_kept,
};
use crate::file_name;

/// Version of the format of a calibration file. A reader refuses a version that it does not know.
///
/// Changes: 1, the first.
pub const CALIBRATION_VERSION: u32 = 1;

/// End of the stem of the file's name, by which it differs from that of a baseline.
pub(super) const ENDING: &str = ".calibration";

/// The calibration of one machine class.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// The machine class.
    pub class: String,
    /// The benchmarks, sorted by id.
    pub benchmarks: Vec<Calibrated>,
}

/// Calibration of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibrated {
    /// Its id.
    pub id: BenchmarkId,
    /// Version of its definition.
    pub definition: u32,
    /// Launches of both sides.
    pub launches: usize,
    /// Standard deviation of the launch values of identical sides, as a log-ratio.
    pub sd: f64,
    /// Time of a launch of both sides, in s.
    pub launch_s: f64,
    /// Spread of the times that the same object code has when it is linked in other orders, as a log-ratio; absent where
    /// it is not known.
    pub layout_spread: Option<f64>,
    /// When it was measured, RFC 3339, UTC.
    pub when: String,
    /// Name and version of the harness.
    pub harness: String,
}

impl Calibration {
    /// Returns a calibration without benchmarks.
    pub fn empty(class: &str) -> Self {
        Self { class: class.to_owned(), benchmarks: Vec::new() }
    }

    /// Returns the calibration of a benchmark of this definition.
    pub fn of(&self, id: &BenchmarkId, definition: u32) -> Option<&Calibrated> {
        let at = self.benchmarks.binary_search_by(|known| known.id.cmp(id)).ok()?;
        Some(&self.benchmarks[at]).filter(|known| known.definition == definition)
    }

    /// Adds the calibration of a benchmark, in the place of the one that there was.
    pub fn set(&mut self, calibrated: Calibrated) {
        match self.benchmarks.binary_search_by(|known| known.id.cmp(&calibrated.id)) {
            Ok(at) => self.benchmarks[at] = calibrated,
            Err(at) => self.benchmarks.insert(at, calibrated),
        }
    }
}

/// The calibration of one machine class, as a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CalibrationFile {
    /// Version of this format.
    #[serde(rename = "format")]
    _format: u32,
    /// The machine class.
    #[serde(deserialize_with = "file_name::id")]
    class: String,
    /// Digest of everything above.
    #[serde(rename = "digest")]
    _digest: Digest,
    /// The benchmarks, sorted by id.
    benchmarks: Vec<Sealed<Calibrated>>,
}

impl Kept for Calibration {
    const KIND: Kind = Kind::Calibration;

    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let file: CalibrationFile = serde_json::from_str(text)?;
        let benchmarks = file.benchmarks.into_iter().map(|line| line.content).collect();
        Ok(Self { class: file.class, benchmarks })
    }

    fn to_text(&self, format: u32) -> Result<String, serde_json::Error> {
        let own = serde_json::to_string(&(format, &self.class))?;
        let mut text = format!(
            "{{\n\"format\": {format},\n\"class\": {},\n\"digest\": {},\n\"benchmarks\": [",
            serde_json::to_string(&self.class)?,
            serde_json::to_string(&digest(&own))?,
        );
        sealed_lines(&mut text, &self.benchmarks)?;
        text.push_str("]\n}\n");
        Ok(text)
    }

    fn check(&self) -> Result<(), String> {
        if !self.benchmarks.windows(2).all(|pair| pair[0].id < pair[1].id) {
            return Err("its benchmarks are not in order, or one is there twice".into());
        }
        for Calibrated { id, launches, sd, launch_s, layout_spread, .. } in &self.benchmarks {
            let is_size = |value: f64| value.is_finite() && value >= 0.0;
            if *launches < 2 {
                return Err(format!("{id}: an sd takes two launches or more"));
            }
            // An sd of 0 would promise a machine without noise.
            if !(is_size(*sd) && *sd > 0.0 && is_size(*launch_s) && layout_spread.is_none_or(is_size)) {
                return Err(format!("{id}: it has a figure that is negative, zero or not a number"));
            }
        }
        Ok(())
    }

    fn class(&self) -> &str {
        &self.class
    }

    fn name_for(class: &str) -> String {
        name_for(class)
    }
}

/// The file's name for a machine class.
pub fn name_for(class: &str) -> String {
    format!("{class}{ENDING}.json")
}

/// Reads the calibration of a machine class in a folder; `None` where there is none.
///
/// # Errors
/// When the file cannot be read, is damaged, or has a format of another version.
pub fn read_class(folder: &Path, class: &str) -> Result<Option<Calibration>, BaselineError> {
    read_kept(folder, class)
}

/// Whether a file of the folder, by its name, is a calibration.
pub fn is_calibration(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&name_for("")))
}

/// Reads every calibration of a folder; one that is not there has none.
///
/// # Errors
/// When the folder cannot be listed, or a file not be read, is damaged, or has a format of another version.
pub fn read_all(folder: &Path) -> Result<Vec<Calibration>, BaselineError> {
    read_all_kept(folder, is_calibration)
}

/// Reads a calibration from the content of a file; `path` is for messages.
///
/// # Errors
/// When the content is damaged or has a format of another version.
pub fn parse(path: &Path, content: &[u8]) -> Result<Calibration, BaselineError> {
    parse_kept(path, content)
}

/// The one text of a calibration.
///
/// # Errors
/// When a figure is no finite number, which JSON cannot say.
pub fn to_text(calibration: &Calibration) -> Result<String, serde_json::Error> {
    Kept::to_text(calibration, CALIBRATION_VERSION)
}

/// Writes a calibration into its folder, whole or not at all, and returns the path.
///
/// # Errors
/// When it cannot be written; an older file is then still there.
pub fn write(folder: &Path, calibration: &Calibration) -> Result<PathBuf, BaselineError> {
    write_kept(folder, calibration)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::baseline::file;

    fn row(id: &str, sd: f64) -> Calibrated {
        Calibrated {
            id: id.parse().unwrap(),
            definition: 3,
            launches: 96,
            sd,
            launch_s: 0.25,
            layout_spread: None,
            when: "2026-01-01T00:00:00Z".into(),
            harness: "perfharness 0.1.0".into(),
        }
    }

    fn calibration() -> Calibration {
        let mut calibration = Calibration::empty("linux-test");
        calibration.set(row("a/b/d", 0.02));
        calibration.set(Calibrated { layout_spread: Some(0.1), ..row("a/b/c", 0.01) });
        calibration
    }

    fn parsed(text: &str) -> Result<Calibration, BaselineError> {
        parse(Path::new("linux-test.calibration.json"), text.as_bytes())
    }

    #[test]
    fn what_is_written_is_read_whatever_the_line_ends() {
        let text = to_text(&calibration()).unwrap();
        assert_eq!(parsed(&text).unwrap(), calibration());
        assert_eq!(parsed(&text.replace('\n', "\r\n")).unwrap(), calibration());
        let empty = Calibration::empty("linux-test");
        assert_eq!(parsed(&to_text(&empty).unwrap()).unwrap(), empty);
    }

    #[test]
    fn a_benchmark_is_found_by_its_id_and_definition_and_measured_anew_replaced() {
        let mut calibration = calibration();
        let id = "a/b/c".parse().unwrap();
        assert_eq!(calibration.of(&id, 3).map(|row| row.sd), Some(0.01));
        assert_eq!(calibration.of(&id, 4), None, "another definition is another benchmark");
        assert_eq!(calibration.of(&"a/b/x".parse().unwrap(), 3), None);
        calibration.set(row("a/b/c", 0.03));
        assert_eq!(calibration.of(&id, 3).map(|row| row.sd), Some(0.03));
        assert_eq!(calibration.benchmarks.len(), 2);
    }

    #[test]
    fn a_damaged_file_is_refused_by_name_with_the_next_step() {
        let text = to_text(&calibration()).unwrap();
        for (from, to) in [("0.01", "0.0"), ("96", "32"), ("a/b/d", "a/b/b"), ("linux", "macos")] {
            let error = parsed(&text.replacen(from, to, 1)).unwrap_err();
            assert!(matches!(error, BaselineError::Damaged { .. }), "{from} -> {to}: {error}");
            let told = error.to_string();
            let due = ["linux-test.calibration.json", "perfharness calibrate"];
            assert!(due.iter().all(|words| told.contains(words)), "{told}");
        }
        for end in 0..text.len() - 1 {
            assert!(parsed(&text[..end]).is_err(), "{end}");
        }
        let later = text.replacen("\"format\": 1", "\"format\": 2", 1);
        assert!(matches!(parsed(&later).unwrap_err(), BaselineError::Version { found: 2, .. }));
    }

    #[rstest]
    #[case::no_noise(row("a/b/c", 0.0))]
    #[case::negative(row("a/b/c", -0.1))]
    #[case::one_launch(Calibrated { launches: 1, ..row("a/b/c", 0.1) })]
    #[case::negative_spread(Calibrated { layout_spread: Some(-1.0), ..row("a/b/c", 0.1) })]
    fn nonsense_with_a_right_digest_is_refused(#[case] row: Calibrated) {
        let text = to_text(&Calibration { benchmarks: vec![row], ..calibration() }).unwrap();
        assert!(parsed(&text).unwrap_err().to_string().contains("a/b/c"));
    }

    #[test]
    fn a_calibration_beside_a_baseline_is_not_mistaken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), &calibration()).unwrap();
        assert!(path.ends_with("linux-test.calibration.json"));
        assert_eq!(read_class(folder.path(), "linux-test").unwrap(), Some(calibration()));
        assert_eq!(read_class(folder.path(), "other").unwrap(), None);
        assert!(file::read_all(folder.path()).unwrap().is_empty());
        assert_eq!(read_all(folder.path()).unwrap(), [calibration()]);
        assert!(read_all(&folder.path().join("absent")).unwrap().is_empty());
        assert!(file::read_class(folder.path(), "linux-test").unwrap().is_none());
        let clash = Calibration::empty("linux-test.calibration");
        assert!(write(folder.path(), &clash).unwrap_err().to_string().contains("does not end with"));
    }
}
