//! Changes of a quantity over time, in preallocated room.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// A time and a value. Whoever holds the log writes and reads them together.
#[derive(Debug)]
struct Point {
    at_ns: AtomicU64,
    value: AtomicI64,
}

impl Point {
    const fn new() -> Self {
        Self { at_ns: AtomicU64::new(0), value: AtomicI64::new(0) }
    }

    fn get(&self) -> (u64, i64) {
        (self.at_ns.load(Ordering::Relaxed), self.value.load(Ordering::Relaxed))
    }

    fn set(&self, (at_ns, value): (u64, i64)) {
        self.at_ns.store(at_ns, Ordering::Relaxed);
        self.value.store(value, Ordering::Relaxed);
    }
}

/// Times and values of a quantity in `N` points, with `N` even. The log never allocates, so that an allocator can use
/// it, and can be used from any thread.
///
/// If there are more changes than points, two neighbours are merged into the higher one. The log therefore always has
/// the peak and covers the whole stretch, with decreasing resolution.
#[derive(Debug)]
pub struct PointLog<const N: usize> {
    busy: AtomicBool,
    length: AtomicUsize,
    /// Number of changes per point, and the number that the last point already stands for.
    per_point: AtomicU64,
    in_last: AtomicU64,
    missed: AtomicU64,
    points: [Point; N],
}

impl<const N: usize> Default for PointLog<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> PointLog<N> {
    /// Number of times that a thread checks whether another one has finished. The other thread may be off the CPU.
    const PATIENCE: u32 = 200;

    /// Creates a log without points.
    pub const fn new() -> Self {
        const { assert!(N >= 2 && N.is_multiple_of(2), "pairs become one") };
        Self {
            busy: AtomicBool::new(false),
            length: AtomicUsize::new(0),
            per_point: AtomicU64::new(1),
            in_last: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            points: [const { Point::new() }; N],
        }
    }

    /// Removes all points. No other thread may use the log meanwhile.
    pub fn clear(&self) {
        self.length.store(0, Ordering::Relaxed);
        self.per_point.store(1, Ordering::Relaxed);
        self.in_last.store(0, Ordering::Relaxed);
        self.missed.store(0, Ordering::Relaxed);
    }

    /// Records that the quantity has this value from a time in ns on.
    pub fn push(&self, at_ns: u64, value: i64) {
        for _ in 0..Self::PATIENCE {
            if self.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                self.add((at_ns, value));
                self.busy.store(false, Ordering::Release);
                return;
            }
            hint::spin_loop();
        }
        self.missed.fetch_add(1, Ordering::Relaxed);
    }

    fn add(&self, point: (u64, i64)) {
        let length = self.length.load(Ordering::Relaxed);
        let in_last = self.in_last.load(Ordering::Relaxed);
        if length > 0 && in_last < self.per_point.load(Ordering::Relaxed) {
            let last = &self.points[length - 1];
            last.set(higher(last.get(), point));
            self.in_last.store(in_last + 1, Ordering::Relaxed);
            return;
        }
        let next = if length == N { self.halve() } else { length };
        self.points[next].set(point);
        self.length.store(next + 1, Ordering::Relaxed);
        self.in_last.store(1, Ordering::Relaxed);
    }

    /// Merges each two points; returns how many are left.
    fn halve(&self) -> usize {
        for at in 0..N / 2 {
            self.points[at].set(higher(self.points[2 * at].get(), self.points[2 * at + 1].get()));
        }
        self.per_point.fetch_add(self.per_point.load(Ordering::Relaxed), Ordering::Relaxed);
        N / 2
    }

    /// Returns the points in the order of time.
    pub fn points(&self) -> Vec<(u64, i64)> {
        let length = self.length.load(Ordering::Acquire);
        let mut points: Vec<(u64, i64)> = self.points[..length].iter().map(Point::get).collect();
        // Threads may have read the clock in another order than they reached this log.
        points.sort_by_key(|(at_ns, _)| *at_ns);
        points
    }

    /// Returns the largest number of changes that a point stands for.
    pub fn changes_per_point(&self) -> u64 {
        self.per_point.load(Ordering::Relaxed)
    }

    /// Returns the number of changes that were lost because another thread was busy for too long.
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

fn higher(first: (u64, i64), second: (u64, i64)) -> (u64, i64) {
    if second.1 > first.1 { second } else { first }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn as_many_changes_as_points_are_kept_as_they_are() {
        let log = PointLog::<4>::new();
        assert_eq!(log.points(), []);
        for (at, value) in [(10, 0), (20, 5), (30, -2), (40, 1)] {
            log.push(at, value);
        }
        assert_eq!(log.points(), [(10, 0), (20, 5), (30, -2), (40, 1)]);
        assert_eq!((log.changes_per_point(), log.missed()), (1, 0));
    }

    #[test]
    fn more_changes_are_thinned_and_the_peak_stays() {
        for peak_at in 0..100 {
            let log = PointLog::<8>::new();
            for at in 0..100 {
                log.push(at, if at == peak_at { 1_000 } else { (at % 7) as i64 });
            }
            let points = log.points();
            assert!(points.len() <= 8 && points.len() > 4, "{points:?}");
            assert_eq!(log.changes_per_point(), 16);
            assert!(points.contains(&(peak_at, 1_000)), "{peak_at}: {points:?}");
            assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0), "{points:?}");
            // The whole stretch is covered.
            assert!(points[0].0 < 16 && points[points.len() - 1].0 >= 84, "{points:?}");
        }
    }

    #[test]
    fn a_cleared_log_is_like_a_new_one() {
        let log = PointLog::<2>::new();
        (0..9).for_each(|at| log.push(at, 1));
        log.clear();
        log.push(5, 7);
        assert_eq!((log.points(), log.changes_per_point()), (vec![(5, 7)], 1));
    }

    #[test]
    fn threads_lose_nothing_that_is_not_counted() {
        let log = PointLog::<4096>::new();
        thread::scope(|scope| {
            for thread in 0..4_u64 {
                let log = &log;
                scope.spawn(move || (0..500).for_each(|at| log.push(at * 4 + thread, at as i64)));
            }
        });
        assert_eq!(log.points().len() as u64 + log.missed(), 2_000);
    }
}
