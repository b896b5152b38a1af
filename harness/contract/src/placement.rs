//! One placement: the result of `prepare`, from which checks and samples are taken.

use std::collections::BTreeMap;
use std::fmt;

use perfharness_platform::{clock, profile::absence, self_usage};

use crate::meter::HeapMeter;
use crate::protocol::{CheckReply, ErrorCode, Kernels, Mode, Reading, SampleReply, SampleRequest, WireError};
use crate::{CountingAllocator, Failure, Measured, Meter as _, Name, Setup, Workload, profile, trace};

/// A prepared variant and its last output. A worker answers from it; tests can drive it directly.
pub struct Placement {
    measured: Box<dyn Measured>,
    setup: Setup,
    /// Round and last iteration of the sample whose output is still available.
    sampled: Option<(u64, u64)>,
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placement").field("setup", &self.setup).finish_non_exhaustive()
    }
}

impl Placement {
    /// Prepares a variant.
    ///
    /// # Errors
    /// Returns the error of its constructor.
    pub fn prepare(workload: &Workload, case: &Name, variant: &Name, setup: Setup) -> Result<Self, Failure> {
        let measured = workload.construct(case, variant, &setup)?;
        Ok(Self { measured, setup, sampled: None })
    }

    fn load(&mut self, round: u64) -> Result<(), Failure> {
        // Whatever happens next, the output of an earlier sample is lost.
        self.sampled = None;
        self.measured.load(round)
    }

    /// Returns the notes of its constructor for the user.
    pub fn notes(&self) -> Vec<String> {
        self.setup.notes.borrow().clone()
    }

    /// Checks a separate iteration if `fresh`, otherwise the output of the last sample.
    ///
    /// # Errors
    /// Returns the error of the variant, or a bad request if the output of that sample is not available.
    pub fn check(&mut self, round: u64, index: u64, fresh: bool) -> Result<CheckReply, WireError> {
        let mut readings = BTreeMap::new();
        if fresh {
            self.load(round)?;
            self.setup.counters.borrow().start();
            let ran = self.measured.run(index).and_then(|()| self.measured.fence());
            self.setup.counters.borrow().stop(&mut readings);
            ran?;
        } else if self.sampled != Some((round, index)) {
            return Err(WireError::bad_request(format!(
                "the last sample did not end with iteration {index} of round {round}"
            )));
        }
        Ok(CheckReply { check: self.measured.check(index)?, readings })
    }

    /// Takes a sample. The handle of the request is ignored.
    ///
    /// # Errors
    /// Returns the error of the variant, or a bad or unsupported request.
    pub fn sample(&mut self, request: &SampleRequest) -> Result<SampleReply, WireError> {
        if request.iterations == 0 {
            return Err(WireError::bad_request("a sample needs at least one iteration"));
        }
        if let (Mode::Profiled, Some(reason)) = (request.mode, absence()) {
            return Err(WireError { code: ErrorCode::Unsupported, message: reason.into() });
        }
        let asked = clock::now();
        self.load(request.round)?;
        let first = request.offset + request.lead_in;
        for index in request.offset..first {
            self.measured.run(index)?;
        }
        if request.lead_in > 0 {
            self.measured.fence()?;
        }
        let indices = first..first + request.iterations;
        let untimed_ns = asked.elapsed().as_nanos() as u64;
        let mut reply = match request.mode {
            Mode::Timed => self.timed(indices),
            Mode::Metered => self.metered(indices, request.lead_in > 0),
            Mode::Profiled => profile::perfharness_profiled_sample(self.measured.as_mut(), indices),
            Mode::Traced => {
                let mut meters = self.setup.meters.borrow_mut();
                trace::traced_sample(self.measured.as_mut(), &mut meters, indices)
            }
        }?;
        reply.untimed_ns = Some(untimed_ns);
        self.sampled = Some((request.round, request.last_index()));
        Ok(reply)
    }

    fn timed(&mut self, indices: std::ops::Range<u64>) -> Result<SampleReply, Failure> {
        let before = self_usage();
        let start_ns = clock::monotonic_ns();
        let start = clock::now();
        for index in indices {
            self.measured.run(index)?;
        }
        self.measured.fence()?;
        let wall = start.elapsed();
        let after = self_usage();
        let used = |f: fn(&perfharness_platform::SelfUsage) -> Option<u64>| {
            Some(f(&after)?.saturating_sub(f(&before)?))
        };
        Ok(SampleReply {
            start_ns: Some(start_ns),
            wall_ns: wall.as_nanos() as u64,
            cpu_ns: used(|u| u.cpu_ns),
            involuntary_switches: used(|u| u.involuntary_switches),
            ..SampleReply::default()
        })
    }

    fn metered(&mut self, indices: std::ops::Range<u64>, is_led_in: bool) -> Result<SampleReply, Failure> {
        let mut readings: BTreeMap<String, Reading> = BTreeMap::new();
        let counters = self.setup.counters.borrow();
        let mut meters = self.setup.meters.borrow_mut();
        let mut heap = HeapMeter::default();
        let settle_after = settling(indices.end - indices.start, is_led_in);
        // The heap meter starts last and stops first, so that the other meters' own memory is not counted.
        meters.iter_mut().for_each(|meter| meter.start());
        counters.start();
        heap.start();
        let start_ns = clock::monotonic_ns();
        let start = clock::now();
        let measured = &mut self.measured;
        let mut settle = |done: u64| {
            if let Some((_, scale)) = settle_after.filter(|(after, _)| *after == done) {
                // Without a fence, the heap also contains data that a device has in flight, which is gone at the end.
                if is_led_in || meters.is_empty() {
                    heap.settle(scale);
                }
                meters.iter_mut().for_each(|meter| meter.settle(scale));
            }
        };
        settle(0);
        let ran = indices
            .zip(1..)
            .try_for_each(|(index, done)| measured.run(index).map(|()| settle(done)))
            .and_then(|()| measured.fence());
        let wall = start.elapsed();
        if CountingAllocator::installed() {
            heap.stop(&mut readings);
        }
        counters.stop(&mut readings);
        meters.iter_mut().for_each(|meter| meter.stop(&mut readings));
        ran?;
        Ok(SampleReply {
            start_ns: Some(start_ns),
            wall_ns: wall.as_nanos() as u64,
            readings,
            kernels: Kernels::of_all(meters.iter_mut().filter_map(|meter| meter.kernels())),
            ..SampleReply::default()
        })
    }
}

/// Returns after how many iterations of a metered sample growth begins to count, and the factor that scales it to all
/// iterations. The first iteration on new inputs prepares data for all others: what it keeps does not count as growth.
/// A lead-in includes that iteration.
fn settling(iterations: u64, is_led_in: bool) -> Option<(u64, f64)> {
    match (is_led_in, iterations) {
        (true, _) => Some((0, 1.0)),
        (false, 0 | 1) => None,
        (false, all) => Some((1, all as f64 / (all - 1) as f64)),
    }
}
