//! The image files of an iteration.

use std::path::{Path, PathBuf};

use perfharness_contract::Failure;

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

    /// A line for each file that was skipped, and one for all that come behind the first few.
    pub(crate) fn skipped_files(&self) -> impl Iterator<Item = String> {
        /// A folder of something else would otherwise push everything else off the screen.
        const NAMED: usize = 5;
        let named = self.skipped.iter().take(NAMED);
        let rest = self.skipped.len().saturating_sub(NAMED);
        named
            .map(|(path, why)| format!("skipped {}: {why}", path.display()))
            .chain((rest > 0).then(|| format!("skipped {rest} more files")))
    }

    /// What it means that there are not as many files as images, where it is so.
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
