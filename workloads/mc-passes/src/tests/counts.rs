//! Exact counts of whole benchmarks.

use perfharness_contract::protocol::{Mode, SampleRequest};
use perfharness_contract::{MetricKind, Placement, Reading};
use perfharness_gpu::testing::require_adapter;

use super::*;

/// Returns the exact metrics of an iteration that are not 0, or `None` if the benchmark cannot run here.
fn counted(case: &str, variant: &str) -> Option<BTreeMap<String, f64>> {
    let workload = workload();
    let setup = workload.setup(1, "auto", ".");
    let (case, id) = (case.parse().unwrap(), variant.parse().unwrap());
    let mut placement = match Placement::prepare(&workload, &case, &id, setup) {
        Ok(placement) => placement,
        Err(Failure::Unavailable(_)) if [HALF, UNIFIED, FUSED].contains(&variant) => return None,
        Err(error) => panic!("{variant}: {error}"),
    };
    let request =
        SampleRequest { handle: 0, mode: Mode::Metered, round: 1, offset: 0, lead_in: 1, iterations: 1 };
    let readings = placement.sample(&request).unwrap().readings;
    let checked = placement.check(1, request.last_index(), false).unwrap().check;
    assert!(checked.passed, "{variant}: {:?}", checked.message);
    let exact = workload.definition().metrics.iter().filter(|metric| metric.kind == MetricKind::Exact);
    let value = |metric: &MetricDef| match readings.get(metric.id.as_str()) {
        Some(Reading::Value(value)) => (metric.id.to_string(), value.0),
        other => panic!("{}: {other:?}", metric.id),
    };
    Some(exact.map(value).filter(|(_, value)| *value != 0.0).collect())
}

/// Returns the expected counts of a case from its images, passes, trials, batches and snapshots.
fn due(variant: &str, n: f64, t: f64, k: f64, batches: f64, snapshots: f64) -> BTreeMap<String, f64> {
    let pixels = 4.0 * 3.0 * 224.0 * 224.0 * n;
    let keys = 4.0 * (t + 1.0) * k;
    let passes = t * k;
    let kernels = if variant == FUSED { 1.0 } else { 4.0 };
    let loads = if variant == SLOW { passes } else { 1.0 };
    let mut due: BTreeMap<&str, f64> = [
        (FORWARDS, n * passes),
        (DECODES, n * loads),
        (RESIZES, n * loads),
        (BATCHES, batches),
        (metric::DISPATCHES, (kernels * batches + 1.0) * passes),
        (metric::UPLOAD_BYTES, pixels * loads + keys),
        (metric::UPLOAD_COPIES, batches * loads + k),
    ]
    .into();
    let features = 4.0 * 512.0 * n;
    if [SLOW, DOCUMENTED].contains(&variant) {
        let load_submits = if variant == SLOW { 0.0 } else { batches };
        due.extend([
            (metric::SYNCS, batches * passes),
            (metric::SUBMITS, batches * passes + load_submits),
            (metric::DOWNLOAD_COPIES, batches * passes),
            (metric::DOWNLOAD_BYTES, features * passes),
        ]);
    } else {
        due.extend([
            (metric::SYNCS, snapshots * k),
            (metric::SUBMITS, passes + batches),
            (metric::DOWNLOAD_COPIES, snapshots * k),
            (metric::DOWNLOAD_BYTES, 2.0 * features * snapshots * k),
        ]);
    }
    if variant == HALF {
        due.insert(metric::UPLOAD_BYTES, pixels / 2.0 + keys);
    }
    if variant == PREFIX_ONCE {
        due.insert(metric::DISPATCHES, batches + (3.0 * batches + 1.0) * passes);
    }
    if variant == UNIFIED {
        // The buffers are mapped with one wait, and written in place.
        due.extend([
            (metric::UPLOAD_BYTES, keys),
            (metric::UPLOAD_COPIES, k),
            (metric::SUBMITS, passes),
            (metric::SYNCS, snapshots * k + 1.0),
        ]);
    }
    due.into_iter().map(|(id, value)| (id.to_owned(), value)).collect()
}

#[test]
fn every_decode_copy_and_sync_is_accounted_for() {
    if require_adapter().is_none() {
        return;
    }
    for variant in VARIANTS {
        if let Some(counts) = counted("px224-n20", variant) {
            assert_eq!(counts, due(variant, 20.0, 8.0, 1.0, 1.0, 2.0), "{variant}");
        }
    }
    let counts = counted("px224-n20", ONE_BY_ONE).unwrap();
    assert_eq!(counts, due(OPTIMIZED, 20.0, 8.0, 1.0, 20.0, 2.0), "{ONE_BY_ONE}");
}

