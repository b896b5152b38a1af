//! Promises of document 002: Monte Carlo dropout of vision encoders.

use crate::sentence::{Sentence, judged, not_built, not_judged};

/// Reason for sentences about several trained models at once.
const OTHER_MODELS: &str = "A statement about several trained models in one memory; a workload has one \
                            encoder, with random weights.";

pub(crate) const SENTENCES: &[Sentence] = &[
    judged(
        5,
        "Profiling the Exp 0 run on RTX 5000 Ada revealed GPU utilization near 0% despite the model being \
         loaded in VRAM. The bottleneck is overwhelmingly data loading and preprocessing, not compute.",
        &["mc-passes/gpu-idle", "mc-passes/forward-is-fast"],
    ),
    judged(
        17,
        "640 times loading and preprocessing the same 500 images from disk via PIL",
        &["mc-passes/redundant-loads"],
    ),
    judged(23, "Forward pass (fast)", &["mc-passes/forward-is-fast"]),
    judged(24, "Result moved back to CPU for accumulation", &["mc-passes/readback-every-pass"]),
    judged(
        26,
        "Steps 1-5 dominate. The GPU forward pass takes microseconds per batch relative to the I/O + \
         preprocessing overhead.",
        &["mc-passes/forward-is-fast"],
    ),
    judged(
        30,
        "Config | Images loaded from disk | Redundant loads",
        &["mc-passes/redundant-loads", "mc-passes/exp0-loads"],
    ),
    judged(32, "clip_b32, T=64, K=10 | 320,000 | 319,500 (99.8%)", &["mc-passes/redundant-loads"]),
    judged(33, "siglip2_so400m, T=64, K=10 | 320,000 | 319,500 (99.8%)", &["mc-passes/redundant-loads"]),
    judged(34, "Full Exp 0 (3 models × 3 T-values × K=10) | ~1.26M | ~1.26M", &["mc-passes/exp0-loads"]),
    judged(38, "Optimization 1: Precompute pixel tensors (biggest win)", &["mc-passes/precomputed-pixels"]),
    judged(40, "Expected speedup: 10-50x", &["mc-passes/precomputed-pixels"]),
    judged(
        42,
        "Load and preprocess all images once, store as a tensor. Reuse across all MC passes.",
        &["mc-passes/redundant-loads", "mc-passes/exp0-loads"],
    ),
    judged(57, "run_mc_trial becomes a pure GPU loop", &["mc-passes/io-eliminated"]),
    judged(60, "move once", &["mc-passes/io-eliminated"]),
    judged(64, "GPU only, no I/O", &["mc-passes/io-eliminated"]),
    judged(
        69,
        "Tensor size (fp32) | Fits 16GB VRAM? | Fits 128GB unified?",
        &[
            "mc-passes/pixels-500-clip",
            "mc-passes/pixels-500-siglip",
            "mc-passes/pixels-5000-clip",
            "mc-passes/pixels-5000-siglip",
            "mc-passes/pixels-10000-siglip",
        ],
    ),
    judged(
        71,
        "500 imgs | CLIP (224px) | 500 × 3 × 224 × 224 × 4 = 300 MB | Yes | Yes",
        &["mc-passes/pixels-500-clip"],
    ),
    judged(
        72,
        "500 imgs | SigLIP2-so400m (384px) | 500 × 3 × 384 × 384 × 4 = 885 MB | Yes | Yes",
        &["mc-passes/pixels-500-siglip"],
    ),
    judged(73, "5000 imgs | CLIP (224px) | 3.0 GB | Yes | Yes", &["mc-passes/pixels-5000-clip"]),
    judged(
        74,
        "5000 imgs | SigLIP2-so400m (384px) | 8.8 GB | Tight (with model) | Yes",
        &["mc-passes/pixels-5000-siglip"],
    ),
    judged(
        75,
        "10000 imgs | SigLIP2-so400m (384px) | 17.6 GB | No (offload to CPU) | Yes",
        &["mc-passes/pixels-10000-siglip"],
    ),
    judged(79, "Mixed precision (torch.float16 / torch.bfloat16)", &["mc-passes/half-precision"]),
    judged(81, "Expected speedup: 1.5-2x on forward pass", &["mc-passes/half-precision"]),
    judged(
        83,
        "The RTX 5000 Ada has excellent FP16/BF16 tensor core performance. The forward pass can run in half \
         precision while accumulation stays in fp64.",
        &["mc-passes/half-precision"],
    ),
    judged(
        95,
        "torch.inference_mode() instead of torch.no_grad()",
        &["mc-passes/inference-mode", "inference-mode/less-bookkeeping"],
    ),
    judged(
        97,
        "Expected speedup: ~5-10% (less bookkeeping overhead)",
        &["mc-passes/inference-mode", "inference-mode/less-bookkeeping"],
    ),
    judged(
        105,
        "inference_mode is stricter than no_grad — it disables autograd entirely and avoids version counting \
         on tensors.",
        &["inference-mode/no-version-counting"],
    ),
    judged(
        111,
        "With precomputed tensors already on device, memory is freed from PIL/preprocessing overhead.",
        &["mc-passes/memory-freed"],
    ),
    judged(113, "Recommended batch_size", &["mc-passes/recommended-batches"]),
    judged(
        115,
        "RTX 5000 Ada (16GB) | CLIP-B/32 | 256-500 (entire dataset)",
        &["mc-passes/recommended-batches"],
    ),
    judged(116, "RTX 5000 Ada (16GB) | SigLIP2-B/16 | 128-256", &["mc-passes/recommended-batches"]),
    judged(117, "RTX 5000 Ada (16GB) | SigLIP2-so400m | 64-128", &["mc-passes/recommended-batches"]),
    judged(
        118,
        "M3 Ultra (128GB) | Any model | 500-5000 (entire dataset)",
        &["mc-passes/recommended-batches"],
    ),
    judged(
        120,
        "With the full 500-image dataset fitting in one batch, there's zero batch loop overhead.",
        &["mc-passes/one-batch"],
    ),
    judged(126, "Expected speedup: 1.2-2x on forward pass", &["mc-passes/fusion"]),
    judged(
        132,
        "Fuses operations, reduces kernel launch overhead. First call has compilation cost (~30s), then \
         subsequent calls are faster. Worth it for T=64 × K=10 = 640 forward passes.",
        &["mc-passes/fusion", "mc-passes/first-call"],
    ),
    not_judged(
        134,
        "torch.compile() does not yet work reliably with MPS (Apple Silicon).",
        "A limit of a library that is not used here.",
    ),
    not_built(164, "no workers needed with precomputed tensors", &[8]),
    not_judged(171, "auto-tune conv algorithms", "A setting of a library; no workload convolves images."),
    not_judged(172, "TF32 on Ampere+", "Portable shaders have no such number format."),
    judged(175, "For the so400m model at 5000 images, if VRAM is tight:", &["mc-passes/tight-memory"]),
    judged(176, "Keep pixel tensor on CPU, transfer batches", &["mc-passes/tight-memory"]),
    judged(186, "Current (PIL reload every pass) | ~6-8 hours", &["mc-passes/exp0-precomputed"]),
    judged(187, "+ Precompute pixels | ~20-40 min", &["mc-passes/exp0-precomputed", "mc-passes/exp0-half"]),
    judged(188, "+ AMP fp16 | ~12-25 min", &["mc-passes/exp0-half", "mc-passes/exp0-compiled"]),
    judged(189, "+ torch.compile | ~8-18 min", &["mc-passes/exp0-compiled", "mc-passes/exp0-batches"]),
    judged(190, "+ Batch size 256 | ~6-15 min", &["mc-passes/exp0-batches"]),
    judged(198, "128GB unified memory — no CPU↔GPU transfer penalty.", &["mc-passes/unified-memory"]),
    judged(
        199,
        "No PCIe bottleneck — CPU and GPU share the same memory pool. tensor.to('mps') is essentially a \
         no-op pointer change.",
        &["mc-passes/unified-memory"],
    ),
    not_judged(
        200,
        "Can load all models at once — clip_b32 (~350MB) + clip_l14 (~890MB) + siglip2_b16 (~400MB) + \
         siglip2_so400m (~1.6GB) = ~3.2GB total. Trivial.",
        OTHER_MODELS,
    ),
    judged(209, "entire dataset in one batch", &["mc-passes/recommended-batches"]),
    not_judged(210, "MPS + multiprocessing can deadlock", "A limit of a library that is not used here."),
    not_judged(
        220,
        "Some ops fall back to CPU silently — watch for slow individual ops",
        "A limit of a library that is not used here.",
    ),
    not_judged(
        223,
        "float64 is not supported on MPS — accumulate on CPU",
        "A limit of a device, and not a promise. documented accumulates in float64 on the host; optimized \
         does not need float64.",
    ),
    judged(
        228,
        "No .to('mps') needed — unified memory means it's already accessible",
        &["mc-passes/unified-memory"],
    ),
    not_judged(233, "With 128GB, you can exploit the M3 Ultra's multi-model advantage:", OTHER_MODELS),
    not_judged(236, "Load ALL models upfront (total ~3.2GB, trivial for 128GB)", OTHER_MODELS),
    judged(247, "Now trials are pure compute — no I/O at all", &["mc-passes/io-eliminated"]),
    judged(
        252,
        "The M3 Ultra GPU has ~22 TFLOPS FP32 (vs RTX 5000 Ada's ~50 TFLOPS). Raw compute is ~2.3x slower \
         than the RTX 5000 Ada.",
        &["mc-passes/unified-machine"],
    ),
    judged(
        254,
        "with the current I/O-bound code, the M3 Ultra might actually be faster because:",
        &["mc-passes/unified-machine"],
    ),
    judged(255, "No PCIe transfer overhead", &["mc-passes/unified-memory"]),
    judged(256, "Unified memory eliminates copies", &["mc-passes/unified-memory"]),
    judged(257, "High memory bandwidth (~800 GB/s)", &["mc-passes/unified-machine"]),
    judged(261, "RTX 5000 Ada (optimized) | M3 Ultra (optimized)", &["mc-passes/unified-machine"]),
    judged(263, "Exp 0 full | ~8-15 min | ~15-30 min", &["mc-passes/unified-machine"]),
    judged(264, "Exp 5 (N=5000) | ~10-20 min | ~20-40 min", &["mc-passes/unified-machine"]),
    judged(265, "All Phase 1 | ~30-60 min | ~60-120 min", &["mc-passes/unified-machine"]),
    judged(
        271,
        "Precompute pixel tensors — Biggest win. Single change eliminates 99.8% of I/O.",
        &["mc-passes/io-eliminated", "mc-passes/redundant-loads"],
    ),
    judged(
        272,
        "Enable progress bars — Zero cost, huge UX improvement.",
        &[
            "mc-passes/progress",
            "progress/zero-cost",
            "progress/zero-cost-every-50th",
            "progress/user-experience",
        ],
    ),
    judged(
        273,
        "AMP fp16 — Easy to add, meaningful speedup on both platforms.",
        &["mc-passes/half-precision"],
    ),
    judged(274, "Larger batch sizes — Free with precomputed tensors.", &["mc-passes/one-batch"]),
    judged(
        275,
        "torch.compile() — NVIDIA only, good for long runs.",
        &["mc-passes/fusion", "mc-passes/first-call"],
    ),
    judged(276, "torch.inference_mode() — Small but free.", &["inference-mode/small-but-free"]),
    judged(
        280,
        "The current implementation is I/O bound, not compute bound. The GPU sits idle 95%+ of the time \
         waiting for PIL image loads. Precomputing pixel tensors once and reusing them across MC passes \
         would transform a 6-8 hour Exp 0 run into a 10-15 minute one on either platform.",
        &["mc-passes/gpu-idle", "mc-passes/forward-is-fast", "mc-passes/whole-run"],
    ),
];
