// Turns each row of scores into weights with the sum 1, in place.

// `sequence` is the number of rows in a sequence with causal rows, or 0.
struct Shape { rows: u32, columns: u32, sequence: u32 }

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

const MASKED = -3e38;

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    let row = group.y * 32768u + group.x;
    if row >= shape.rows { return; }
    let first = row * shape.columns;
    var seen = shape.columns;
    if shape.sequence > 0u { seen = min(seen, row % shape.sequence + 1u); }
    var most = MASKED;
    for (var i = thread; i < seen; i += GROUP) { most = max(most, x[first + i]); }
    let top = largest(thread, most);
    var sum = 0.0;
    for (var i = thread; i < seen; i += GROUP) {
        let score = x[first + i];
        let weight = select(exp(score - top), 0.0, score <= MASKED);
        x[first + i] = weight;
        sum += weight;
    }
    let all = total(thread, sum);
    // Only a row without any score has the sum 0, since the largest score adds 1.
    let factor = select(1.0 / all, 0.0, all == 0.0);
    for (var i = thread; i < shape.columns; i += GROUP) {
        x[first + i] = select(0.0, x[first + i] * factor, i < seen);
    }
}
