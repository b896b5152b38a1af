//! Ceilings of a machine class, kept between runs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use perfharness_platform::cache_folder;
use perfharness_record::ceilings::Ceilings;
use perfharness_record::file::{read_text, write_atomically};

use crate::ask::{ProbeError, ask, question};

/// Age from which ceilings are measured again: drivers, kernels and neighbours change.
const KEPT: Duration = Duration::from_hours(7 * 24);

/// Version of the methods of measuring: 2 has long dispatches of arithmetic, transfers through several buffers,
/// memory of 1 GiB, and the slope of dispatches.
const METHOD: u32 = 2;

/// Most bytes of the file, which has about a kilobyte.
const MOST_BYTES: u64 = 1 << 20;

/// Time that measuring may take: about eight seconds, and much more on a busy machine.
const MEASURING_TIMEOUT: Duration = Duration::from_mins(2);

const HARNESS: &str = concat!("perfharness ", env!("CARGO_PKG_VERSION"));

/// Returns the ceilings of a machine class for a `--device`. If none are kept, it calls `before_measuring` and measures them in a
/// process of its own.
///
/// # Errors
/// When the process that measures gives no answer.
pub fn ceilings(class: &str, device: &str, before_measuring: impl FnOnce()) -> Result<Ceilings, ProbeError> {
    let path = place(&cache_folder(), class, device);
    if let Some(kept) = kept(&path, device, Timestamp::now()) {
        return Ok(kept);
    }
    before_measuring();
    let figures = ask(question(&["ceilings", device])?, MEASURING_TIMEOUT)?;
    let measured = Timestamp::now().to_string();
    let ceilings = Ceilings { measured, harness: HARNESS.into(), device: device.into(), figures };
    // A failure to keep them costs the next run some seconds, and nothing else.
    if let Ok(text) = serde_json::to_vec_pretty(&ceilings) {
        let _ = write_atomically(&path, &text);
    }
    Ok(ceilings)
}

/// Returns the kept ceilings, if a run would use them.
pub fn kept_ceilings(class: &str, device: &str) -> Option<Ceilings> {
    kept(&place(&cache_folder(), class, device), device, Timestamp::now())
}

fn place(folder: &Path, class: &str, device: &str) -> PathBuf {
    let device: String = device.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    folder.join(format!("ceilings-{METHOD}-{class}-{device}.json"))
}

/// Returns the kept ceilings if they are of this version and device, and not too old.
fn kept(path: &Path, device: &str, now: Timestamp) -> Option<Ceilings> {
    let text = read_text(path, MOST_BYTES).ok()?;
    let kept: Ceilings = serde_json::from_str(&text).ok()?;
    let age = now.duration_since(kept.measured.parse().ok()?);
    let is_fresh = Duration::try_from(age).is_ok_and(|age| age < KEPT);
    (is_fresh && kept.harness == HARNESS && kept.device == device).then_some(kept)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn what_is_kept_is_of_this_version_and_device_and_fresh() {
        let folder = tempfile::tempdir().unwrap();
        let path = place(folder.path(), "a-class", "auto");
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let ceilings = Ceilings {
            measured: "2026-01-01T00:00:00Z".into(),
            harness: HARNESS.into(),
            device: "auto".into(),
            figures: BTreeMap::new(),
        };
        let write =
            |ceilings: &Ceilings| std::fs::write(&path, serde_json::to_vec(ceilings).unwrap()).unwrap();
        assert_eq!(kept(&path, "auto", at("2026-01-02T00:00:00Z")), None);
        write(&ceilings);
        assert_eq!(kept(&path, "auto", at("2026-01-02T00:00:00Z")).as_ref(), Some(&ceilings));
        assert_eq!(kept(&path, "auto", at("2026-01-09T00:00:00Z")), None);
        // A clock that was set back.
        assert_eq!(kept(&path, "auto", at("2025-12-31T00:00:00Z")), None);
        assert_eq!(kept(&path, "none", at("2026-01-02T00:00:00Z")), None);
        write(&Ceilings { harness: "perfharness 0.0.0".into(), ..ceilings });
        assert_eq!(kept(&path, "auto", at("2026-01-02T00:00:00Z")), None);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(kept(&path, "auto", at("2026-01-02T00:00:00Z")), None);
    }
}
