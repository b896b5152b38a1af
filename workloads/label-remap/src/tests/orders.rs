//! Runs the kernels under random orders, and kernels with planted mistakes, which must be found.

use std::collections::BTreeSet;

use perfharness_gpu::GpuOptions;
use perfharness_wgsl_check::{Checker, Mistake, Report};
use rstest::rstest;

use super::*;

fn device() -> Gpu {
    Gpu::new("auto", &GpuOptions::default()).unwrap()
}

/// Inputs for every kernel: one workgroup, several tiles, and more classes than the set of a workgroup holds.
fn remap_everything() {
    for variant in [DOCUMENTED, OPTIMIZED] {
        remap(variant, &labels(4, 100, -5), &labels(5, 100, 1));
        remap(variant, &labels(3, 4200, -5), &labels(4, 4200, 2));
    }
    remap(OPTIMIZED, &labels(1, 4200, 3), &labels(3, 4200, -5));
}

/// Runs a variant on two inputs, and checks each result.
fn remap(variant: &str, first: &[i32], second: &[i32]) {
    let mut placement = place(&device(), variant, first.len()).unwrap();
    placement.set([first, second, first, second].map(<[i32]>::to_vec).into());
    for index in [0, 1] {
        placement.run(index).unwrap();
        let check = placement.check(index).unwrap();
        assert!(check.passed, "{variant}, {} labels, input {index}: {:?}", first.len(), check.message);
    }
}

/// Runs a variant without a look at its results.
fn remap_blindly(variant: &str, labels: &[i32]) {
    let mut placement = place(&device(), variant, labels.len()).unwrap();
    placement.set(vec![labels.to_vec(); 4]);
    placement.run(0).unwrap();
    placement.fence().unwrap();
}

#[test]
fn every_kernel_is_right_in_every_order() {
    let report = Checker::passes(0..2, remap_everything);
    let kernels: Vec<&str> = report.dispatches.keys().map(String::as_str).collect();
    let all = [
        "digit-counts",
        "digit-scatter",
        "distinct",
        "mark",
        "prefix",
        "rank",
        "small",
        "sort",
        "unique-counts",
        "unique-small",
        "unique-write",
    ];
    assert_eq!(kernels, all);
    assert!(report.spurious_failures > 0, "no weak exchange failed");
}

#[test]
fn some_kernels_need_workgroup_memory_that_starts_with_zeros() {
    let ((), report) = Checker::new(0).with_steps(3_000_000).with_undefined_workgroup_memory().run(|| {
        for variant in [DOCUMENTED, OPTIMIZED] {
            remap_blindly(variant, &labels(4, 100, -5));
            remap_blindly(variant, &labels(3, 4200, -5));
        }
    });
    // What happens later is a consequence: an index that was never computed, or a full set that was never emptied.
    let unwritten = report.findings.iter().filter(|finding| finding.mistake == Mistake::Unwritten);
    let found: BTreeSet<&str> = unwritten.map(|finding| finding.kernel.as_str()).collect();
    let expected = ["digit-counts", "digit-scatter", "distinct", "small"];
    assert_eq!(found, expected.into(), "{report}");
}

/// Returns the report of a variant with these parts of its kernels replaced.
fn with_edits(seed: u64, edits: &[(&str, &str)], variant: &str, labels: &[i32]) -> Report {
    let checker = Checker::new(seed).with_steps(3_000_000).with_undefined_workgroup_memory();
    let checker = edits.iter().fold(checker, |checker, (from, to)| checker.with_edit(from, to));
    checker.run(|| remap_blindly(variant, labels)).1
}

