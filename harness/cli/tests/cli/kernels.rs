//! Kernels, compiled for GPUs that are not there.

use std::path::Path;
use std::time::Duration;

use perfharness_engine::ask::ask;
use perfharness_engine::isa::{FAMILIES, FamilyCode};
use perfharness_gpu::testing::require_adapter;
use perfharness_platform::env;
use perfharness_record::{CompiledKernel, Compiler, KernelCode, KernelsRecord};

use crate::fixture::{Harness, PROGRAM};

const SCALE: &str = "
    @group(0) @binding(0) var<storage, read> input: array<f32>;
    @group(0) @binding(1) var<storage, read_write> output: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        var sum = 0.0;
        for (var k = 0u; k < 18u; k++) { sum += input[id.x * 18u + k] * input[k]; }
        output[id.x] = sum;
    }";

/// Values that stay alive over a loop; one that has more of them than registers spills.
fn unrolled(values: usize) -> String {
    let each = |line: &dyn Fn(usize) -> String| (0..values).map(line).collect::<String>();
    let load = each(&|i| format!("var v{i} = input[id.x * {values}u + {i}u];\n"));
    let step = each(&|i| format!("v{i} = v{i} * v{} + 1.0;\n", (7 * i + 1) % values));
    let sum = each(&|i| format!(" + v{i}"));
    format!(
        "@group(0) @binding(0) var<storage, read> input: array<f32>;
        @group(0) @binding(1) var<storage, read_write> output: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {{
            {load}
            for (var k = 0u; k < u32(input[0]); k++) {{ {step} }}
            output[id.x] = 0.0{sum};
        }}"
    )
}

/// A workgroup that shares so many numbers.
fn shared(numbers: usize) -> String {
    format!(
        "var<workgroup> numbers: array<f32, {numbers}>;
        @group(0) @binding(0) var<storage, read_write> output: array<f32>;
        @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {{
            for (var k = i; k < {numbers}u; k += 64u) {{ numbers[k] = output[k]; }}
            workgroupBarrier();
            output[i] = numbers[(i * 7u) % {numbers}u];
        }}"
    )
}

fn compiled(harness: &Harness, family: &str, file: &str) -> FamilyCode {
    let mut command = harness.command(Path::new(PROGRAM), &["probe", "isa", file]);
    command.env("RADV_FORCE_FAMILY", family);
    ask(command, Duration::from_mins(1)).unwrap()
}

fn code(harness: &Harness, family: &str, wgsl: &str) -> CompiledKernel {
    harness.write("kernel.wgsl", wgsl);
    let answer = compiled(harness, family, "kernel.wgsl");
    match &answer.kernels[..] {
        [kernel] => match &kernel.code {
            KernelCode::Compiled(code) => code.clone(),
            KernelCode::Absent { absent } => panic!("{absent}"),
        },
        kernels => panic!("{kernels:?}"),
    }
}

/// Looks for RADV. `PERFHARNESS_REQUIRE_TOOLS` requires it on Linux, where `ci/setup` installs it.
fn has_radv(harness: &Harness) -> bool {
    harness.write("kernel.wgsl", SCALE);
    match compiled(harness, FAMILIES[0], "kernel.wgsl").compiler {
        Compiler::By { .. } => true,
        Compiler::Absent { absent } => {
            let is_required =
                std::env::consts::OS == "linux" && env::is_set_nonempty("PERFHARNESS_REQUIRE_TOOLS");
            assert!(!is_required, "{absent}, and PERFHARNESS_REQUIRE_TOOLS is set");
            eprintln!("skipped: {absent}");
            false
        }
    }
}

#[test]
fn more_work_spills_and_shared_memory_are_seen_in_each_family() {
    let harness = Harness::new();
    if !has_radv(&harness) {
        return;
    }
    for family in FAMILIES {
        let plain = code(&harness, family, SCALE);
        let sine = code(&harness, family, &SCALE.replace("* input[k]", "* input[k] + sin(sum)"));
        assert_ne!(sine.digest, plain.digest);
        let [before, now] = [&plain, &sine].map(|code| code.instructions.unwrap() as f64);
        assert!(now > 1.02 * before, "{family}: {before} to {now}");
        let [few, many] = [16, 300].map(|values| code(&harness, family, &unrolled(values)));
        assert_eq!(few.spills, Some(0), "{family}");
        assert!(many.spills > Some(0), "{family}: {many:?}");
        let [small, large] = [2048, 4096].map(|numbers| code(&harness, family, &shared(numbers)));
        let [before, now] = [&small, &large].map(|code| code.waves.unwrap());
        assert!(2 * now <= before, "{family}: {before} to {now}");
    }
}

#[test]
fn a_renamed_variable_and_a_comment_change_nothing() {
    let harness = Harness::new();
    if !has_radv(&harness) {
        return;
    }
    for family in FAMILIES {
        let plain = code(&harness, family, SCALE);
        let renamed = SCALE.replace("sum", "total").replace("fn main", "/* sums */ fn main");
        assert_eq!(code(&harness, family, &renamed), plain);
        // In a fresh process, too.
        assert_eq!(code(&harness, family, SCALE), plain);
    }
}

#[test]
fn what_does_not_compile_says_why() {
    let harness = Harness::new();
    if !has_radv(&harness) {
        return;
    }
    let reason = |file: &str| match &compiled(&harness, "navi21", file).kernels[..] {
        [kernel] if kernel.label == file => match &kernel.code {
            KernelCode::Absent { absent } => absent.clone(),
            KernelCode::Compiled(code) => panic!("{code:?}"),
        },
        kernels => panic!("{kernels:?}"),
    };
    harness.write("broken.wgsl", "@compute fn main() { let x = ; }");
    assert!(reason("broken.wgsl").contains("1:30"));
    assert!(!reason("missing.wgsl").is_empty());
    harness.write("list.json", "{}");
    assert!(reason("list.json").contains("not a list of kernels"));
    let Compiler::Absent { absent } = compiled(&harness, "", "kernel.wgsl").compiler else {
        panic!("no family was named")
    };
    assert!(absent.contains("RADV_FORCE_FAMILY"), "{absent}");
}

#[test]
fn a_run_records_the_code_of_its_kernels_without_a_gpu() {
    let harness = Harness::new();
    if !has_radv(&harness) || require_adapter().is_none() {
        return;
    }
    let run = "known-work/gpu/w100 --effort quick --launches 1";
    harness.measure(run).done().code(0);
    let benchmark = harness.benchmark("known-work/gpu/w100");
    let Some(KernelsRecord::Known(kernels)) = &benchmark.kernels else { panic!("{:?}", benchmark.kernels) };
    let dispatches: f64 = kernels.iter().map(|kernel| kernel.dispatches.0).sum();
    assert_eq!(Some(dispatches), benchmark.metrics["dispatches"].value.value());
    for family in FAMILIES {
        let total: f64 = kernels
            .iter()
            .map(|kernel| match &kernel.code[family] {
                KernelCode::Compiled(code) => kernel.dispatches.0 * code.instructions.unwrap() as f64,
                KernelCode::Absent { absent } => panic!("{absent}"),
            })
            .sum();
        let instructions = &benchmark.metrics[&format!("code-instructions-{family}")];
        assert!(total > 0.0 && instructions.value.value() == Some(total), "{family}: {total}");
        assert!(matches!(harness.record().compilers[family], Compiler::By { .. }));
    }
}
