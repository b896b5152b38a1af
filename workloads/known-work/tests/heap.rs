//! Meters and traces planted memory in a process of its own, because the heap meter counts all threads.

perfharness_contract::counting_allocator!();

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perfharness_contract::protocol::{Mode, Reading, SampleRequest};
    use perfharness_contract::{Name, Placement, standard};
    use perfharness_known_work::workload;

    /// A single test, because parallel tests would count each other's allocations.
    #[test]
    fn planted_memory_is_metered() {
        a_doubled_peak_is_metered_and_drawn();
        leaks_and_allocations();
    }

    fn leaks_and_allocations() {
        let workload = workload();
        let name = |text: &str| Name::new(text).unwrap();
        // (planted, allocations of an iteration beyond those of the kernel, growth of an iteration)
        for (spec, allocations, growth) in [
            ("", 0.0, 0.0),
            ("leak=1024", 1.0, 1024.0),
            ("allocations=+1", 100.0, 0.0),
            ("copies=+1", 0.0, 0.0),
        ] {
            let settings = [("known-work".to_owned(), spec.to_owned())];
            let setup = workload.setup(1, "none", "unused").with_settings(settings.into());
            let mut placement = Placement::prepare(&workload, &name("copy"), &name("w100"), setup).unwrap();
            // The iteration that growth is compared with may belong to the sample or precede it.
            for (lead_in, iterations) in [(0, 2), (1, 2), (1, 1), (0, 7)] {
                let readings = sample(&mut placement, lead_in, iterations);
                let value = |metric: &str| readings[metric].value().unwrap() / iterations as f64;
                // The staging buffer is one allocation.
                assert_eq!(value(standard::HEAP_ALLOCATIONS), 1.0 + allocations, "{spec}");
                assert_eq!(value(standard::HEAP_GROWTH), growth, "{spec}, {lead_in} and {iterations}");
            }
            let alone = &sample(&mut placement, 0, 1)[standard::HEAP_GROWTH];
            assert!(alone.absence().unwrap().contains("`perfharness memory` does"), "{alone:?}");
        }
    }

    fn a_doubled_peak_is_metered_and_drawn() {
        let workload = workload();
        let name = |text: &str| Name::new(text).unwrap();
        for (spec, due) in [("", 262_144.0), ("peak=2", 524_288.0)] {
            let settings = [("known-work".to_owned(), spec.to_owned())];
            let setup = workload.setup(1, "none", "unused").with_settings(settings.into());
            let mut placement = Placement::prepare(&workload, &name("copy"), &name("w100"), setup).unwrap();
            let notes = if spec.is_empty() { Vec::new() } else { vec![format!("planted: {spec}")] };
            assert_eq!(placement.notes(), notes);
            let readings = sample(&mut placement, 1, 2);
            assert_eq!(readings[standard::HEAP_PEAK].value(), Some(due), "{spec}");

            let request = SampleRequest {
                handle: 0,
                mode: Mode::Traced,
                round: 1,
                offset: 0,
                lead_in: 1,
                iterations: 2,
            };
            let traced = placement.sample(&request).unwrap();
            let trace = traced.trace.unwrap();
            let [heap] = &trace.counters[..] else { panic!("{trace:?}") };
            assert_eq!((heap.name.as_str(), heap.relative, heap.changes_per_point), ("heap-live", true, 1));
            let values: Vec<i64> = heap.points.iter().map(|(_, value)| *value).collect();
            // The buffer is allocated and freed in each of the two iterations, and nothing else is, not even for the
            // trace.
            assert_eq!(values, [0, due as i64, 0, due as i64, 0, 0], "{spec}");
            let end_ns = traced.start_ns.unwrap() + traced.wall_ns;
            let inside = &heap.points[1..heap.points.len() - 1];
            assert!(
                inside.iter().all(|(at, _)| (traced.start_ns.unwrap()..=end_ns).contains(at)),
                "{heap:?}"
            );
            let spans: u64 = trace.spans.iter().map(|span| span.duration_ns).sum();
            assert_eq!(spans, traced.wall_ns, "{:?}", trace.spans);
        }
    }

    fn sample(placement: &mut Placement, lead_in: u64, iterations: u64) -> BTreeMap<String, Reading> {
        let request =
            SampleRequest { handle: 0, mode: Mode::Metered, round: 1, offset: 0, lead_in, iterations };
        placement.sample(&request).unwrap().readings
    }
}
