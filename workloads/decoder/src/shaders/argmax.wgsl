// Writes the token with the largest logit; of equal ones the first.

@group(0) @binding(0) var<uniform> place: u32;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> tokens: array<u32>;

const GROUP = 64u;

var<workgroup> best: array<u32, GROUP>;

fn better(a: u32, b: u32) -> u32 {
    return select(a, b, logits[b] > logits[a] || (logits[b] == logits[a] && b < a));
}

@compute @workgroup_size(GROUP) fn main(@builtin(local_invocation_index) thread: u32) {
    let count = arrayLength(&logits);
    var found = min(thread, count - 1u);
    for (var i = thread; i < count; i += GROUP) { found = better(found, i); }
    best[thread] = found;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half { best[thread] = better(best[thread], best[thread + half]); }
    }
    if thread == 0u { tokens[place] = best[0]; }
}
