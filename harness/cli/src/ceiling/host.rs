//! What the host can do at most: copies within memory, and writes into a file.

use std::io::{Seek as _, Write as _};
use std::path::Path;

use perfharness_platform::clock;

/// Bytes that are copied at once: more than caches hold.
const COPIED: usize = 64 << 20;

/// Bytes of a write, and of the file before it is written from its beginning again.
const BLOCK: usize = 1 << 20;
const FILE: usize = 64 << 20;

const TRIES: usize = 7;

/// Bytes in a second that a copy reads and writes together, on one core: the best of several tries.
pub(super) fn copy() -> f64 {
    let from = vec![1u8; COPIED];
    let mut to = vec![0u8; COPIED];
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let start = clock::now();
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        best = best.min(start.elapsed().as_secs_f64());
    }
    2.0 * COPIED as f64 / best
}

/// Bytes in a second that reach a file in this folder, which the system may keep in its cache: no benchmark here waits for
/// the disk either.
///
/// # Errors
/// Where the file cannot be written.
pub(super) fn write(folder: &Path) -> std::io::Result<f64> {
    let mut file = tempfile::tempfile_in(folder)?;
    let block = vec![1u8; BLOCK];
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        file.rewind()?;
        let start = clock::now();
        for _ in 0..FILE / BLOCK {
            file.write_all(&block)?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(FILE as f64 / best)
}
