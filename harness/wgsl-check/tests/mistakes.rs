//! Small kernels with and without mistakes.

#![expect(
    clippy::unwrap_used,
    reason = "a test program; clippy exempts only functions that are tests themselves"
)]

use perfharness_gpu::{Gpu, GpuOptions};
use perfharness_wgsl_check::{Checker, Mistake, Report};
use rstest::rstest;

const HEAD: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
var<workgroup> shared_words: array<u32, 64>;
var<workgroup> counter: atomic<u32>;
var<private> mine: array<u32, 4>;
@compute @workgroup_size(64) fn main(
    @builtin(local_invocation_index) thread: u32, @builtin(global_invocation_id) id: vec3u,
    @builtin(workgroup_id) group: vec3u
) {
    if arrayLength(&out) == 0u { return; }
";

/// Runs a body in three workgroups of 64 invocations, with an output of 192 words that is 0 at first.
fn run(checker: &Checker, body: &str) -> (Vec<u32>, Report) {
    let source = format!("{HEAD}{body}\n}}");
    checker.run(|| {
        let gpu = Gpu::new("auto", &GpuOptions::default()).unwrap();
        let out = gpu.upload("out", &[0_u32; 192]).unwrap();
        let kernel = gpu.pipeline("kernel", &source, "main").unwrap().bind([("out", &out)]).unwrap();
        gpu.commands("kernel").dispatch(&kernel, [3, 1, 1]).submit().unwrap();
        gpu.read::<u32>(&out).unwrap()
    })
}

#[rstest]
#[case::two_writes_of_one_word("out[0] = thread;", Mistake::Race)]
#[case::two_writes_of_one_value("out[0] = 7u;", Mistake::Race)]
#[case::a_read_beside_a_write("out[id.x] = out[(id.x + 1u) % 192u];", Mistake::Race)]
#[case::a_write_after_a_read_of_another_workgroup(
    "let x = out[(id.x + 64u) % 192u]; storageBarrier(); out[id.x] = x;",
    Mistake::Race
)]
#[case::a_barrier_for_the_wrong_memory(
    "out[id.x] = 1u; workgroupBarrier(); out[id.x] += out[id.x ^ 1u];",
    Mistake::Race
)]
#[case::a_barrier_for_the_other_wrong_memory(
    "shared_words[thread] = 1u; storageBarrier(); out[id.x] = shared_words[thread ^ 1u];",
    Mistake::Race
)]
#[case::an_atomic_word_that_is_also_read(
    "let p = &out[0]; atomicAdd(&counter, 1u); *p = atomicLoad(&counter);",
    Mistake::Race
)]
#[case::an_index_of_storage("out[id.x + 1u] = 1u;", Mistake::OutOfBounds)]
#[case::an_index_of_shared_words("shared_words[id.x] = 1u;", Mistake::OutOfBounds)]
#[case::an_index_of_a_private_array("mine[thread] = 1u;", Mistake::OutOfBounds)]
#[case::a_negative_index("mine[i32(thread) - 1] = 1u;", Mistake::OutOfBounds)]
#[case::a_barrier_after_a_return("if thread == 5u { return; } workgroupBarrier();", Mistake::StrayBarrier)]
#[case::different_barriers(
    "if thread < 32u { workgroupBarrier(); } else { storageBarrier(); }",
    Mistake::StrayBarrier
)]
#[case::an_endless_loop("loop { if atomicLoad(&counter) > 64u { break; } }", Mistake::NoProgress)]
fn mistakes_are_found(#[case] body: &str, #[case] mistake: Mistake) {
    for seed in 0..3 {
        let (_, report) = run(&Checker::new(seed).with_steps(1_000_000), body);
        let kinds: Vec<Mistake> = report.findings.iter().map(|finding| finding.mistake).collect();
        assert_eq!(kinds, [mistake], "seed {seed}: {report}");
    }
}

#[test]
fn memory_of_a_workgroup_must_be_written_only_where_it_starts_undefined() {
    let body = "out[id.x] = shared_words[thread] + atomicLoad(&counter);";
    let (out, report) = run(&Checker::new(1), body);
    assert!(report.findings.is_empty() && out == [0; 192], "{report}");
    let (out, report) = run(&Checker::new(1).with_undefined_workgroup_memory(), body);
    assert!(report.has(Mistake::Unwritten) && !out.contains(&0), "{report}");
}

