//! Timestamp queries, whose slots the device fills and which are read back without waiting.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use perfharness_platform::clock;

use crate::clock::Moment;
use crate::spans::{Found, SpanKind, SpanTally};
use crate::trace::NO_MARK;

/// Number of queries in a set; each span takes two.
const QUERIES: u32 = wgpu::QUERY_SET_MAX_QUERIES;
const BYTES: u64 = QUERIES as u64 * wgpu::QUERY_SIZE as u64;

const FILLING: u8 = 0;
const IN_FLIGHT: u8 = 1;
const MAPPED: u8 = 2;
const FAILED: u8 = 3;

/// A query set with the two buffers through which its values are read back.
#[derive(Debug)]
struct Set {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readback: wgpu::Buffer,
    used: Cell<u32>,
    /// Number of slots whose commands have not been submitted yet.
    open: Cell<u32>,
    /// Submitted spans, by their first query, all of which must be read back.
    expected: RefCell<Vec<(SpanKind, u32)>>,
    /// Marks of the spans in a trace, for each pair of queries; empty as long as nothing was traced. They are separate,
    /// so that metered samples take no additional memory for them.
    marks: RefCell<Vec<u32>>,
    state: Arc<AtomicU8>,
}

impl Set {
    fn new(device: &wgpu::Device) -> Self {
        let buffer = |label, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("meter"),
                ty: wgpu::QueryType::Timestamp,
                count: QUERIES,
            }),
            resolved: buffer("meter", wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            readback: buffer("meter readback", wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ),
            used: Cell::new(0),
            open: Cell::new(0),
            // Room for all, because memory for metering must not look like growth of the hot path.
            expected: RefCell::new(Vec::with_capacity((QUERIES / 2) as usize)),
            marks: RefCell::default(),
            state: Arc::default(),
        }
    }

    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    fn is_full(&self) -> bool {
        self.used.get() + 2 > QUERIES
    }

    fn make_room_for_marks(&self) {
        self.marks.borrow_mut().resize(QUERIES as usize / 2, NO_MARK);
    }

    fn set_mark(&self, first: u32, mark: u32) {
        if mark != NO_MARK {
            self.make_room_for_marks();
        }
        if let Some(place) = self.marks.borrow_mut().get_mut(first as usize / 2) {
            *place = mark;
        }
    }

    fn mark(&self, first: u32) -> u32 {
        self.marks.borrow().get(first as usize / 2).copied().unwrap_or(NO_MARK)
    }

    /// Starts to read the values back.
    fn flush(&self, device: &wgpu::Device, queue: &wgpu::Queue) {
        let used = self.used.get();
        let mut encoder = meter_encoder(device);
        encoder.resolve_query_set(&self.queries, 0..used, &self.resolved, 0);
        let bytes = u64::from(used * wgpu::QUERY_SIZE);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.readback, 0, bytes);
        queue.submit([encoder.finish()]);
        self.state.store(IN_FLIGHT, Ordering::Release);
        let state = Arc::clone(&self.state);
        self.readback.map_async(wgpu::MapMode::Read, .., move |mapped| {
            state.store(if mapped.is_ok() { MAPPED } else { FAILED }, Ordering::Release);
        });
    }

    /// Takes the values, and prepares the set for the next ones.
    fn collect(&self, tally: &mut SpanTally) {
        let mut expected = self.expected.borrow_mut();
        let view = (self.state() == MAPPED).then(|| self.readback.get_mapped_range(..).ok()).flatten();
        if let Some(view) = &view {
            for (kind, first) in expected.iter().copied() {
                let at = first as usize * wgpu::QUERY_SIZE as usize;
                let tick =
                    |at| bytemuck::pod_read_unaligned::<u64>(&view[at..at + wgpu::QUERY_SIZE as usize]);
                tally.add(kind, self.mark(first), tick(at), tick(at + wgpu::QUERY_SIZE as usize));
            }
        } else {
            tally.missing += expected.len() as u64;
        }
        expected.clear();
        drop(view);
        if self.state() == MAPPED {
            self.readback.unmap();
        }
        self.used.set(0);
        self.state.store(FILLING, Ordering::Release);
    }
}

/// The two queries of one span. If it is dropped without a submit, the span is not expected.
#[derive(Debug)]
pub(crate) struct Slot {
    set: Rc<Set>,
    kind: SpanKind,
    first: u32,
}

impl Slot {
    pub(crate) fn begin(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.write_timestamp(&self.set.queries, self.first);
    }

    pub(crate) fn end(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.write_timestamp(&self.set.queries, self.first + 1);
    }

