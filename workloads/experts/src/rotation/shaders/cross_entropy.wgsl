// The cross entropy of each row of logits with its target: the logarithm of the sum of all exponentials, less the logit
// of the target. The softmax itself is not stored.

@group(0) @binding(2) var<storage, read> targets: array<u32>;

var<workgroup> largest: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let columns = arrayLength(&values) / arrayLength(&losses);
    let first = group.x * columns;
    var top = -3.0e38;
    for (var i = thread; i < columns; i += THREADS) { top = max(top, values[first + i]); }
    largest[thread] = top;
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half { largest[thread] = max(largest[thread], largest[thread + half]); }
    }
    workgroupBarrier();
    top = largest[0];
    var sum = 0.0;
    for (var i = thread; i < columns; i += THREADS) { sum += exp(values[first + i] - top); }
    let all = add(thread, sum);
    if thread == 0u { losses[group.x] = log(all) + top - values[first + targets[group.x]]; }
}
