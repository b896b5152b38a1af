//! Opening files that may be anything.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file for reading without waiting for anybody: a pipe without a writer would keep whoever opens it waiting for
/// one, and a terminal would become that of this process. What was opened may still be no regular file.
///
/// Unix: `O_NONBLOCK` and `O_NOCTTY`, which regular files do not know. Windows: as usual.
///
/// # Errors
///
/// Those of opening the file.
pub fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path)
}
