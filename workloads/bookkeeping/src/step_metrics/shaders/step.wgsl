// One training step: weights and momentum turn by a fixed angle. COS and SIN are as in experts.rs.

@group(0) @binding(0) var<storage, read_write> weights: array<f32>;
@group(0) @binding(1) var<storage, read_write> momentum: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= arrayLength(&weights) { return; }
    let w = weights[id.x];
    let m = momentum[id.x];
    weights[id.x] = COS * w - SIN * m;
    momentum[id.x] = SIN * w + COS * m;
}
