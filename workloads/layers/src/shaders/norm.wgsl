// Gives each row a mean of 0 and a variance of 1.

struct Shape { total: u32, rows: u32, first: u32, of_: u32, width: u32 }

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    let row = group.y * 32768u + group.x;
    if row >= shape.total { return; }
    let from_ = (row / shape.rows * shape.of_ + shape.first + row % shape.rows) * shape.width;
    let to = row * shape.width;
    var sum = 0.0;
    for (var i = thread; i < shape.width; i += GROUP) { sum += x[from_ + i]; }
    let mean = total(thread, sum) / f32(shape.width);
    // The deviations are squared, and not the values, whose squares would lose the variance of a large mean.
    var squares = 0.0;
    for (var i = thread; i < shape.width; i += GROUP) { squares += (x[from_ + i] - mean) * (x[from_ + i] - mean); }
    let scale = inverseSqrt(total(thread, squares) / f32(shape.width) + 1e-5);
    for (var i = thread; i < shape.width; i += GROUP) { y[to + i] = (x[from_ + i] - mean) * scale; }
}
