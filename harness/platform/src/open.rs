//! Opens files of any kind.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for reading without blocking: opening a pipe without a writer would wait for one, and a terminal would
/// become that of this process. The opened file may still not be a regular file.
///
/// Unix: `O_NONBLOCK` and `O_NOCTTY`, which have no effect on regular files. Windows: as usual.
///
/// # Errors
///
/// Returns the errors of opening the file.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}