#[rstest]
#[case::a_missing_barrier(
    &[("            workgroupBarrier();\n        }\n    }\n}", "        }\n    }\n}")],
    DOCUMENTED, 700, "unique-small", Mistake::Race, "keys[low"
)]
#[case::a_race_on_a_bin_of_a_histogram(
    &[("atomicAdd(&found[digit_of(key_of(labels[i]), pass_number)], 1u)",
       "found[digit_of(key_of(labels[i]), pass_number)] += 1u"),
      ("var<workgroup> found: array<atomic<u32>, DIGITS>", "var<workgroup> found: array<u32, DIGITS>"),
      ("atomicLoad(&found[thread])", "found[thread]")],
    DOCUMENTED, 4200, "digit-counts", Mistake::Race, "found[digit_of"
)]
#[case::a_read_of_the_result_of_the_workgroup_before(
    &[("counts[tile] = before + count;", "counts[tile] = before + count + counts[max(tile, 1u) - 1u];")],
    DOCUMENTED, 4200, "unique-counts", Mistake::Race, "counts[max(tile"
)]
#[case::an_index_with_one_bit_too_many(
    &[(">> (32u - bits)", ">> (31u - bits)")],
    OPTIMIZED, 700, "small", Mistake::OutOfBounds, "slots[slot]"
)]
#[case::a_workgroup_variable_without_a_first_value(
    &[("keys[i] = 0xffffffffu;\n        if i < n { keys[i] = key_of(labels[i]); }", "if i < n { keys[i] = key_of(labels[i]); }")],
    DOCUMENTED, 700, "unique-small", Mistake::Unwritten, "keys["
)]
#[case::a_return_before_a_barrier(
    &[("    let n = arrayLength(&labels);\n    for (var i = thread;",
       "    let n = arrayLength(&labels);\n    if thread >= n { return; }\n    for (var i = thread;")],
    DOCUMENTED, 100, "unique-small", Mistake::StrayBarrier, "workgroupBarrier"
)]
fn a_planted_mistake_is_found_in_every_order(
    #[case] edits: &[(&str, &str)],
    #[case] variant: &str,
    #[case] n: usize,
    #[case] kernel: &str,
    #[case] mistake: Mistake,
    #[case] line: &str,
) {
    let labels = labels(4, n, -5);
    let place = |report: &Report| {
        report.findings.iter().any(|f| f.mistake == mistake && f.kernel == kernel && f.source.contains(line))
    };
    for seed in 0..2 {
        let report = with_edits(seed, edits, variant, &labels);
        assert!(place(&report), "seed {seed}:\n{report}");
    }
    let sound = with_edits(0, &[], variant, &labels);
    assert!(!place(&sound), "the kernel without the mistake:\n{sound}");
}

#[test]
fn a_workgroup_that_waits_for_the_one_before_does_not_end() {
    let wait = "let n = arrayLength(&labels);
        if thread == 0u {
            loop { if atomicLoad(&state.has_smallest) >= group.x { break; } }
            atomicAdd(&state.has_smallest, 1u);
        }
        let first = (group.y";
    let edits = [("let n = arrayLength(&labels);\n    let first = (group.y", wait)];
    let labels = labels(4, 9000, -5);
    let waits = |seed| with_edits(seed, &edits, OPTIMIZED, &labels).has(Mistake::NoProgress);
    assert!((0..8).any(waits), "no order was found in which it waits for ever");
    assert!(!with_edits(0, &[], OPTIMIZED, &labels).has(Mistake::NoProgress));
}

#[test]
fn an_exchange_that_must_not_fail_gives_wrong_ranks() {
    let passes = |edits: &[(&str, &str)], seed: u64| {
        let checker =
            edits.iter().fold(Checker::new(seed), |checker, (from, to)| checker.with_edit(from, to));
        let (passed, report) = checker.run(|| {
            let labels = labels(5, 900, -5);
            let mut placement = place(&device(), OPTIMIZED, labels.len()).unwrap();
            placement.set(vec![labels; 4]);
            placement.run(0).unwrap();
            placement.check(0).unwrap().passed
        });
        assert!(report.spurious_failures > 0 && report.findings.is_empty(), "{report}");
        passed
    };
    // The next slot is taken also where the exchange failed for no reason, so that a key gets into the set twice.
    let edits = [("if seen != 0u { slot = (slot", "if true { slot = (slot")];
    assert!((0..8).any(|seed| !passes(&edits, seed)));
    assert!((0..8).all(|seed| passes(&[], seed)));
}
