//! Tests of the document's variants against the definition, and their exact counts on a device.

use perfharness_contract::testing::exact_counts;
use perfharness_contract::{Check, Setup, Tolerance};
use perfharness_gpu::metric;
use perfharness_gpu::testing::require_adapter;

use super::super::measured::Variant;
use super::*;
use crate::{Band, Normalisation, Settings, Shape, oracle};

/// Asserts that these are all exact counts of an iteration of `small-10x10`.
fn assert_counts(variant: &str, due: &[(&str, f64)]) {
    let due = due.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect();
    assert_eq!(exact_counts(&workload(), "small-10x10", variant), due, "{variant}");
}

/// Samples of a signal, with its ends, and around the circle: 864 = 4 4 2 3 3 3. Padded, they are 512 = 4 4 4 4 2.
const N: f64 = 512.0;
const EXTENDED: f64 = 512.0 + 2.0 * 170.0;
const AROUND: f64 = 6.0;
const IN_TIME: f64 = 5.0;
/// Number of bands of a kind.
const BANDS: f64 = 10.0;

#[test]
fn the_slow_one_clones_creates_and_spreads() {
    if require_adapter().is_none() {
        return;
    }
    // Each kind: both transforms twice for filtering and once for the Hilbert transform, and 13 kernels around them.
    // One kernel looks for samples that are not finite, one spreads and one sums.
    let dispatches = 2.0 * (4.0 * AROUND + 2.0 * IN_TIME + 13.0) + 3.0;
    // Each band with its ends is extended to, widened twice, taken from the complex signal twice, flipped twice, and
    // cut; then it is made complex.
    let moved = 2.0 * BANDS * (4.0 * N + 2.0 * (8.0 + 4.0 + 4.0) * EXTENDED + 4.0 * N + 8.0 * N);
    // The signal is cloned for each kind, and each band with its ends three times.
    let cloned = 2.0 * (4.0 * N + 3.0 * 4.0 * BANDS * EXTENDED);
    let common = [
        ("chunks", 1.0),
        ("pairs", 100.0),
        ("samples", N),
        ("tensor-bytes", 100.0 * N * 18.0 * 4.0),
        (metric::DISPATCHES, dispatches),
        (metric::DOWNLOAD_BYTES, 102.0 * 4.0),
        (metric::DOWNLOAD_COPIES, 1.0),
        (metric::SUBMITS, 3.0),
        (metric::SYNCS, 1.0),
    ];
    let with = |more: &[(&'static str, f64)]| [&common[..], more].concat();
    assert_counts(
        SLOW_GPU,
        &with(&[
            ("copied-bytes", moved + cloned),
            (metric::DEVICE_COPIES, 2.0 * 4.0),
            (metric::DEVICE_COPY_BYTES, cloned),
            // Each kind: four clones, 9 of moves, a second buffer for each of 6 transforms, and the result. The means
            // and the tensor.
            (metric::BUFFER_CREATES, 2.0 * (4.0 + 9.0 + 6.0 + 1.0) + 2.0),
        ]),
    );
    assert_counts(
        UNCLONED_GPU,
        &with(&[("copied-bytes", moved), (metric::BUFFER_CREATES, 2.0 * (9.0 + 6.0 + 1.0) + 2.0)]),
    );
}

#[test]
fn the_documented_one_clones_and_creates_nothing() {
    if require_adapter().is_none() {
        return;
    }
    assert_counts(
        DOCUMENTED_GPU,
        &[
            ("chunks", 2.0),
            ("pairs", 100.0),
            ("samples", N),
            ("copied-bytes", 2.0 * BANDS * 8.0 * (N + EXTENDED + N)),
            // Three kernels that move, two that filter, one for the Hilbert transform, and one for the result.
            (metric::DISPATCHES, 2.0 * (4.0 * AROUND + 2.0 * IN_TIME + 7.0) + 2.0),
            (metric::DOWNLOAD_BYTES, 102.0 * 4.0),
            (metric::DOWNLOAD_COPIES, 1.0),
            (metric::SUBMITS, 1.0),
            (metric::SYNCS, 1.0),
        ],
    );
}

fn setup() -> Setup {
    workload().setup(1, "auto", ".")
}

/// Computes the index of `x` with each of the document's variants.
fn of_each(settings: &Settings, shape: Shape, x: &[f32]) -> Vec<(&'static str, Result<Vec<f64>, String>)> {
    fn run<V: Variant>(mut variant: V, x: &[f32], count: usize) -> Result<Vec<f64>, String> {
        let pool = vec![x.to_vec(); signal::POOL];
        let mut index = vec![7.0; count];
        let told = variant.load(&pool).and_then(|()| variant.index(1, x, &mut index));
        told.map(|_| index).map_err(|failure| failure.to_string())
    }
    let count = settings.indexes(shape.channels);
    let mut all = vec![
        (SLOW, run(Slow::new(&setup(), settings, shape).unwrap(), x, count)),
        (DOCUMENTED, run(Documented::new(settings, shape), x, count)),
    ];
    if require_adapter().is_some() {
        let slow = |clones| SlowGpu::new(&setup(), settings, shape, clones).unwrap();
        all.push((SLOW_GPU, run(slow(Clones::Made), x, count)));
        all.push((UNCLONED_GPU, run(slow(Clones::LeftOut), x, count)));
        all.push((DOCUMENTED_GPU, run(DocumentedGpu::new(&setup(), settings, shape).unwrap(), x, count)));
    }
    all
}

fn settings(bands: usize) -> Settings {
    Settings {
        sf_hz: 512.0,
        phase: Band::adjoining(2.0, 20.0, bands),
        amplitude: Band::adjoining(60.0, 160.0, bands + 1),
        bins: 18,
        normalisation: Normalisation::Textbook,
    }
}

fn noise(count: usize) -> Vec<f32> {
    crate::tests::edges::noise(count).into_iter().map(|x| x as f32).collect()
}

#[test]
fn hostile_signals_have_the_index_of_the_definition_in_each_variant() {
    let with = |scale: f32| noise(600).into_iter().map(|x| x * scale).collect::<Vec<f32>>();
    let spike: Vec<f32> =
        noise(600).into_iter().enumerate().map(|(t, x)| if t == 300 { 50.0 } else { x }).collect();
    for (what, settings, shape, x) in [
        ("noise", settings(1), Shape::new(1, 600), noise(600)),
        ("zeros", settings(1), Shape::new(1, 600), vec![0.0; 600]),
        ("small", settings(1), Shape::new(1, 600), with(1e-12)),
        ("large", settings(1), Shape::new(1, 600), with(1e12)),
        ("a spike", settings(1), Shape::new(1, 600), spike),
        ("as few samples as can be", settings(1), Shape::new(2, 4), noise(8)),
        ("a prime number of samples", settings(2), Shape::new(1, 1009), noise(1009)),
        ("a whole chunk and a part", settings(3), Shape::new(7, 130), noise(7 * 130)),
        ("two bins", Settings { bins: 2, ..settings(1) }, Shape::new(1, 300), noise(300)),
        ("many bins", Settings { bins: 128, ..settings(1) }, Shape::new(1, 2000), noise(2000)),
    ] {
        let wide: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
        let due = oracle(&settings, shape, &wide).unwrap().index;
        for (variant, index) in of_each(&settings, shape, &x) {
            let check = Check::compare(&due, &index.unwrap(), Tolerance::Absolute(2e-6));
            assert!(check.passed, "{what}, {variant}: {:?}", check.message);
        }
    }
}

#[test]
fn a_sample_that_is_no_number_is_named_by_each_variant() {
    for (value, word) in [(f32::NAN, "NaN"), (f32::INFINITY, "inf"), (f32::NEG_INFINITY, "-inf")] {
        let mut x = noise(400);
        x[230] = value;
        x[300] = f32::NAN;
        for (variant, index) in of_each(&settings(1), Shape::new(2, 200), &x) {
            let told = index.unwrap_err();
            assert!(told.starts_with(&format!("sample 30 of channel 1 is {word};")), "{variant}: {told}");
        }
    }
}
