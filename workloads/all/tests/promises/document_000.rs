//! Promises of document 000: labels and metrics of a variational autoencoder.

use crate::sentence::{EQUAL_RESULTS, Sentence, judged, not_built, not_judged};

pub(crate) const SENTENCES: &[Sentence] = &[
    judged(14, "CPU round-trip: 13-25ms per batch", &["label-remap/faster-batches"]),
    judged(16, "Python loop!", &["label-remap/faster-batches"]),
    judged(
        23,
        "GPU-side only: ~1-2ms per batch",
        &["label-remap/faster-batches", "label-remap/gpu-side-only"],
    ),
    judged(
        30,
        "-12-23ms per batch → 60-115 seconds saved per epoch (5000 batches)",
        &["label-remap/saved-per-batch", "label-remap/saved-per-epoch"],
    ),
    judged(39, "GPU→CPU sync", &["metrics-sync/fewer-syncs"]),
    judged(40, "GPU→CPU sync", &["metrics-sync/fewer-syncs"]),
    judged(41, "GPU→CPU sync", &["metrics-sync/fewer-syncs"]),
    judged(
        55,
        "-3 × (5-10ms GPU sync) per batch → 40 seconds saved per epoch",
        &[
            "metrics-sync/fewer-syncs",
            "metrics-sync/fewer-syncs-lazy-only",
            "metrics-sync/fewer-syncs-as-shipped",
            "metrics-sync/shorter-steps",
            "metrics-sync/lazy-metrics",
            "metrics-sync/lazy-metrics-as-shipped",
        ],
    ),
    judged(62, "Immediate .item() calls every batch", &["metrics-sync/fewer-syncs-as-shipped"]),
    judged(
        63,
        "Extract to Python float only at display time",
        &["metrics-sync/fewer-syncs", "metrics-sync/fewer-syncs-as-shipped"],
    ),
    judged(
        70,
        "CPU sync moved to non-critical path → 5-8 seconds saved per epoch",
        &["metrics-sync/deferred-extraction"],
    ),
    judged(78, "Label remapping GPU-side | 60-115s/epoch | 60-115s", &["label-remap/saved-per-epoch"]),
    judged(
        79,
        "Lazy metric extraction | 40s/epoch | 100-155s",
        &["metrics-sync/lazy-metrics", "metrics-sync/minutes-saved"],
    ),
    judged(
        80,
        "Deferred CPU calls | 5-8s/epoch | 105-163s",
        &["metrics-sync/deferred-extraction", "metrics-sync/minutes-saved"],
    ),
    judged(81, "Total | | 2-5 minutes per epoch!", &["metrics-sync/minutes-saved"]),
    not_judged(88, "Forward pass computation", EQUAL_RESULTS),
    not_judged(89, "Loss calculation (ELBO still correct)", EQUAL_RESULTS),
    not_judged(90, "Gradient flow", "The built workloads of this document have no backward pass."),
    not_judged(91, "Separability loss formula", "The separability loss is in no built workload."),
    judged(95, "Data movement (GPU↔CPU)", &["label-remap/gpu-side-only", "metrics-sync/fewer-syncs"]),
    judged(96, "Python loop elimination", &["label-remap/loop-is-negligible"]),
    judged(97, "Metric extraction timing", &["metrics-sync/deferred-extraction"]),
    not_judged(105, "Epoch metrics should match before/after", EQUAL_RESULTS),
    not_judged(110, "Loss should be identical", EQUAL_RESULTS),
    not_judged(111, "NLL/KL per batch should match", EQUAL_RESULTS),
    not_built(112, "Fisher metrics should match (if enabled)", &[4]),
    not_built(
        126,
        "Fisher computation - Use torch.linalg.lstsq instead of .pinv() for MPS compatibility",
        &[4],
    ),
    not_built(127, "ComplexLinear - Replace slicing with view operations", &[5]),
    not_built(128, "Per-class tracking - Vectorize class-wise metric computation", &[6]),
    judged(
        134,
        "Label remapping is now GPU-efficient but still uses loop over unique_labels",
        &["label-remap/loop-is-negligible"],
    ),
    judged(
        135,
        "If number of unique labels is small (typically 3-6), overhead is negligible",
        &["label-remap/loop-is-negligible"],
    ),
    judged(
        136,
        "Tensor-based metrics still on GPU until explicitly extracted",
        &["metrics-sync/fewer-syncs"],
    ),
    not_judged(
        137,
        "Backward pass and optimizer step unaffected (already optimized)",
        "The built workloads of this document have neither.",
    ),
    judged(
        141,
        "2-5 minute speedup per epoch depending on batch size and model complexity",
        &["metrics-sync/minutes-saved"],
    ),
];
