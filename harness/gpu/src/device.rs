//! The device.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use perfharness_contract::{Meter, Setup};
use perfharness_platform::clock;

use crate::adapter::{feature_names, find, wanted_features};
use crate::chunk::chunks;
use crate::error::Faults;
use crate::flights::Flights;
use crate::ledger::{Counts, Ledger};
use crate::memory::MemoryLedger;
use crate::meter::GpuMeter;
use crate::queries::QueryRing;
use crate::trace::TraceLog;
use crate::{AdapterFacts, Commands, GpuError, PeakBuffers};

/// Restrictions of a device, so that tests cover adapters that are not available.
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// Disables timestamp queries.
    pub hide_timestamps: bool,
    /// Limits bindings to this many bytes.
    pub max_binding_bytes: Option<u64>,
}

/// A device that meters itself. Clones share the device.
#[derive(Clone)]
pub struct Gpu {
    pub(crate) inner: Rc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) facts: AdapterFacts,
    pub(crate) limits: wgpu::Limits,
    pub(crate) features: wgpu::Features,
    pub(crate) faults: Faults,
    pub(crate) ledger: Ledger,
    pub(crate) memory: Rc<RefCell<MemoryLedger>>,
    pub(crate) flights: Rc<Flights>,
    pub(crate) ring: RefCell<QueryRing>,
    /// Log of a traced sample.
    pub(crate) trace: RefCell<Option<TraceLog>>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu").field("adapter", &self.inner.facts.name).finish_non_exhaustive()
    }
}

pub(crate) fn open_adapter(
    adapter: &wgpu::Adapter,
    mut facts: AdapterFacts,
    options: &GpuOptions,
) -> Result<Gpu, GpuError> {
    let features = wanted_features(adapter, options);
    let mut limits = adapter.limits();
    if let Some(bytes) = options.max_binding_bytes {
        limits.max_storage_buffer_binding_size = limits.max_storage_buffer_binding_size.min(bytes);
    }
    facts.features = feature_names(features);
    facts.max_binding_bytes = limits.max_storage_buffer_binding_size;
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("perfharness"),
        required_features: features,
        required_limits: limits.clone(),
        // Larger blocks would hide the requests of a workload in the reserved bytes.
        memory_hints: wgpu::MemoryHints::MemoryUsage,
        ..wgpu::DeviceDescriptor::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
        .map_err(|error| GpuError::Driver(format!("{} does not open a device: {error}", facts.name)))?;
    let faults = Faults::default();
    let uncaptured = faults.clone();
    device.on_uncaptured_error(std::sync::Arc::new(move |error: wgpu::Error| uncaptured.raise(error.into())));
    let lost = faults.clone();
    device.set_device_lost_callback(move |_reason, message| lost.raise(GpuError::Lost(message)));
    let memory = Rc::<RefCell<MemoryLedger>>::default();
    let flights = Rc::new(Flights::new(device.clone(), Rc::clone(&memory)));
    let inner = Inner {
        device,
        queue,
        facts,
        limits,
        features,
        faults,
        ledger: Ledger::default(),
        memory,
        flights,
        ring: RefCell::default(),
        trace: RefCell::default(),
    };
    Ok(Gpu { inner: Rc::new(inner) })
}

