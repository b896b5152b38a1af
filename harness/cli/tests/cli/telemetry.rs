//! Readings of the machine while it is measured, with a mock of NVIDIA's library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use perfharness_contract::Number;
use perfharness_engine::ask::ask;
use perfharness_engine::telemetry::{Tick, Watched};
use perfharness_record::telemetry::{Column, Telemetry};

use crate::fixture::{Call, Harness, PROGRAM};

/// Long enough for some readings, a quarter of a second apart.
const A_WHILE: &str = "spin/short/a --time-budget 2s";

/// The library of `fixtures/nvml.rs`.
fn mock() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, library) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join(format!("nvml{}", std::env::consts::DLL_SUFFIX));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/nvml.rs");
        let rustc = Path::new(env!("CARGO")).with_file_name(format!("rustc{}", std::env::consts::EXE_SUFFIX));
        let mut build = Command::new(if rustc.is_file() { rustc } else { "rustc".into() });
        build.args(["--edition", "2024", "--crate-type", "cdylib", "-o"]).arg(&library).arg(&source);
        assert!(build.status().unwrap().success(), "{} does not build", source.display());
        (folder, library)
    });
    library
}

fn with_nvidia<'h>(call: Call<'h>, limits: &str) -> Call<'h> {
    call.env("PERFHARNESS_NVML", mock().to_str().unwrap()).env("MOCK_NVML_LIMITS", limits)
}

