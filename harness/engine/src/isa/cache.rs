//! Codes of kernels, kept between runs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use perfharness_platform::cache_folder;
use perfharness_record::CompiledKernel;
use perfharness_record::file::{read_text, write_atomically};
use serde::{Deserialize, Serialize};

/// Most bytes of the file; a kernel has about 300.
const MOST_BYTES: u64 = 8 << 20;
/// Kernels from which on the file begins anew, because sources change and nobody asks for the old ones.
const MOST_KERNELS: usize = 10_000;

/// The translation of sources comes with the program.
const HARNESS: &str = concat!("perfharness ", env!("CARGO_PKG_VERSION"));

/// Codes of a family by one version of a driver.
#[derive(Debug, Default)]
pub(super) struct Cache {
    path: PathBuf,
    kept: Kept,
    is_changed: bool,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    harness: String,
    driver: String,
    /// By digest of the source.
    codes: BTreeMap<String, CompiledKernel>,
}

impl Cache {
    /// Reads the codes that are kept for a family and a version of the driver; there are none if the file is of another version or
    /// cannot be read.
    pub(super) fn open(family: &str, driver: &str) -> Self {
        Self::at(cache_folder().join(format!("kernels-{family}.json")), driver)
    }

    fn at(path: PathBuf, driver: &str) -> Self {
        let kept = read_text(&path, MOST_BYTES).ok();
        let kept = kept.and_then(|text| serde_json::from_str::<Kept>(&text).ok());
        let kept = kept.filter(|kept| {
            kept.harness == HARNESS && kept.driver == driver && kept.codes.len() < MOST_KERNELS
        });
        let new = || Kept { harness: HARNESS.into(), driver: driver.into(), codes: BTreeMap::new() };
        Self { path, kept: kept.unwrap_or_else(new), is_changed: false }
    }

    pub(super) fn get(&self, source: &str) -> Option<&CompiledKernel> {
        self.kept.codes.get(source)
    }

    pub(super) fn put(&mut self, source: String, code: CompiledKernel) {
        self.kept.codes.insert(source, code);
        self.is_changed = true;
    }

    /// Writes the file, if anything was added. A failure costs the next run some seconds, and nothing else.
    pub(super) fn close(self) {
        if self.is_changed
            && let Ok(text) = serde_json::to_vec(&self.kept)
        {
            let _ = write_atomically(&self.path, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use perfharness_contract::Digest;

    use super::*;

    fn code() -> CompiledKernel {
        CompiledKernel {
            digest: Digest::of(b"code"),
            subgroup: 64,
            instructions: Some(46),
            code_bytes: None,
            vgprs: None,
            sgprs: None,
            spills: None,
            scratch_bytes: None,
            lds_bytes: None,
            waves: None,
            latency: None,
            inverse_throughput: None,
        }
    }

    #[test]
    fn codes_are_kept_for_one_version_of_the_driver() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernels.json");
        let source = "source".to_owned();
        let mut cache = Cache::at(path.clone(), "radv 1");
        assert_eq!(cache.get(&source), None);
        cache.put(source.clone(), code());
        cache.close();
        assert_eq!(Cache::at(path.clone(), "radv 1").get(&source), Some(&code()));
        assert_eq!(Cache::at(path.clone(), "radv 2").get(&source), None);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Cache::at(path, "radv 1").get(&source), None);
    }
}