impl Gpu {
    /// Opens the device that the user selected, and attaches its meter to this placement's metered and traced samples.
    ///
    /// # Errors
    /// Returns [`GpuError::NoAdapter`] if there is none, which skips the benchmark.
    pub fn open(setup: &Setup) -> Result<Self, GpuError> {
        Self::open_with(setup, &GpuOptions::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub fn open_with(setup: &Setup, options: &GpuOptions) -> Result<Self, GpuError> {
        let gpu = Self::new(setup.device(), options)?;
        setup.attach(gpu.meter());
        Ok(gpu)
    }

    /// Opens a device outside a placement. `asked` is `auto`, `none`, `noop`, a kind such as `software`, or a part of
    /// an adapter's name, driver or backend.
    ///
    /// # Errors
    /// See [`open`](Self::open).
    pub fn new(asked: &str, options: &GpuOptions) -> Result<Self, GpuError> {
        let (adapter, facts) = find(asked)?;
        open_adapter(&adapter, facts, options)
    }

    /// Returns the meter of this device, which [`open`](Self::open) has already attached.
    pub fn meter(&self) -> Box<dyn Meter> {
        Box::new(GpuMeter::new(self.clone()))
    }

    /// Returns the facts of the adapter; features and limits are those of this device.
    pub fn facts(&self) -> &AdapterFacts {
        &self.inner.facts
    }

    /// Returns wgpu's device, for operations that this crate does not offer. They are not counted.
    pub fn device(&self) -> &wgpu::Device {
        &self.inner.device
    }

    /// Returns wgpu's queue, as [`device`](Self::device) returns the device.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.inner.queue
    }

    /// Checks that the device has these features.
    ///
    /// # Errors
    /// Returns [`GpuError::Lacks`] if it does not, which skips the benchmark.
    pub fn require(&self, features: wgpu::Features) -> Result<(), GpuError> {
        let missing = feature_names(features - self.inner.features);
        if missing.is_empty() {
            return Ok(());
        }
        Err(self.lacks(format!("the feature {}", missing.join(", "))))
    }

    /// Checks that a shader can bind this many bytes.
    ///
    /// # Errors
    /// Returns [`GpuError::Lacks`] if it cannot, which skips the benchmark.
    pub fn require_binding(&self, bytes: u64) -> Result<(), GpuError> {
        let limit = self.max_binding();
        if bytes <= limit {
            return Ok(());
        }
        Err(self.lacks(format!("a binding of {bytes} bytes: its limit is {limit}")))
    }

    pub(crate) fn lacks(&self, what: impl Into<String>) -> GpuError {
        GpuError::lacks(&self.inner.facts.name, what, "choose another adapter with --device")
    }

    /// Returns the largest binding of a shader in bytes.
    pub fn max_binding(&self) -> u64 {
        self.inner.limits.max_storage_buffer_binding_size
    }

    /// Divides `count` elements into ranges that can be bound one at a time.
    ///
    /// # Errors
    /// Returns [`GpuError::Lacks`] if not even the smallest aligned piece can be bound.
    pub fn chunks(&self, count: u64, bytes_each: u64) -> Result<Vec<Range<u64>>, GpuError> {
        self.chunks_within(self.max_binding(), count, bytes_each)
    }

    /// As [`chunks`](Self::chunks), with pieces of at most `budget` bytes.
    ///
    /// # Errors
    /// See [`chunks`](Self::chunks).
    pub fn chunks_within(
        &self,
        budget: u64,
        count: u64,
        bytes_each: u64,
    ) -> Result<Vec<Range<u64>>, GpuError> {
        let alignment = u64::from(self.inner.limits.min_storage_buffer_offset_alignment);
        chunks(count, bytes_each, budget.min(self.max_binding()), alignment)
    }

    /// Starts a list of commands. Nothing runs before it is submitted.
    pub fn commands(&self, label: &str) -> Commands {
        Commands::new(self.clone(), label)
    }

    /// Waits until everything that was submitted is done: one sync.
    ///
    /// # Errors
    /// Returns the error of the device since the last call that could report one.
    pub fn wait(&self) -> Result<(), GpuError> {
        self.inner.ledger.count(|counts| counts.syncs += 1);
        self.wait_for(None, "everything submitted")
    }

    /// Waits like [`wait`](Self::wait) at the end of a sample, for `Measured::fence`. The time counts as host wait, but
    /// no sync is counted, because the harness waits and not the hot path.
    ///
    /// # Errors
    /// See [`wait`](Self::wait).
    pub fn fence(&self) -> Result<(), GpuError> {
        self.wait_for(None, "the fence")
    }

    /// Returns the size of the live buffers in bytes.
    pub fn live_bytes(&self) -> u64 {
        self.inner.memory.borrow().live
    }

    /// Returns the peak of the live bytes since the start of the last metered or traced sample.
    pub fn peak_bytes(&self) -> u64 {
        self.inner.memory.borrow().peak
    }

    /// Returns the buffers of [`peak_bytes`](Self::peak_bytes), by label, largest first.
    pub fn peak_buffers(&self) -> Vec<PeakBuffers> {
        self.inner.memory.borrow().peak_buffers()
    }

    /// Waits for a submission, or for all. The time is counted, the wait itself is not. `why` is for a trace.
    pub(crate) fn wait_for(
        &self,
        submission: Option<wgpu::SubmissionIndex>,
        why: &str,
    ) -> Result<(), GpuError> {
        let start = self.inner.ledger.is_on().then(|| (clock::now(), clock::monotonic_ns()));
        let is_all = submission.is_none();
        let polled =
            self.inner.device.poll(wgpu::PollType::Wait { submission_index: submission, timeout: None });
        match &polled {
            Ok(_) if is_all => self.inner.flights.all_done(),
            Ok(_) => self.inner.flights.some_done(),
            Err(_) => {}
        }
        if let Some((start, start_ns)) = start {
            let wait = start.elapsed();
            self.inner.ledger.add_host_wait(wait);
            self.trace(|log| log.wait(&["wait for ", why], start_ns, wait.as_nanos() as u64));
        }
        if let Err(error) = polled {
            // A lost device knows no submission, and reports its loss only on a poll.
            self.poll()?;
            return Err(GpuError::Driver(error.to_string()));
        }
        self.check_faults()
    }

    /// Runs the callbacks of finished work, without waiting.
    pub(crate) fn poll(&self) -> Result<(), GpuError> {
        let polled = self.inner.device.poll(wgpu::PollType::Poll);
        self.check_faults()?;
        polled.map(|_| ()).map_err(|error| GpuError::Driver(error.to_string()))
    }

    pub(crate) fn check_faults(&self) -> Result<(), GpuError> {
        self.inner.faults.check()
    }

    /// Adds to the log of a traced sample.
    pub(crate) fn trace(&self, note: impl FnOnce(&mut TraceLog)) {
        if let Some(log) = self.inner.trace.borrow_mut().as_mut() {
            note(log);
        }
    }

    pub(crate) fn count(&self, add: impl FnOnce(&mut Counts)) {
        self.inner.ledger.count(add);
    }
}
