// Replaces every count by the sum of those before it, with one workgroup.

@group(0) @binding(0) var<storage, read_write> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> total: u32;

var<workgroup> keys: array<u32, SIZE>;

@compute @workgroup_size(SIZE) fn main(@builtin(local_invocation_index) thread: u32) {
    let n = arrayLength(&counts);
    let each = (n + SIZE - 1u) / SIZE;
    let first = min(thread * each, n);
    let end = min(first + each, n);
    var sum = 0u;
    for (var i = first; i < end; i++) { sum += counts[i]; }
    var before = sum_before(sum, thread);
    for (var i = first; i < end; i++) {
        let count = counts[i];
        counts[i] = before;
        before += count;
    }
    if thread == SIZE - 1u { total = before; }
}