    pub(crate) fn around_pass(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.set.queries,
            beginning_of_pass_write_index: Some(self.first),
            end_of_pass_write_index: Some(self.first + 1),
        }
    }

    /// Takes a pair of timestamps around no work. Not every device supports timestamps outside passes.
    fn around_nothing(&self, encoder: &mut wgpu::CommandEncoder, inside_encoders: bool) {
        if inside_encoders {
            self.begin(encoder);
            self.end(encoder);
        } else {
            let timestamp_writes = Some(self.around_pass());
            let descriptor = wgpu::ComputePassDescriptor { label: Some("meter"), timestamp_writes };
            drop(encoder.begin_compute_pass(&descriptor));
        }
    }

    /// Marks the commands that fill the slot as submitted.
    pub(crate) fn submitted(self) {
        self.set.expected.borrow_mut().push((self.kind, self.first));
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.set.open.set(self.set.open.get() - 1);
    }
}

/// Query sets in rotation: one is filled while others are read back. If all are in use, another one is created, because
/// waiting would be measured.
#[derive(Debug, Default)]
pub(crate) struct QueryRing {
    current: Option<Rc<Set>>,
    others: Vec<Rc<Set>>,
    tally: SpanTally,
    /// Number of spans of the previous stretch.
    spans: usize,
}

impl QueryRing {
    /// Creates the first set, so that no sample has to.
    pub(crate) fn prepare(&mut self, device: &wgpu::Device) {
        self.tally = SpanTally::with_room(2 * self.spans);
        self.current.get_or_insert_with(|| Rc::new(Set::new(device)));
    }

    /// Reserves the room that a traced sample needs in addition.
    pub(crate) fn prepare_trace(&self) {
        if let Some(set) = &self.current {
            set.make_room_for_marks();
        }
    }

    /// Returns the next slot, whose span has the mark `mark` in a trace.
    pub(crate) fn reserve(&mut self, device: &wgpu::Device, kind: SpanKind, mark: u32) -> Slot {
        let set = match self.current.take() {
            Some(set) if !set.is_full() => set,
            full => {
                self.others.extend(full);
                self.vacant().unwrap_or_else(|| Rc::new(Set::new(device)))
            }
        };
        let first = set.used.get();
        set.used.set(first + 2);
        set.open.set(set.open.get() + 1);
        set.set_mark(first, mark);
        self.current = Some(Rc::clone(&set));
        Slot { set, kind, first }
    }

    /// Returns a set whose values have been read back, emptied.
    fn vacant(&mut self) -> Option<Rc<Set>> {
        let at = self.others.iter().position(|set| matches!(set.state(), MAPPED | FAILED))?;
        let set = self.others.swap_remove(at);
        set.collect(&mut self.tally);
        Some(set)
    }

    /// Starts to read back sets that are full and completely submitted. Called after every submit.
    pub(crate) fn flush_full(&self, device: &wgpu::Device, queue: &wgpu::Queue) {
        for set in self.others.iter().chain(&self.current) {
            if set.state() == FILLING && set.is_full() && set.open.get() == 0 {
                set.flush(device, queue);
            }
        }
    }

    /// Returns everything that was read back, after `wait` has waited for the device.
    pub(crate) fn finish(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        wait: impl FnOnce() -> bool,
    ) -> SpanTally {
        let sets: Vec<Rc<Set>> = self.others.drain(..).chain(self.current.take()).collect();
        for set in sets.iter().filter(|set| set.state() == FILLING && set.used.get() > 0) {
            set.flush(device, queue);
        }
        let waited = wait();
        for set in &sets {
            if !waited && set.state() == IN_FLIGHT {
                self.tally.missing += set.expected.take().len() as u64;
            } else {
                set.collect(&mut self.tally);
            }
        }
        // A set that unsubmitted commands still refer to, or that was never read back, is not used again.
        self.others = sets.into_iter().filter(|set| set.open.get() == 0 && set.state() == FILLING).collect();
        self.current = self.others.pop();
        self.spans = self.tally.expected() as usize;
        std::mem::take(&mut self.tally)
    }
}

fn meter_encoder(device: &wgpu::Device) -> wgpu::CommandEncoder {
    device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("meter") })
}

/// Makes an idle device take timestamps, one pair after the other, and reads the host's clock around each. Pairs that
/// are not read back are left out.
pub(crate) fn moments(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    inside_encoders: bool,
    count: u32,
    wait: impl Fn() -> bool,
) -> Vec<Moment> {
    let mut ring = QueryRing::default();
    let mut host = Vec::new();
    for mark in 0..count {
        let slot = ring.reserve(device, SpanKind::Clear, mark);
        let mut encoder = meter_encoder(device);
        slot.around_nothing(&mut encoder, inside_encoders);
        let commands = encoder.finish();
        let before_ns = clock::monotonic_ns();
        queue.submit([commands]);
        let waited = wait();
        let after_ns = clock::monotonic_ns();
        slot.submitted();
        if !waited {
            break;
        }
        host.push((before_ns, after_ns));
    }
    let tally = ring.finish(device, queue, wait);
    let moment = |found: &Found| {
        let (before_ns, after_ns) = *host.get(found.mark as usize)?;
        Some(Moment { before_ns, begin: found.span.begin, end: found.span.end, after_ns })
    };
    tally.found.iter().filter_map(moment).collect()
}