#[rstest]
#[case::own_words("out[id.x] = id.x;", |i| i)]
#[case::a_barrier_in_between(
    "shared_words[thread] = thread; workgroupBarrier(); out[id.x] = shared_words[63u - thread];", |i| 63 - i % 64
)]
#[case::barriers_in_a_loop(
    "shared_words[thread] = 1u;
     for (var gap = 1u; gap < 64u; gap *= 2u) {
         workgroupBarrier();
         var sum = shared_words[thread];
         if thread >= gap { sum += shared_words[thread - gap]; }
         workgroupBarrier();
         shared_words[thread] = sum;
     }
     out[id.x] = shared_words[thread];", |i| i % 64 + 1
)]
#[case::atomic_counts(
    "atomicAdd(&counter, 2u); workgroupBarrier(); out[id.x] = atomicLoad(&counter);", |_| 128
)]
#[case::a_uniform_load(
    "if thread == 9u { shared_words[3] = group.x; } out[id.x] = workgroupUniformLoad(&shared_words[3]);", |i| i / 64
)]
#[case::storage_and_a_barrier_for_it(
    "out[id.x] = thread; storageBarrier(); let x = out[id.x ^ 1u]; storageBarrier(); out[id.x] = x;", |i| (i % 64) ^ 1
)]
#[case::private_memory_and_a_switch(
    "mine[thread % 4u] = 5u; switch thread % 4u { case 0u, 1u: { mine[2] = 1u; } default: {} }
     out[id.x] = mine[0] + mine[1] + mine[2] + mine[3];",
    |i| [6, 6, 5, 5][i as usize % 4]
)]
#[case::integers_wrap_and_divide_as_the_language_says(
    "let x = i32(thread) - 32; let low = -2147483647 - 1;
     out[id.x] = u32(x / 5 + x % 5) + u32(low / select(1, -1, thread < 64u)) + (0u - 1u) / 0xffffffffu + thread / (thread & 0u);",
    |i: u32| {
        let x = (i % 64) as i32 - 32;
        ((x / 5 + x % 5) as u32).wrapping_add(0x8000_0000).wrapping_add(1).wrapping_add(i % 64)
    }
)]
#[case::bits_and_floats(
    "let f = f32(thread) * 0.5 - 3.25;
     out[id.x] = bitcast<u32>(f) ^ countLeadingZeros(thread) ^ (firstTrailingBit(thread | 8u) << 3u) ^ u32(i32(round(f)));",
    |i: u32| {
        let thread = i % 64;
        let f = thread as f32 * 0.5 - 3.25;
        f.to_bits() ^ thread.leading_zeros() ^ ((thread | 8).trailing_zeros() << 3) ^ (f.round_ties_even() as i32 as u32)
    }
)]
fn sound_kernels_have_no_findings_and_the_right_results(#[case] body: &str, #[case] due: fn(u32) -> u32) {
    for seed in 0..5 {
        for checker in [Checker::new(seed), Checker::new(seed).with_steps(5_000_000)] {
            let (out, report) = run(&checker, body);
            assert!(report.findings.is_empty(), "seed {seed}: {report}");
            assert_eq!(out, (0..192).map(due).collect::<Vec<u32>>(), "seed {seed}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_order_and_others_give_others() {
    let body = "let at = atomicAdd(&counter, 1u); out[id.x] = at;";
    let orders: Vec<Vec<u32>> = (0..4).map(|seed| run(&Checker::new(seed), body).0).collect();
    assert_eq!(orders[0], run(&Checker::new(0), body).0);
    assert!(orders.iter().skip(1).all(|order| *order != orders[0]));
}

#[test]
#[should_panic(expected = "no kernel contains")]
fn an_edit_that_fits_nothing_is_an_error() {
    run(&Checker::new(1).with_edit("no such text", ""), "out[id.x] = 1u;");
}

#[test]
#[should_panic(expected = "dispatched nothing")]
fn a_run_without_a_dispatch_is_an_error() {
    Checker::new(1).run(|| ());
}
