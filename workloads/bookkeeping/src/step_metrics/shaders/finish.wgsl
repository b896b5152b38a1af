// The metrics from partial products and loads, in one workgroup.

@group(0) @binding(0) var<storage, read> weights: array<f32>;
@group(0) @binding(1) var<storage, read> partials: array<f32>;
@group(0) @binding(2) var<storage, read> tokens: array<f32>;
// Mean |cos|, entropy of the loads, mean angle.
@group(0) @binding(3) var<storage, read_write> metrics: array<f32>;

// As in experts.rs and training.rs.
const EXPERTS = 8u;
const LENGTH = 16384u;
const TOKENS = 64u;
const FEATURES = 16u;
const SUMS = 36u;
const PAIRS = 28.0;

var<workgroup> products: array<f32, SUMS>;
var<workgroup> shares: array<f32, TOKENS * EXPERTS>;
var<workgroup> loads: array<f32, EXPERTS>;

// Place of the product of an expert with itself.
fn diagonal(expert: u32) -> u32 {
    return expert * EXPERTS - (expert * (expert + 1u)) / 2u + expert;
}

@compute @workgroup_size(TOKENS)
fn main(@builtin(local_invocation_index) thread: u32) {
    if thread < SUMS {
        var sum = 0.0;
        for (var i = thread; i < arrayLength(&partials); i += SUMS) { sum += partials[i]; }
        products[thread] = sum;
    }
    // The gate: a softmax over the experts, for one token. Subtracting the largest score keeps `exp` finite.
    var scores: array<f32, EXPERTS>;
    var largest = -3.0e38;
    for (var e = 0u; e < EXPERTS; e++) {
        var score = 0.0;
        for (var f = 0u; f < FEATURES; f++) { score += tokens[thread * FEATURES + f] * weights[e * LENGTH + f]; }
        scores[e] = score;
        largest = max(largest, score);
    }
    var sum = 0.0;
    for (var e = 0u; e < EXPERTS; e++) {
        scores[e] = exp(scores[e] - largest);
        sum += scores[e];
    }
    for (var e = 0u; e < EXPERTS; e++) { shares[thread * EXPERTS + e] = scores[e] / sum; }
    workgroupBarrier();
    if thread < EXPERTS {
        var load = 0.0;
        for (var t = 0u; t < TOKENS; t++) { load += shares[t * EXPERTS + thread]; }
        loads[thread] = load / f32(TOKENS);
    }
    workgroupBarrier();
    if thread > 0u { return; }
    var cosines = 0.0;
    var angles = 0.0;
    var entropy = 0.0;
    for (var a = 0u; a < EXPERTS; a++) {
        if loads[a] > 0.0 { entropy -= loads[a] * log(loads[a]); }
        let square = products[diagonal(a)];
        for (var b = a + 1u; b < EXPERTS; b++) {
            // Two roots, because the product of two squares leaves the range of a float32 sooner.
            let norms = sqrt(square) * sqrt(products[diagonal(b)]);
            var cosine = 0.0;
            if norms > 0.0 { cosine = clamp(products[diagonal(a) + b - a] / norms, -1.0, 1.0); }
            cosines += abs(cosine);
            angles += acos(cosine);
        }
    }
    metrics[0] = cosines / PAIRS;
    metrics[1] = entropy;
    metrics[2] = angles / PAIRS;
}
