//! Image files of an iteration.

use std::path::{Path, PathBuf};

use perfharness_contract::Failure;

use crate::pixels::decode;

/// Usable files of a folder, in the order of their names.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Files that can be decoded, at most as many as requested.
    pub(crate) files: Vec<PathBuf>,
    /// Files that cannot be decoded, with the reasons.
    pub(crate) skipped: Vec<(PathBuf, String)>,
}

impl Folder {
    /// Tries the files of a folder until `count` of them are decoded.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read or holds no usable image.
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
            return Err(failed(format!("no file can be used: {tried}")));
        }
        Ok(folder)
    }

    /// Returns a line for each of the first skipped files, and one line for the rest.
    pub(crate) fn skipped_files(&self) -> impl Iterator<Item = String> {
        /// Without a limit, a folder that holds no images would fill the screen.
        const NAMED: usize = 5;
        let named = self.skipped.iter().take(NAMED);
        let rest = self.skipped.len().saturating_sub(NAMED);
        named
            .map(|(path, why)| format!("skipped {}: {why}", path.display()))
            .chain((rest > 0).then(|| format!("skipped {rest} more files")))
    }

    /// Returns a note if there are fewer files than images.
    pub(crate) fn shortage(&self, images: usize) -> Option<String> {
        let files = self.files.len();
        let times = match (images / files, images % files) {
            (0, _) | (1, 0) => return None,
            (times, 0) => format!("{times} times"),
            (times, _) => format!("{times} or {} times", times + 1),
        };
        let each = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        Some(format!("{each} for {images} images: each is used {times} in a pass"))
    }
}