fn without_nvidia(call: Call<'_>) -> Call<'_> {
    call.env("PERFHARNESS_NVML", "/nowhere/libnvidia-ml.so")
}

fn column<'t>(telemetry: &'t Telemetry, name: &str) -> &'t Column {
    telemetry.columns.iter().find(|column| column.series.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn told(column: &Column) -> Vec<f64> {
    column.values.iter().flatten().map(|Number(value)| *value).collect()
}

#[test]
fn a_run_knows_what_the_machine_did_meanwhile_and_what_it_cannot_know() {
    let harness = Harness::new();
    without_nvidia(harness.measure(A_WHILE)).worker("good").done().code(0);
    let telemetry = harness.record().telemetry.unwrap();
    assert_eq!(telemetry.interval_ms, 250);
    let readings = telemetry.at_ms.len();
    assert!(readings >= 2, "{telemetry:?}");
    assert!(telemetry.at_ms.is_sorted());
    assert_eq!([telemetry.tag.len(), telemetry.share.len()], [readings; 2]);
    let busy = told(column(&telemetry, "cpu-busy"));
    assert_eq!(busy.len(), readings);
    assert!(busy.iter().all(|share| (0.0..=1.0).contains(share)), "{busy:?}");
    assert!(told(column(&telemetry, "memory-used")).iter().all(|bytes| *bytes > 1e6));
    let tags: Vec<String> = telemetry.tags.iter().map(|tag| tag.benchmark.to_string()).collect();
    assert_eq!(tags, ["spin/short/a"]);
    assert!(telemetry.tag.contains(&Some(0)), "{telemetry:?}");
    let worker = &telemetry.workers[0];
    assert!(worker.rss_bytes.iter().all(|bytes| *bytes > 100_000), "{worker:?}");
    assert_eq!(worker.rss_bytes.len(), worker.reading.len());
    assert!(telemetry.absent["gpu-power"].contains("not installed"), "{:?}", telemetry.absent);
    assert!(telemetry.cost.is_some_and(|Number(share)| share > 0.0), "{telemetry:?}");
    assert!(telemetry.limits.is_empty());
}

#[test]
fn what_nvidias_library_tells_is_kept_with_its_own_resolution() {
    let harness = Harness::new();
    with_nvidia(harness.measure(A_WHILE), "4").worker("good").done().code(0);
    let telemetry = harness.record().telemetry.unwrap();
    let readings = telemetry.at_ms.len();
    assert!(readings >= 2);
    let utilization = column(&telemetry, "gpu-utilization");
    assert_eq!(utilization.series.gpu.as_deref(), Some("Mock H200"));
    assert_eq!(utilization.series.source, "NVML");
    assert_eq!(utilization.series.window_ms, Some(Number(167.0)), "the driver's own rate");
    // Samples that the driver had before watching began belong to somebody else; each one after counts once.
    let shares = told(utilization);
    assert!(!shares.is_empty() && shares.iter().all(|share| *share == 0.6 || *share == 1.0), "{shares:?}");
    // The counter grows by 103 J a reading, whenever that comes; the driver's own mean of the last second is not used.
    let power = column(&telemetry, "gpu-power");
    assert_eq!(power.series.window_ms, Some(Number(250.0)));
    let watts = told(power);
    assert!(watts.len() == readings && watts.iter().all(|watts| (50.0..=520.0).contains(watts)), "{watts:?}");
    for (pair, watts) in telemetry.at_ms.windows(2).zip(&watts[1..]) {
        let joules = watts * (pair[1] - pair[0]) as f64 / 1e3;
        assert!((joules / 103.0 - 1.0).abs() < 0.2, "{joules} J between {pair:?} ms");
    }
    assert_eq!(told(column(&telemetry, "gpu-clock")), vec![1.98e9; readings]);
    assert_eq!(told(column(&telemetry, "gpu-memory-clock")), vec![3.201e9; readings]);
    assert_eq!(told(column(&telemetry, "gpu-memory-used")), vec![3_221_000_000.0; readings]);
    assert_eq!(told(column(&telemetry, "gpu-temperature")), vec![61.0; readings]);
    let energy = told(column(&telemetry, "gpu-energy"));
    assert!(energy.windows(2).all(|pair| (pair[1] - pair[0] - 103.0).abs() < 1.0), "in J: {energy:?}");
    assert!(energy[0] < 1000.0, "since watching began, not since the machine was built: {energy:?}");
    // 4 is a power limit, which is reported and contaminates nothing.
    assert_eq!(telemetry.limits["its power limit"], readings as u64);
    assert!(telemetry.absent["gpu-power/1"].contains("Mock that is silent does not report it"));
    let record = harness.record();
    assert!(!record.cases[0].dropped_blocks.contains_key("throttle"), "{:?}", record.cases[0].dropped_blocks);
}

#[test]
fn what_is_measured_on_a_hot_gpu_is_dropped_and_on_another_one_is_not() {
    let harness = Harness::new();
    // 64 is the driver's word for heat, found by hardware. The GPU that is measured is known by its name.
    let doctor = harness.call("doctor --json").done().code(0).json();
    let Some(name) = doctor["machine"]["facts"]["gpu"].as_str() else {
        assert!(!perfharness_platform::env::is_set_nonempty("PERFHARNESS_REQUIRE_ADAPTER"));
        eprintln!("SKIPPED: there is no adapter whose name the mock could bear");
        return;
    };
    let dropped = |name: &str, twins: bool| {
        let call = with_nvidia(harness.measure(A_WHILE), "64").env("MOCK_NVML_NAME", name);
        let call = if twins { call.env("MOCK_NVML_TWINS", "1") } else { call };
        call.worker("good").done();
        let record = harness.record();
        let telemetry = record.telemetry.unwrap();
        assert!(telemetry.limits.contains_key("its temperature, by hardware"));
        let unknown = telemetry.absent.get("gpu-measured").cloned().unwrap_or_default();
        (record.cases[0].dropped_blocks.get("throttle").copied().unwrap_or(0), unknown)
    };
    let (found, unknown) = dropped(name, false);
    assert!(found > 0 && unknown.is_empty(), "{unknown}");
    let (other, unknown) = dropped("Another GPU", false);
    assert!(other == 0 && unknown.contains(name), "{unknown}");
    // This adapter has no place on a bus to tell two of its name apart.
    if doctor["machine"]["facts"]["gpu-bus"].is_null() {
        let (either, unknown) = dropped(name, true);
        assert!(either == 0 && unknown.contains("2 GPUs"), "{unknown}");
    }
}

#[test]
fn who_wants_no_telemetry_gets_none() {
    let harness = Harness::new();
    harness.measure("spin/short/a --launches 1 --time-budget 100ms --no-telemetry").worker("good").done();
    assert!(harness.record().telemetry.is_none());
}

#[test]
fn the_watching_process_answers_in_lines_and_ends_with_its_input() {
    let harness = Harness::new();
    // Its standard input is empty here, so that it ends by itself, whatever it has said by then.
    with_nvidia(harness.call("probe watch --interval-ms 200"), "0").done().code(0);
    let mut glance = harness.command(Path::new(PROGRAM), &["probe", "glance"]);
    glance.env("PERFHARNESS_NVML", mock());
    let (watched, tick): (Watched, Tick) = ask(glance, Duration::from_mins(1)).unwrap();
    assert!(watched.series.iter().any(|series| series.name == "gpu-power"), "{watched:?}");
    let Number(watts) = tick.values["gpu-power"];
    assert!(
        (10.0..=520.0).contains(&watts),
        "103 J in 0.2 s or more, and not the driver's own 412.5 W: {watts}"
    );
    assert_ne!(watts, 412.5);
}

#[test]
fn the_doctor_asks_the_same_library() {
    let harness = Harness::new();
    let doctor = with_nvidia(harness.call("doctor --json"), "0").done().code(0).json();
    assert_eq!(doctor["nvidia"]["driver"], "999.1");
    assert_eq!(doctor["nvidia"]["devices"][0]["memory_used_bytes"], 3_u64 << 30);
}
