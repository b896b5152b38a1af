//! What the host can do at most: copies within memory, and writes into a file.

use std::convert::Infallible;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use perfharness_platform::clock;

/// Bytes that are copied at once: more than caches hold.
const COPIED: usize = 64 << 20;

/// Bytes of a write, and of the file before it is written from its beginning again.
const BLOCK: usize = 1 << 20;
const FILE: usize = 64 << 20;

/// Tries of a figure go on for this long: a processor that has just woken up, and memory that was just touched for the first
/// time, take a while to get as fast as they can be.
const TRYING: Duration = Duration::from_secs(1);

/// Bytes in a second that a copy reads and writes together, on one core: the best of many tries.
pub(super) fn copy() -> f64 {
    let from = vec![1u8; COPIED];
    let mut to = vec![0u8; COPIED];
    let seconds: Result<f64, Infallible> = shortest(|| {
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        Ok(())
    });
    let Ok(seconds) = seconds;
    2.0 * COPIED as f64 / seconds
}

/// Bytes in a second that reach a file in this folder, which the system may keep in its cache: no benchmark here waits for
/// the disk either.
///
/// # Errors
/// Where the file cannot be written.
pub(super) fn write(folder: &Path) -> std::io::Result<f64> {
    let mut file = tempfile::tempfile_in(folder)?;
    let block = vec![1u8; BLOCK];
    let seconds = shortest(|| {
        file.rewind()?;
        (0..FILE / BLOCK).try_for_each(|_| file.write_all(&block))
    })?;
    Ok(FILE as f64 / seconds)
}

/// The shortest time in s that a try takes.
fn shortest<E>(mut each: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let begin = clock::now();
    let mut best = f64::INFINITY;
    while begin.elapsed() < TRYING || best.is_infinite() {
        let start = clock::now();
        each()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}
