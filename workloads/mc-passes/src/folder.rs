//! The image files of an iteration.

use std::path::{Path, PathBuf};

use perfharness_contract::{Digest, Failure};

use crate::pixels::decode;

/// The usable files of a folder, in the order of their names.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Files that decode, no more than were asked for.
    pub(crate) files: Vec<PathBuf>,
    /// Files that do not, and why.
    pub(crate) skipped: Vec<(PathBuf, String)>,
}

impl Folder {
    /// Tries the files of a folder until `count` of them were decoded.
    ///
    /// # Errors
    /// When the folder cannot be read, or none of its files is an image.
    pub(crate) fn open(path: &Path, count: usize) -> Result<Self, Failure> {
        let failed = |what: String| Failure::Failed(format!("images in {}: {what}", path.display()));
        let entries = std::fs::read_dir(path).map_err(|error| failed(error.to_string()))?;
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(error.to_string()))?;
            if entry.path().is_file() {
                paths.push(entry.path());
            }
        }
        paths.sort();
        let mut folder = Self { files: Vec::new(), skipped: Vec::new() };
        for path in paths {
            if folder.files.len() == count {
                break;
            }
            match decode(&path) {
                Ok(_) => folder.files.push(path),
                Err(error) => folder.skipped.push((path, error.to_string())),
            }
        }
        if folder.files.is_empty() {
            let skipped: Vec<String> = folder.skipped_files().collect();
            let tried = if skipped.is_empty() { "there are no files".into() } else { skipped.join("; ") };
            return Err(failed(format!("none can be used: {tried}")));
        }
        Ok(folder)
    }

    /// Digest of the contents of all usable files.
    ///
    /// # Errors
    /// When one of them cannot be read.
    pub(crate) fn digest(&self) -> Result<Digest, Failure> {
        let mut digests = Vec::new();
        for file in &self.files {
            digests.push(Digest::of(&std::fs::read(file)?).0);
        }
        Ok(Digest::of_parts(digests.iter().map(String::as_bytes)))
    }

    /// A line for each file that was skipped.
    pub(crate) fn skipped_files(&self) -> impl Iterator<Item = String> {
        self.skipped.iter().map(|(path, why)| format!("skipped {}: {why}", path.display()))
    }
}
