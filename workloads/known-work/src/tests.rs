//! Tests every kernel against its reference, its exact counts, and everything that can be planted in it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use perfharness_contract::protocol::{Mode, Reading, SampleRequest};
use perfharness_contract::{Name, Placement};
use perfharness_gpu::metric;
use perfharness_gpu::testing::require_adapter;
use rstest::rstest;

use super::*;
use crate::kernel::PLANTED_COPY;

const SPIN: Params = Params { id: "", kernel: Kind::Spin, steps: 1000, buffer_bytes: 0 };
const GATHER: Params = Params { id: "", kernel: Kind::Gather, steps: 1000, buffer_bytes: 4096 };
const SWEEP: Params =
    Params { id: "", kernel: Kind::Sweep, steps: 1000, buffer_bytes: 4 * Sweep::WINDOW * 8 };
const APPEND: Params = Params { id: "", kernel: Kind::Append, steps: 100, buffer_bytes: 0 };
const COPY: Params = Params { id: "", kernel: Kind::Copy, steps: 100, buffer_bytes: 0 };
const GPU: Params = Params { id: "", kernel: Kind::Gpu, steps: 1000, buffer_bytes: 0 };

/// A temporary folder that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("perfharness-known-work-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn setup(&self) -> Setup {
        Setup::new(1, "auto", &self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn planted(spec: &str) -> Planted {
    if spec.is_empty() { Planted::NOTHING } else { Planted::NOTHING.with(spec).unwrap() }
}

/// Whether a case can run here. A case that cannot is visibly skipped.
fn can_run(params: &Params) -> bool {
    params.kernel != Kind::Gpu || require_adapter().is_some()
}

#[rstest]
fn every_kernel_agrees_with_its_reference_whatever_extra_work_it_does(
    #[values(SPIN, GATHER, SWEEP, APPEND, COPY, GPU)] params: Params,
    #[values((100, ""), (110, ""), (200, ""), (105, "time=1.37,copies=+2,syncs=+1,writes=+3,allocations=+1,peak=2,leak=64"))]
    more: (u64, &str),
) {
    if !can_run(&params) {
        return;
    }
    let scratch = Scratch::new();
    let (percent, spec) = more;
    let mut variant = place(&params, percent, &planted(spec), &scratch.setup()).unwrap();
    let mut outputs = BTreeSet::new();
    for (round, index) in [(0, 0), (0, 1), (7, 0), (7, 3)] {
        variant.load(round).unwrap();
        variant.run(index).unwrap();
        variant.fence().unwrap();
        let check = variant.check(index).unwrap();
        assert!(check.passed, "{params:?}, {more:?}, round {round}, index {index}: {check:?}");
        outputs.insert(check.output.unwrap().0);
    }
    assert_eq!(outputs.len(), 4, "a result is a function of round and index");
}

#[rstest]
fn several_iterations_of_a_round_leave_what_the_last_is_to_leave(
    #[values(SPIN, GATHER, SWEEP, APPEND, COPY, GPU)] params: Params,
) {
    if !can_run(&params) {
        return;
    }
    let scratch = Scratch::new();
    let mut variant = place(&params, 110, &planted("writes=+1"), &scratch.setup()).unwrap();
    variant.load(2).unwrap();
    for index in 0..40 {
        variant.run(index).unwrap();
    }
    variant.fence().unwrap();
    assert!(variant.check(39).unwrap().passed);
    assert!(!variant.check(38).unwrap().passed, "the result of another input passed");
    // A check between iterations leaves the file unchanged.
    variant.run(40).unwrap();
    variant.fence().unwrap();
    assert!(variant.check(40).unwrap().passed);
}

#[rstest]
fn a_planted_wrong_result_is_found(#[values(SPIN, GATHER, SWEEP, APPEND, COPY, GPU)] params: Params) {
    if !can_run(&params) {
        return;
    }
    let scratch = Scratch::new();
    let mut variant = place(&params, 100, &planted("wrong"), &scratch.setup()).unwrap();
    for index in 0..5 {
        variant.load(0).unwrap();
        variant.run(index).unwrap();
        variant.fence().unwrap();
        assert!(!variant.check(index).unwrap().passed, "{params:?}, index {index}");
    }
}

#[test]
fn a_broken_buffer_gives_a_wrong_result() {
    let scratch = Scratch::new();
    let setup = scratch.setup();
    let gather = Chain::new(Gather::new(GATHER.buffer_bytes, &setup));
    let mut variant = Known::new(gather, Work::of(GATHER.steps, 100), &setup);
    variant.load(0).unwrap();
    variant.run(0).unwrap();
    assert!(variant.check(0).unwrap().passed);
    // A reference over the same buffer would miss the damage.
    variant.kernel.walk.buffer.words.fill(0);
    variant.run(0).unwrap();
    assert!(!variant.check(0).unwrap().passed);
}

/// Returns the numbers of extra steps that explain the spare value of a chain; exactly one number is expected.
fn extra_steps<W: Walk>(chain: W, params: Params, percent: u64, spec: &str) -> Vec<u64> {
    let scratch = Scratch::new();
    let setup = scratch.setup();
    let work = Work::of(params.steps, percent);
    let mut variant = Known::new(Chain::new(chain), work, &setup).plant(&planted(spec));
    variant.load(3).unwrap();
    variant.run(2).unwrap();
    let Chain { walk, result, spare } = &variant.kernel;
    let start = Start { index: 2, step: params.steps, state: *result };
    (0..=2 * params.steps).filter(|steps| walk.reference(start, *steps) == *spare).collect()
}

#[test]
fn extra_work_is_walked_to_the_step() {
    let scratch = Scratch::new();
    let gather = || Gather::new(GATHER.buffer_bytes, &scratch.setup());
    let sweep = || Sweep::new(SWEEP.buffer_bytes, &scratch.setup());
    assert_eq!(extra_steps(Spin, SPIN, 100, ""), [0]);
    assert_eq!(extra_steps(Spin, SPIN, 110, ""), [100]);
    assert_eq!(extra_steps(Spin, SPIN, 200, ""), [1000]);
    assert_eq!(extra_steps(gather(), GATHER, 101, ""), [10]);
    assert_eq!(extra_steps(sweep(), SWEEP, 105, ""), [50]);
    assert_eq!(extra_steps(Spin, SPIN, 100, "time=1.033"), [33]);
    assert_eq!(extra_steps(gather(), GATHER, 110, "time=1.1"), [210]);
}

#[test]
fn shares_of_every_case_are_exact_and_twice_the_sweep_fits_its_window() {
    for params in CASES {
        let id = params.id;
        for (variant, percent, _) in VARIANTS {
            let work = Work::of(params.steps, percent);
            assert_eq!(work.extra * 100, params.steps * (percent - 100), "{id}/{variant}");
            assert_eq!(work.with(&Planted::NOTHING), work, "{id}/{variant}");
        }
    }
    assert!(2 * CASES[2].steps <= Sweep::WINDOW);
}

#[test]
fn a_jump_ends_where_the_chain_does() {
    for steps in [0, 1, 2, 3, 1023, 1024, 40_000] {
        assert_eq!(Spin::jump(42, steps), Spin::chain(42, steps), "{steps} steps");
    }
}

#[test]
fn a_sweep_beyond_the_end_goes_on_at_the_beginning() {
    let scratch = Scratch::new();
    let sweep = Sweep::new(4096, &scratch.setup());
    for (step, steps) in [(0, 512), (500, 12), (500, 13), (511, 1100), (1024, 0)] {
        let start = Start { index: 1, step, state: 5 };
        assert_eq!(sweep.walk(start, steps), sweep.reference(start, steps), "{steps} from {step}");
    }
}

/// Readings of the meters over two iterations, with `spec` planted.
fn readings(params: &Params, percent: u64, spec: &str) -> std::collections::BTreeMap<String, Reading> {
    let spec = spec.to_owned();
    let params = *params;
    let workload = Workload::builder("planted", 1, "")
        .case(Case::new("c", ()))
        .meter(gpu_meter())
        .metric(MetricDef::work(STEPS, "steps"))
        .metrics(CopyCounters::metrics())
        .metrics(Append::metrics())
        .variant("v", Role::Other, "", move |(): &(), setup| place(&params, percent, &planted(&spec), setup))
        .build();
    let scratch = Scratch::new();
    let name = |text: &str| Name::new(text).unwrap();
    let setup = workload.setup(1, "auto", &scratch.0);
    let mut placement = Placement::prepare(&workload, &name("c"), &name("v"), setup).unwrap();
    let request =
        SampleRequest { handle: 0, mode: Mode::Metered, round: 1, offset: 0, lead_in: 2, iterations: 2 };
    let reply = placement.sample(&request).unwrap();
    assert!(placement.check(1, request.last_index(), false).unwrap().check.passed);
    reply.readings
}

/// Counts per iteration of `metrics`.
fn counts(params: &Params, percent: u64, spec: &str, metrics: &[&str]) -> Vec<f64> {
    let readings = readings(params, percent, spec);
    metrics.iter().map(|metric| readings[*metric].value().unwrap() / 2.0).collect()
}

#[test]
fn copies_writes_and_syncs_are_counted() {
    let copies = ["host-copies", "host-copy-bytes", STEPS];
    let planted_bytes = PLANTED_COPY as f64;
    assert_eq!(counts(&SPIN, 100, "", &copies), [0.0, 0.0, 1000.0]);
    assert_eq!(counts(&SPIN, 110, "copies=+1", &copies), [1.0, planted_bytes, 1000.0]);
    assert_eq!(counts(&COPY, 100, "", &copies), [200.0, 200.0 * 8192.0, 100.0]);
    assert_eq!(
        counts(&COPY, 110, "copies=+2", &copies),
        [222.0, 220.0 * 8192.0 + 2.0 * planted_bytes, 100.0]
    );
    let files = ["file-writes", "file-write-bytes", "file-syncs", STEPS];
    assert_eq!(counts(&APPEND, 100, "", &files), [100.0, 25_600.0, 0.0, 100.0]);
    assert_eq!(counts(&APPEND, 101, "writes=+1,syncs=+1", &files), [102.0, 102.0 * 256.0, 1.0, 100.0]);
}

#[test]
fn what_is_planted_on_the_device_is_counted_by_its_meter() {
    if !can_run(&GPU) {
        return;
    }
    let metrics = [
        metric::DISPATCHES,
        metric::SUBMITS,
        metric::SYNCS,
        metric::DEVICE_COPIES,
        metric::DEVICE_COPY_BYTES,
    ];
    assert_eq!(counts(&GPU, 200, "", &metrics), [1.0, 1.0, 0.0, 0.0, 0.0]);
    let planted_bytes = PLANTED_COPY as f64;
    assert_eq!(counts(&GPU, 100, "copies=+1,syncs=+1", &metrics), [1.0, 1.0, 1.0, 1.0, planted_bytes]);
    let peak = |spec| readings(&GPU, 100, spec)[metric::DEVICE_PEAK].value().unwrap();
    assert_eq!(peak("peak=3") - peak(""), 8.0 * f64::from(1 << 20));
    let growth = [metric::DEVICE_GROWTH];
    assert_eq!(counts(&GPU, 100, "", &growth), [0.0]);
    assert_eq!(counts(&GPU, 100, "leak=1024", &growth), [1024.0]);
}

#[test]
fn the_definition_has_a_case_for_each_kernel_and_is_measured_on_request() {
    let workload = workload();
    let definition = workload.definition();
    assert!(definition.on_request);
    let cases: Vec<&str> = definition.cases.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(cases, ["spin", "gather", "sweep", "gpu", "append", "copy"]);
    for variant in &definition.variants {
        assert_eq!(variant.role, Role::Other);
        let reference = definition.reference_of(variant).map(Name::as_str);
        assert_eq!(reference, (variant.id != "w100").then_some("w100"));
    }
    let setup = workload.setup(1, "none", "unused");
    let settings = [(SETTING.to_owned(), "tmie=2".to_owned())];
    let setup = setup.with_settings(settings.into());
    let name = |text: &str| Name::new(text).unwrap();
    let refused = workload.construct(&name("spin"), &name("w100"), &setup).err().unwrap();
    assert!(refused.to_string().contains("`tmie=2` cannot be planted"), "{refused}");
}
