//! Division of work into pieces that an adapter can bind. A pure function from limits to ranges.

use std::ops::Range;

use crate::GpuError;

/// Divides `count` elements of `bytes_each` into the largest ranges of elements that take at most `limit` bytes each
/// and start at a multiple of `alignment` bytes.
///
/// # Errors
/// Returns [`GpuError::Lacks`] if not even the smallest aligned piece fits.
pub fn chunks(count: u64, bytes_each: u64, limit: u64, alignment: u64) -> Result<Vec<Range<u64>>, GpuError> {
    let bytes_each = bytes_each.max(1);
    // The smallest number of elements whose bytes are a multiple of the alignment.
    let step = alignment.max(1) / gcd(alignment.max(1), bytes_each);
    let fitting = limit / bytes_each;
    let per_chunk = if fitting >= count { count } else { fitting / step * step };
    if count == 0 {
        return Ok(Vec::new());
    }
    if per_chunk == 0 {
        return Err(GpuError::lacks(
            "this adapter",
            format!("a binding of {} bytes: its limit is {limit}", step * bytes_each),
            "choose a smaller case or another adapter with --device",
        ));
    }
    Ok((0..count.div_ceil(per_chunk)).map(|i| i * per_chunk..((i + 1) * per_chunk).min(count)).collect())
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_one_chunk_whatever_its_alignment() {
        assert_eq!(chunks(7, 12, 84, 256).unwrap(), vec![0..7]);
        assert_eq!(chunks(0, 12, 84, 256).unwrap(), []);
    }

    #[test]
    fn chunks_cover_everything_once_within_limit_and_alignment() {
        for (count, each, limit, alignment) in [
            (1000, 4, 1024, 256),
            (1001, 12, 4096, 256),
            (65, 1, 32, 16),
            (33_554_433, 4, 16 << 20, 256),
            (10, 300, 900, 4),
        ] {
            let list = chunks(count, each, limit, alignment).unwrap();
            assert_eq!(list[0].start, 0);
            assert_eq!(list[list.len() - 1].end, count);
            assert!(list.windows(2).all(|pair| pair[0].end == pair[1].start), "{list:?}");
            for chunk in &list {
                assert!((chunk.end - chunk.start) * each <= limit);
                assert_eq!(chunk.start * each % alignment, 0);
            }
        }
    }

    #[test]
    fn chunks_are_as_large_as_they_can_be() {
        assert_eq!(chunks(1000, 4, 1024, 256).unwrap().len(), 4);
        // With 12 bytes and an alignment of 256, only every 64th element may start a chunk.
        assert_eq!(chunks(200, 12, 1600, 256).unwrap(), [0..128, 128..200]);
    }

    #[test]
    fn an_element_that_cannot_be_bound_is_an_absence() {
        assert!(matches!(chunks(10, 1000, 999, 256), Err(GpuError::Lacks { .. })));
        assert!(matches!(chunks(100, 12, 700, 256), Err(GpuError::Lacks { .. })), "64 elements are needed");
    }
}
