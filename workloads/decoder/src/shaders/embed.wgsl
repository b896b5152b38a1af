// Each row becomes the sum of its token and of its place in the sequence.

struct Shape { rows: u32, count: u32, first: u32, positions: u32, width: u32 }

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> embedding: array<f32>;
@group(0) @binding(3) var<storage, read> places: array<f32>;
@group(0) @binding(4) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(64) fn main(
    @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
) {
    let i = id.y * groups.x * 64u + id.x;
    if i >= shape.rows * shape.width { return; }
    let row = i / shape.width;
    let column = i % shape.width;
    let place = shape.first + row % shape.count;
    let token = tokens[row / shape.count * shape.positions + place];
    x[i] = embedding[token * shape.width + column] + places[place * shape.width + column];
}
