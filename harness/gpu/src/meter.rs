//! Readings and traces of the device in metered and traced samples.

use std::collections::BTreeMap;

use perfharness_contract::protocol::{Kernels, Trace, TrackClock};
use perfharness_contract::{Growth, Meter, MeterDef, Number, Reading};

use crate::clock::{Moment, TickClock};
use crate::ledger::Counts;
use crate::memory::fragmentation;
use crate::queries::moments;
use crate::spans::{SpanTally, nanoseconds};
use crate::trace::{GPU, TraceLog};
use crate::{Gpu, metric};

/// Number of readings of both clocks before and after a traced sample.
const MOMENTS: u32 = 8;
/// Number of labels that are reported for a peak.
const HOLDERS: usize = 5;

/// Returns the definition of the meter that a device attaches. A workload that opens a device declares it.
pub fn gpu_meter() -> MeterDef {
    MeterDef::new("gpu", 1, metric::gpu_metrics())
}

/// Meters one device from the start to the end of a sample.
pub(crate) struct GpuMeter {
    gpu: Gpu,
    growth: Growth,
    /// Moments of the device's clock before a traced sample.
    moments: Vec<Moment>,
}

impl GpuMeter {
    pub(crate) fn new(gpu: Gpu) -> Self {
        Self { gpu, growth: Growth::default(), moments: Vec::new() }
    }

    /// Returns everything that was read back. The ledger is off by now, so this wait is not counted.
    fn tally(&self) -> SpanTally {
        let inner = &self.gpu.inner;
        let wait = || self.gpu.wait_for(None, "the meter").is_ok();
        inner.ring.borrow_mut().finish(&inner.device, &inner.queue, wait)
    }

    fn moments(&self) -> Vec<Moment> {
        let inner = &self.gpu.inner;
        if !inner.features.contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Vec::new();
        }
        let inside_encoders = inner.features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
        // The ledger is off, so these waits are not counted.
        let wait = || self.gpu.wait_for(None, "the clock").is_ok();
        moments(&inner.device, &inner.queue, inside_encoders, MOMENTS, wait)
    }

    /// Adds the spans of device time whose timestamps were read back.
    fn add_device_spans(&self, log: &TraceLog, tally: &SpanTally, moments: &[Moment], trace: &mut Trace) {
        let Some(first) = tally.found.iter().map(|found| found.span.begin).min() else { return };
        let period = self.gpu.queue().get_timestamp_period();
        let placed = TickClock::fit(moments, period);
        let place = match &placed {
            Some(clock) => TrackClock { uncertainty_ns: Some(clock.uncertainty_ns), own_clock: false },
            None => TrackClock { uncertainty_ns: None, own_clock: true },
        };
        if place.own_clock {
            let adapter = &self.gpu.facts().name;
            let why = format!(
                "{adapter} did not return its calibration timestamps, so its spans have their own clock"
            );
            trace.absent.insert(format!("{GPU}-clock"), why);
        }
        let clock = placed.unwrap_or_else(|| TickClock::own(first, period));
        let spans = tally.found.iter().filter_map(|found| log.device_span(found.mark, found.span, &clock));
        trace.spans.extend(spans);
        trace.tracks.insert(GPU.into(), place);
    }
}

impl Meter for GpuMeter {
    fn start(&mut self) {
        let inner = &self.gpu.inner;
        if inner.features.contains(wgpu::Features::TIMESTAMP_QUERY) {
            inner.ring.borrow_mut().prepare(&inner.device);
        }
        inner.flights.follow(true);
        inner.memory.borrow_mut().restart();
        inner.ledger.start();
        self.growth = Growth::default();
    }

    fn settle(&mut self, scale: f64) {
        self.growth.settle(self.gpu.live_bytes() as i64, scale);
    }

    fn stop(&mut self, readings: &mut BTreeMap<String, Reading>) {
        let inner = &self.gpu.inner;
        let (wall, counts, host_wait) = inner.ledger.stop();
        inner.flights.follow(false);
        let tally = self.tally();
        let mut put = |id: &str, reading: Reading| readings.insert(id.to_owned(), reading);
        for (id, count) in exact(&counts) {
            put(id, count.into());
        }
        put(metric::HOST_WAIT, (host_wait.as_nanos() as u64).into());
        let (busy, copies) = device_times(&self.gpu, &counts, &tally);
        put(metric::GPU_BUSY, value(&busy));
        put(metric::COPY_SHARE, value(&share_of(&copies, &busy)));
        put(metric::GPU_BUSY_SHARE, value(&busy.map(|ns| ns / (wall.as_nanos() as f64).max(1.0))));
        put(metric::COPY_TIME, value(&copies));
        put(metric::DEVICE_PEAK, self.gpu.peak_bytes().into());
        put(metric::DEVICE_LIVE, self.gpu.live_bytes().into());
        put(metric::DEVICE_GROWTH, self.growth.reading(self.gpu.live_bytes() as i64));
        let (reserved, fragmented) = reserved(&self.gpu);
        put(metric::DEVICE_RESERVED, value(&reserved));
        put(metric::FRAGMENTATION, value(&fragmented));
    }

