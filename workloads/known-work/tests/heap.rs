//! Planted memory, in a process of its own: the heap meter counts what all threads do.

use perfharness_contract::protocol::{Mode, SampleRequest};
use perfharness_contract::{Name, Placement, standard};
use perfharness_known_work::workload;

perfharness_contract::counting_allocator!();

#[test]
fn a_doubled_peak_is_metered() {
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
    }
}