#[test]
fn the_document_s_redundancy_follows_from_what_was_counted() {
    // The counts of the small case equal the formula, see above; this applies the formula to the document's size.
    let slow = due(SLOW, 500.0, 64.0, 10.0, 8.0, 3.0);
    let once = due(DOCUMENTED, 500.0, 64.0, 10.0, 8.0, 3.0);
    assert_eq!((slow[DECODES], once[DECODES]), (320_000.0, 500.0));
    assert_eq!(slow[DECODES] / once[DECODES], 640.0);
    assert!(1.0 - once[DECODES] / slow[DECODES] > 0.998);
    if require_adapter().is_none() {
        return;
    }
    // One image goes through all 640 passes, and the measured share must agree.
    for variant in [SLOW, DOCUMENTED, OPTIMIZED] {
        let counts = counted("px224-n1-k10", variant).unwrap();
        assert_eq!(counts, due(variant, 1.0, 64.0, 10.0, 1.0, 3.0), "{variant}");
    }
}

#[test]
fn separate_runs_load_every_image_840_times_in_slow_and_once_in_documented() {
    if require_adapter().is_none() {
        return;
    }
    let passes = f64::from(4 + 16 + 64);
    for (variant, loads) in [(SLOW, 10.0 * passes), (DOCUMENTED, 1.0), (OPTIMIZED, 1.0)] {
        let counts = counted("px224-n1-exp0", variant).unwrap();
        // As one run of 84 passes, with three trials of which each has one snapshot in place of one with three.
        let mut due = due(variant, 1.0, passes, 10.0, 1.0, 3.0);
        due.extend([
            (metric::UPLOAD_BYTES.to_owned(), 602_112.0 * loads + 10.0 * 4.0 * (passes + 3.0)),
            (metric::UPLOAD_COPIES.to_owned(), loads + 30.0),
        ]);
        assert_eq!(counts, due, "{variant}");
        assert_eq!(counts[DECODES], loads);
    }
    // 500 images and three models: the document's 1.26 million.
    assert_eq!(3.0 * 500.0 * 10.0 * passes, 1_260_000.0);
}

#[test]
fn counts_that_follow_from_the_device_are_not_portable_and_those_of_the_work_are() {
    let workload = workload();
    let portability = |id: &str| workload.definition().metric(id).unwrap().portability;
    for id in OF_BATCHES.into_iter().chain([BATCHES]) {
        assert_eq!(portability(id), Portability::MachineClass, "{id}");
    }
    for id in [FORWARDS, DECODES, RESIZES, metric::UPLOAD_BYTES, metric::DOWNLOAD_BYTES] {
        assert_eq!(portability(id), Portability::Portable, "{id}");
    }
}

#[test]
fn whether_pixels_are_streamed_and_so_their_bytes_does_not_follow_from_the_device() {
    for case in &workload().definition().cases {
        let param = |id: &str| case.params[id].as_u64().unwrap();
        for value_bytes in [2, 4] {
            let resident = [16 << 20, 128 << 20, 2 << 30, u64::MAX].map(|max_binding| {
                let (images, batch) = (param("images") as usize, param("batch") as usize);
                let (size, budget) = (param("size") as usize, param("budget_bytes"));
                plan::plan(&plan::Need { images, size, value_bytes, batch, budget, max_binding }).resident
            });
            assert!(resident.iter().all(|other| *other == resident[0]), "{}: {resident:?}", case.id);
        }
    }
}

#[test]
fn all_cases_say_how_much_they_do() {
    for case in &workload().definition().cases {
        let count = |id: &str| case.params[id].as_u64().unwrap();
        let separate = case.params.get("separate_runs").is_some_and(|value| value.as_bool() == Some(true));
        let passes = if separate { 4 + 16 + 64 } else { count("passes") };
        let forwards = count("images") * passes * count("trials");
        assert_eq!(case.items.as_ref().unwrap().count, forwards, "{}", case.id);
        assert_eq!(count("pixel_bytes"), count("images") * 12 * count("size").pow(2), "{}", case.id);
    }
}

#[test]
fn a_floor_has_pixels_and_embedding_once_whatever_the_number_of_passes() {
    use crate::params::Params;
    let of = |passes| floor(&Params::new(224, 20, passes, 1, BATCH, BUDGET));
    let (one, many) = (of(1), of(64));
    assert_eq!([one.device_bytes, one.upload_bytes], [many.device_bytes, many.upload_bytes]);
    assert_eq!([one.syncs, one.dispatches], [many.syncs, many.dispatches]);
    let (all, prefix) = Params::new(224, 20, 1, 1, BATCH, BUDGET).operations();
    let each = (many.operations - one.operations) / 63.0 / 20.0;
    assert!(
        (each - (all - prefix)).abs() < 1.0,
        "{each} operations a pass and image, of {all} with {prefix} before"
    );
}
