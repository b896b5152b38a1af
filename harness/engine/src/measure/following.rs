//! Following of a benchmark's memory over many iterations, in a launch of its own without timed samples.

use std::collections::BTreeMap;
use std::time::Duration;

use perfharness_contract::protocol::{Mode, Reading, SampleReply};
use perfharness_contract::{gpu_metric as gpu, standard};
use perfharness_record::{Followed, MemoryPoint, MemoryStory, Outcome, Side};

use super::executor::{CallError, Executor, unless_interrupted};
use super::launch::Interrupted;
use super::profiling::{OVERTIME, SAMPLE_NS};
use super::solo::SoloLaunch;
use crate::plan::Plan;

/// Samples before the inputs repeat.
const ROUNDS: u32 = 400;
/// Most and fewest points of a story whose iterations can be divided evenly.
const MOST_POINTS: u64 = 50;
const FEWEST_POINTS: u64 = 20;
/// Points of a story whose iterations cannot.
const POINTS: u64 = 40;
/// Fewest iterations of a sample: memory that the first one keeps is not growth, so that one alone shows nothing.
const FEWEST_ITERATIONS: u64 = 2;

/// Follows a side over `asked` iterations, or as many as fit into `time`.
///
/// # Errors
/// When the user stops it.
pub fn follow_side(
    plan: &Plan,
    side: &Side,
    executor: &mut dyn Executor,
    asked: u64,
    time: Duration,
) -> Result<Followed, Interrupted> {
    let story = SoloLaunch::open(plan, side, executor).and_then(|launch| follow(launch, asked, time));
    let followed = story.map(|story| Followed { outcome: Outcome::ok(), story: Ok(story) });
    unless_interrupted(followed, |outcome| Followed { story: Err(outcome.in_words()), outcome })
}

/// Returns the number of points, and the iterations between two of them.
fn points(iterations: u64) -> (u64, u64) {
    let is_even = |count: &u64| iterations.is_multiple_of(*count) && iterations / count >= FEWEST_ITERATIONS;
    let even = (FEWEST_POINTS..=MOST_POINTS).rev().find(is_even);
    let each = iterations.div_ceil(even.unwrap_or(POINTS)).max(FEWEST_ITERATIONS);
    (iterations.div_ceil(each), each)
}

fn follow(mut launch: SoloLaunch<'_>, asked: u64, time: Duration) -> Result<MemoryStory, CallError> {
    launch.prepare()?;
    let mut launch = launch.check()?;
    let iteration_ns = launch.warm_up()?;
    let fitting = (time.as_nanos() as f64 / iteration_ns).clamp(FEWEST_ITERATIONS as f64, 1e15) as u64;
    let (count, each) = points(asked.min(fitting));
    let most = (SAMPLE_NS / iteration_ns).clamp(FEWEST_ITERATIONS as f64, 1e8) as u64;
    let mode = if launch.lacks(Mode::Metered).is_none() { Mode::Metered } else { Mode::Timed };
    let limit = launch.now_ns() + (time * OVERTIME).as_nanos() as u64;
    let mut seen = Seen { heap: Some(0.0), ..Seen::default() };
    let mut number = 0;
    // The first iteration on new inputs makes what the others reuse, so it is not metered.
    let mut take = |launch: &mut SoloLaunch<'_>, iterations: u64| {
        number += 1;
        launch.sample_after(1, mode, SoloLaunch::round(number % ROUNDS), iterations - 1)
    };
    // Memory that the first sample sets up for all others, such as meters or a larger pool, is not growth.
    let settling = each.min(most);
    seen.add(&take(&mut launch, settling)?, settling);
    seen.heap = seen.heap.map(|_| 0.0);
    let mut story = MemoryStory {
        asked,
        iteration_ns,
        absent: BTreeMap::new(),
        points: vec![seen.point(0, launch.usage().rss_bytes)],
    };
    for at in 1..=count {
        let mut left = each;
        while left > 0 {
            // No sample of a single iteration is left over.
            let iterations = if left <= most + 1 { left } else { most };
            left -= iterations;
            seen.add(&take(&mut launch, iterations)?, iterations);
        }
        story.points.push(seen.point(at * each, launch.usage().rss_bytes));
        if launch.now_ns() >= limit {
            break;
        }
    }
    if let Some(reason) = launch.lacks(Mode::Metered) {
        seen.absent.insert(standard::HEAP_GROWTH.into(), reason);
    }
    story.absent = seen.absent;
    launch.finish();
    Ok(story)
}

/// Memory figures so far.
#[derive(Default)]
struct Seen {
    /// Growth of the heap; `None` once a sample did not report it.
    heap: Option<f64>,
    device: Option<f64>,
    reserved: Option<f64>,
    fragmentation: Option<f64>,
    absent: BTreeMap<String, String>,
}

impl Seen {
    /// Adds a sample of `iterations`, the lead-in included.
    fn add(&mut self, reply: &SampleReply, iterations: u64) {
        let metered = iterations - 1;
        let growth = self.reading(reply, standard::HEAP_GROWTH);
        // The lead-in leaks as well, but is not metered.
        let growth = growth.map(|growth| growth * iterations as f64 / metered as f64);
        self.heap = self.heap.zip(growth).map(|(heap, growth)| heap + growth);
        self.device = self.reading(reply, gpu::DEVICE_LIVE);
        self.reserved = self.reading(reply, gpu::DEVICE_RESERVED);
        self.fragmentation = self.reading(reply, gpu::FRAGMENTATION);
    }

    fn reading(&mut self, reply: &SampleReply, metric: &str) -> Option<f64> {
        match reply.readings.get(metric)? {
            Reading::Value(value) => Some(value.0).filter(|value| value.is_finite()),
            Reading::Absent { absent } => {
                self.absent.insert(metric.to_owned(), absent.clone());
                None
            }
        }
    }

    fn point(&self, iterations: u64, resident: Option<u64>) -> MemoryPoint {
        MemoryPoint {
            iterations,
            resident: resident.map(|bytes| bytes as f64),
            heap: self.heap,
            device: self.device,
            reserved: self.reserved,
            fragmentation: self.fragmentation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iterations_are_divided_evenly_and_none_is_forgotten() {
        assert_eq!(points(1000), (50, 20));
        assert_eq!(points(997), (40, 25));
        assert_eq!(points(60), (30, 2));
        assert_eq!(points(7), (4, 2));
        assert_eq!(points(1), (1, 2));
        for iterations in 1..3000 {
            let (count, each) = points(iterations);
            assert!(count * each >= iterations && each >= FEWEST_ITERATIONS, "{iterations}");
            assert!(
                count <= MOST_POINTS && (iterations < 40 || count >= FEWEST_POINTS),
                "{iterations}: {count}"
            );
        }
    }
}