    fn kernels(&mut self) -> Option<Kernels> {
        Some(self.gpu.inner.ledger.kernels())
    }

    fn start_trace(&mut self) {
        self.moments = self.moments();
        self.start();
        let inner = &self.gpu.inner;
        inner.ring.borrow().prepare_trace();
        inner.memory.borrow_mut().start_trace();
        *inner.trace.borrow_mut() = Some(TraceLog::new());
    }

    fn stop_trace(&mut self, trace: &mut Trace) {
        let inner = &self.gpu.inner;
        let (_, counts, _) = inner.ledger.stop();
        inner.flights.follow(false);
        inner.memory.borrow_mut().stop_trace(trace);
        let Some(log) = inner.trace.borrow_mut().take() else { return };
        let tally = self.tally();
        let mut moments = std::mem::take(&mut self.moments);
        moments.extend(self.moments());
        trace.facts.insert("adapter".into(), self.gpu.facts().name.clone());
        trace.dropped += log.dropped;
        trace.spans.extend(log.waits());
        self.add_device_spans(&log, &tally, &moments, trace);
        let (busy, copies) = device_times(&self.gpu, &counts, &tally);
        for (what, time) in [(metric::GPU_BUSY, busy), (metric::COPY_TIME, copies)] {
            if let Err(reason) = time {
                trace.absent.insert(what.into(), reason);
            }
        }
        let holders = self.gpu.peak_buffers().into_iter().take(HOLDERS);
        trace.holders.extend(holders);
    }
}

/// A quantity, or the reason why there is none.
type Quantity = Result<f64, String>;

fn value(quantity: &Quantity) -> Reading {
    match quantity {
        Ok(value) => Reading::Value(Number(*value)),
        Err(reason) => Reading::Absent { absent: reason.clone() },
    }
}

fn exact(counts: &Counts) -> [(&'static str, u64); 12] {
    [
        (metric::UPLOAD_BYTES, counts.upload_bytes),
        (metric::UPLOAD_COPIES, counts.upload_copies),
        (metric::DOWNLOAD_BYTES, counts.download_bytes),
        (metric::DOWNLOAD_COPIES, counts.download_copies),
        (metric::DEVICE_COPY_BYTES, counts.device_copy_bytes),
        (metric::DEVICE_COPIES, counts.device_copies),
        (metric::WRITE_BUFFER_BYTES, counts.write_buffer_bytes),
        (metric::WRITE_BUFFER_CALLS, counts.write_buffer_calls),
        (metric::SYNCS, counts.syncs),
        (metric::SUBMITS, counts.submits),
        (metric::DISPATCHES, counts.dispatches),
        (metric::BUFFER_CREATES, counts.buffer_creates),
    ]
}

/// Returns the busy time and the copy time of the device, if all spans that belong to them were read back.
fn device_times(gpu: &Gpu, counts: &Counts, tally: &SpanTally) -> (Quantity, Quantity) {
    let adapter = &gpu.facts().name;
    let features = gpu.inner.features;
    let unable = |what: &str| format!("{adapter} has no timestamp queries {what}");
    let early = |n: u64| format!("{n} passes or copies were recorded before the sample that they ran in");
    let in_passes = features.contains(wgpu::Features::TIMESTAMP_QUERY);
    let in_encoders = features.contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
    let came_back = match tally.missing {
        0 => Ok(()),
        missing => Err(format!("{missing} of {} spans did not come back from {adapter}", tally.expected())),
    };
    let copies = match counts.untimed_copies {
        _ if !in_encoders => Err(unable("around copies")),
        0 => Ok(()),
        n => Err(early(n)),
    };
    let passes = match (counts.untimed_passes, counts.untimed_copies) {
        _ if !in_passes => Err(unable("at all")),
        (0, 0) => Ok(()),
        (0, _) if !in_encoders => Err(unable("around copies, which this sample has")),
        (passes, copies) => Err(early(passes + copies)),
    };
    let period = gpu.queue().get_timestamp_period();
    let busy = passes.and_then(|()| came_back.clone()).map(|()| nanoseconds(tally.busy_ticks(), period));
    (busy, copies.and(came_back).map(|()| nanoseconds(tally.copy_ticks(), period)))
}

/// Returns a part of the busy time as a share of it.
fn share_of(part: &Quantity, busy: &Quantity) -> Quantity {
    let (part, busy) = (part.clone()?, busy.clone()?);
    if busy > 0.0 { Ok(part / busy) } else { Err("the device had nothing to do".to_owned()) }
}

/// Returns the bytes that wgpu's allocator holds, and their unused share.
fn reserved(gpu: &Gpu) -> (Quantity, Quantity) {
    let Some(report) = gpu.device().generate_allocator_report() else {
        let absent = || Err(format!("wgpu reports no reserved memory on {}", gpu.facts().backend));
        return (absent(), absent());
    };
    let fragmented = fragmentation(report.total_allocated_bytes, report.total_reserved_bytes);
    (Ok(report.total_reserved_bytes as f64), fragmented.ok_or_else(|| "nothing is reserved".to_owned()))
}
