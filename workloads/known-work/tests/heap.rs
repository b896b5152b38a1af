//! Planted memory, metered and traced, in a process of its own: the heap meter counts what all threads do.

use perfharness_contract::protocol::{Mode, SampleRequest};
use perfharness_contract::{Name, Placement, standard};
use perfharness_known_work::workload;

perfharness_contract::counting_allocator!();

#[test]
fn a_doubled_peak_is_metered_and_drawn() {
    let workload = workload();
    let name = |text: &str| Name::new(text).unwrap();
    for (spec, due) in [("", 262_144.0), ("peak=2", 524_288.0)] {
        let settings = [("known-work".to_owned(), spec.to_owned())];
        let setup = workload.setup(1, "none", "unused").with_settings(settings.into());
        let mut placement = Placement::prepare(&workload, &name("copy"), &name("w100"), setup).unwrap();
        let notes = if spec.is_empty() { Vec::new() } else { vec![format!("planted: {spec}")] };
        assert_eq!(placement.notes(), notes);
        let request =
            SampleRequest { handle: 0, mode: Mode::Metered, round: 1, offset: 0, lead_in: 1, iterations: 2 };
        let readings = placement.sample(&request).unwrap().readings;
        assert_eq!(readings[standard::HEAP_PEAK].value(), Some(due), "{spec}");

        let traced = placement.sample(&SampleRequest { mode: Mode::Traced, ..request }).unwrap();
        let trace = traced.trace.unwrap();
        let [heap] = &trace.counters[..] else { panic!("{trace:?}") };
        assert_eq!((heap.name.as_str(), heap.relative, heap.changes_per_point), ("heap-live", true, 1));
        let values: Vec<i64> = heap.points.iter().map(|(_, value)| *value).collect();
        // The buffer comes and goes in each of the two iterations, and nothing else does: no memory of the trace either.
        assert_eq!(values, [0, due as i64, 0, due as i64, 0, 0], "{spec}");
        let end_ns = traced.start_ns.unwrap() + traced.wall_ns;
        let inside = &heap.points[1..heap.points.len() - 1];
        assert!(inside.iter().all(|(at, _)| (traced.start_ns.unwrap()..=end_ns).contains(at)), "{heap:?}");
        let spans: u64 = trace.spans.iter().map(|span| span.duration_ns).sum();
        assert_eq!(spans, traced.wall_ns, "{:?}", trace.spans);
    }
}
