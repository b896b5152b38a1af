//! Traced samples: the events of a stretch of iterations over time.

use std::ops::Range;

use perfharness_platform::clock;

use crate::meter::HeapMeter;
use crate::protocol::{SampleReply, Trace, TraceKind, TraceSpan};
use crate::{Failure, Measured, Meter};

/// Track of the variant's own thread.
const HOST: &str = "host";
/// Largest number of iterations with spans of their own.
const MOST_ITERATIONS: usize = 10_000;

/// Takes a sample in which the meters record events with their times.
pub(crate) fn traced_sample(
    measured: &mut dyn Measured,
    meters: &mut [Box<dyn Meter>],
    mut indices: Range<u64>,
) -> Result<SampleReply, Failure> {
    let mut heap = HeapMeter::default();
    let mut steps = Steps::new(indices.end.saturating_sub(indices.start));
    // As in a metered sample, the heap meter starts last and stops first, so that it excludes the memory of the others.
    for meter in meters.iter_mut() {
        meter.start_trace();
    }
    heap.start_trace();
    steps.mark();
    let ran = indices
        .try_for_each(|index| measured.run(index).map(|()| steps.iterated()))
        .and_then(|()| measured.fence());
    steps.mark();
    let mut trace = Trace::default();
    heap.stop_trace(&mut trace);
    for meter in meters.iter_mut() {
        meter.stop_trace(&mut trace);
    }
    ran?;
    trace.spans.extend(steps.spans());
    // A span comes before the spans that it contains.
    trace.spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.duration_ns)));
    let start_ns = steps.moments[0];
    let wall_ns = steps.moments[steps.moments.len() - 1].saturating_sub(start_ns);
    Ok(SampleReply { start_ns: Some(start_ns), wall_ns, trace: Some(trace), ..SampleReply::default() })
}

/// Times at which one step ended and the next began, so that the steps add up to the whole to the nanosecond.
struct Steps {
    iterations: u64,
    moments: Vec<u64>,
}

impl Steps {
    fn new(iterations: u64) -> Self {
        let most = (iterations as usize).min(MOST_ITERATIONS);
        // All the room that it needs, because the heap is traced later.
        Self { iterations, moments: Vec::with_capacity(most + 2) }
    }

    fn mark(&mut self) {
        self.moments.push(clock::monotonic_ns());
    }

    fn iterated(&mut self) {
        if self.moments.len() > MOST_ITERATIONS {
            // There is no room for more: the last span includes this iteration.
            self.moments.pop();
        }
        self.mark();
    }

    fn spans(&self) -> impl Iterator<Item = TraceSpan> + '_ {
        let steps = self.moments.len().saturating_sub(1);
        self.moments.windows(2).enumerate().map(move |(at, pair)| {
            let (name, kind) = if at + 1 == steps {
                ("fence".to_owned(), TraceKind::Fence)
            } else if at + 2 == steps && (at as u64) + 1 < self.iterations {
                (format!("iterations {at} to {}", self.iterations - 1), TraceKind::Iteration)
            } else {
                (format!("iteration {at}"), TraceKind::Iteration)
            };
            TraceSpan {
                track: HOST.into(),
                name,
                kind,
                start_ns: pair[0],
                duration_ns: pair[1].saturating_sub(pair[0]),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::Check;

    use super::*;

    /// Fails in an iteration, if told to.
    struct Counting {
        fails_at: Option<u64>,
        fenced: bool,
    }

    impl Measured for Counting {
        fn load(&mut self, _: u64) -> Result<(), Failure> {
            Ok(())
        }
        fn run(&mut self, index: u64) -> Result<(), Failure> {
            if self.fails_at == Some(index) { Err(Failure::Failed("as planned".into())) } else { Ok(()) }
        }
        fn fence(&mut self) -> Result<(), Failure> {
            self.fenced = true;
            Ok(())
        }
        fn check(&mut self, _: u64) -> Result<Check, Failure> {
            Ok(Check::default())
        }
    }

    /// Reports how often it was started and stopped.
    struct Telling;

    impl Meter for Telling {
        fn start(&mut self) {}
        fn stop(&mut self, _: &mut std::collections::BTreeMap<String, crate::Reading>) {}
        fn stop_trace(&mut self, trace: &mut Trace) {
            trace.facts.insert("meter".into(), "stopped".into());
        }
    }

    fn traced(iterations: u64) -> (SampleReply, Trace) {
        let mut counting = Counting { fails_at: None, fenced: false };
        let mut meters: Vec<Box<dyn Meter>> = vec![Box::new(Telling)];
        let mut reply = traced_sample(&mut counting, &mut meters, 5..5 + iterations).unwrap();
        assert!(counting.fenced);
        let trace = reply.trace.take().unwrap();
        (reply, trace)
    }

    #[test]
    fn iterations_and_the_fence_follow_each_other_and_add_up_to_the_wall_time() {
        let (reply, trace) = traced(3);
        let names: Vec<&str> = trace.spans.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["iteration 0", "iteration 1", "iteration 2", "fence"]);
        assert_eq!(trace.spans.iter().map(|span| span.duration_ns).sum::<u64>(), reply.wall_ns);
        assert_eq!(Some(trace.spans[0].start_ns), reply.start_ns);
        for pair in trace.spans.windows(2) {
            assert_eq!(pair[0].start_ns + pair[0].duration_ns, pair[1].start_ns);
        }
        assert_eq!(trace.facts["meter"], "stopped");
        // The tests of this crate do not use the counting allocator.
        assert!(trace.absent["heap-live"].contains("counting_allocator!"), "{trace:?}");
    }

    #[test]
    fn iterations_beyond_the_most_share_a_span() {
        let (reply, trace) = traced(MOST_ITERATIONS as u64 + 5);
        assert_eq!(trace.spans.len(), MOST_ITERATIONS + 1);
        assert_eq!(trace.spans[MOST_ITERATIONS - 1].name, "iterations 9999 to 10004");
        assert_eq!(trace.spans.iter().map(|span| span.duration_ns).sum::<u64>(), reply.wall_ns);
        let (_, trace) = traced(MOST_ITERATIONS as u64);
        assert_eq!(trace.spans[MOST_ITERATIONS - 1].name, "iteration 9999");
    }

    #[test]
    fn what_an_iteration_fails_with_is_told() {
        let mut counting = Counting { fails_at: Some(1), fenced: false };
        let failed = traced_sample(&mut counting, &mut [], 0..3);
        assert!(matches!(failed, Err(Failure::Failed(reason)) if reason == "as planned"));
        assert!(!counting.fenced);
    }
}
