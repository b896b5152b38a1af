//! A global allocator that counts during a metered sample and records changes over time during a traced sample.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use perfharness_platform::clock;

use super::{Growth, PointLog};
use crate::protocol::{Trace, TraceCounter};
use crate::{Meter, MeterDef, Reading, standard};

/// One set of totals is enough, because a process has one global allocator.
static INSTALLED: AtomicBool = AtomicBool::new(false);
static ON: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
/// Live bytes relative to the start of the stretch; negative if older memory was freed.
static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
/// Whether changes of the live bytes are recorded with their time.
static TRACING: AtomicBool = AtomicBool::new(false);
/// The recorded changes. The room is static, because an allocator cannot allocate.
static POINTS: PointLog<POINTS_KEPT> = PointLog::new();
const POINTS_KEPT: usize = 8192;

/// Name of the live bytes in a trace.
const HEAP_LIVE: &str = "heap-live";
const NOT_INSTALLED: &str =
    "this worker does not use the counting allocator; add `counting_allocator!()` next to its main";

/// The system allocator with counts of calls, bytes, and live and peak growth. Outside metered samples it adds one
/// relaxed load and a branch to each call. Install it with [`counting_allocator!`](crate::counting_allocator).
#[derive(Debug, Default)]
pub struct CountingAllocator;

impl CountingAllocator {
    /// Whether this program uses the counting allocator.
    pub fn installed() -> bool {
        INSTALLED.load(Ordering::Relaxed)
    }
}

/// Makes the counting allocator the global allocator of this program. Call it once, next to `main`.
#[macro_export]
macro_rules! counting_allocator {
    () => {
        #[global_allocator]
        static PERFHARNESS_ALLOCATOR: $crate::CountingAllocator = $crate::CountingAllocator;
    };
}

#[cold]
fn grew(size: usize, live: i64) {
    CALLS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(size as u64, Ordering::Relaxed);
    let now = LIVE.fetch_add(live, Ordering::Relaxed) + live;
    PEAK.fetch_max(now, Ordering::Relaxed);
    trace(now);
}

#[cold]
fn shrank(size: usize) {
    let size = size as i64;
    let now = LIVE.fetch_sub(size, Ordering::Relaxed) - size;
    trace(now);
}

fn trace(live: i64) {
    if TRACING.load(Ordering::Relaxed) {
        POINTS.push(clock::monotonic_ns(), live);
    }
}

#[expect(unsafe_code, reason = "a global allocator is an unsafe trait")]
// SAFETY: every call goes to the system allocator with unchanged arguments; counting touches only atomics and never
// allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // The first allocation of the runtime, before main, records that this allocator is in use.
        if !INSTALLED.load(Ordering::Relaxed) {
            INSTALLED.store(true, Ordering::Relaxed);
        }
        if ON.load(Ordering::Relaxed) {
            grew(layout.size(), layout.size() as i64);
        }
        // SAFETY: the caller's obligations are passed on unchanged.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if ON.load(Ordering::Relaxed) {
            grew(layout.size(), layout.size() as i64);
        }
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if ON.load(Ordering::Relaxed) {
            grew(new_size, new_size as i64 - layout.size() as i64);
        }
        // SAFETY: as in `alloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if ON.load(Ordering::Relaxed) {
            shrank(layout.size());
        }
        // SAFETY: as in `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Reads the counting allocator over a stretch; gives typed absences in a program that did not install it.
#[derive(Debug, Default)]
pub(crate) struct HeapMeter {
    growth: Growth,
}

impl HeapMeter {
    pub(crate) fn definition() -> MeterDef {
        MeterDef::new("heap", 1, standard::heap_metrics())
    }
}

impl Meter for HeapMeter {
    fn start(&mut self) {
        CALLS.store(0, Ordering::Relaxed);
        BYTES.store(0, Ordering::Relaxed);
        LIVE.store(0, Ordering::Relaxed);
        PEAK.store(0, Ordering::Relaxed);
        self.growth = Growth::default();
        ON.store(true, Ordering::Relaxed);
    }

    fn settle(&mut self, scale: f64) {
        self.growth.settle(LIVE.load(Ordering::Relaxed), scale);
    }

    fn stop(&mut self, readings: &mut BTreeMap<String, Reading>) {
        ON.store(false, Ordering::Relaxed);
        let absent = || Reading::Absent { absent: NOT_INSTALLED.into() };
        let figures: [(&str, Reading); 4] = [
            (standard::HEAP_ALLOCATIONS, CALLS.load(Ordering::Relaxed).into()),
            (standard::HEAP_BYTES, BYTES.load(Ordering::Relaxed).into()),
            (standard::HEAP_PEAK, (PEAK.load(Ordering::Relaxed).max(0) as u64).into()),
            (standard::HEAP_GROWTH, self.growth.reading(LIVE.load(Ordering::Relaxed))),
        ];
        for (metric, value) in figures {
            let reading = if CountingAllocator::installed() { value } else { absent() };
            readings.insert(metric.to_owned(), reading);
        }
    }

    fn start_trace(&mut self) {
        POINTS.clear();
        POINTS.push(clock::monotonic_ns(), 0);
        TRACING.store(true, Ordering::Relaxed);
        self.start();
    }

    fn stop_trace(&mut self, trace: &mut Trace) {
        ON.store(false, Ordering::Relaxed);
        TRACING.store(false, Ordering::Relaxed);
        if !CountingAllocator::installed() {
            trace.absent.insert(HEAP_LIVE.into(), NOT_INSTALLED.into());
            return;
        }
        let mut points = POINTS.points();
        points.push((clock::monotonic_ns(), LIVE.load(Ordering::Relaxed)));
        trace.dropped += POINTS.missed();
        trace.counters.push(TraceCounter {
            name: HEAP_LIVE.into(),
            unit: "bytes".into(),
            relative: true,
            changes_per_point: POINTS.changes_per_point(),
            points,
        });
    }
}
