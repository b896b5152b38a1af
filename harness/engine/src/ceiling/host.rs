//! Ceilings of the host: copies within memory, and writes into a file.

use std::convert::Infallible;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::time::Duration;

use perfharness_platform::clock;

/// Bytes of a copy: more than caches hold.
const COPIED: usize = 64 << 20;

/// Bytes of one write, and of the file before it is rewound.
const BLOCK: usize = 1 << 20;
const FILE: usize = 64 << 20;

/// Time for the tries of a figure: a processor that has just woken up, and memory that was just touched for the first time,
/// take a while to reach their full speed.
const TRYING: Duration = Duration::from_secs(1);

/// Returns the bytes per second that a copy on one core reads and writes together: the best of many tries.
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

/// Returns the bytes per second that are written to a file in `folder`. The system may keep them in its cache: no benchmark
/// waits for the disk either.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write(folder: &Path) -> std::io::Result<f64> {
    let mut file = tempfile::tempfile_in(folder)?;
    let block = vec![1u8; BLOCK];
    let seconds = shortest(|| {
        file.rewind()?;
        (0..FILE / BLOCK).try_for_each(|_| file.write_all(&block))
    })?;
    Ok(FILE as f64 / seconds)
}

/// Returns the shortest time of a try, in s.
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
