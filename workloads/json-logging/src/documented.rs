//! The document's "after": it collects 50 entries before it writes them to the disk, as one append.

use std::io;
use std::path::Path;

use crate::entries;
use crate::file::CountedFile;
use crate::logging::Meters;
use crate::record::Input;

pub(crate) fn log(path: &Path, meters: &Meters, input: &Input, index: u64) -> io::Result<()> {
    entries::in_batches(meters, input, index, |batch| {
        let mut lines = Vec::new();
        for entry in &*batch {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        // The document does not say that the file stays open, and its "before" opens it for each write.
        CountedFile::append(path, &meters.files)?.write(&lines)
    })
}
