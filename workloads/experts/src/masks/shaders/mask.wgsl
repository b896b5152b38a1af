// The mask of a batch, [sequences][queries][keys]: 0 where a query sees a key, MASKED elsewhere.

@group(0) @binding(0) var<storage, read> padding: array<u32>;
@group(0) @binding(1) var<storage, read_write> mask: array<f32>;

const THREADS = 64u;

@compute @workgroup_size(THREADS)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let i = id.y * groups.x * THREADS + id.x;
    if i >= arrayLength(&mask) { return; }
    let key = i % POSITIONS;
    let query = i / POSITIONS % POSITIONS;
    mask[i] = select(0.0, MASKED, key > query || key < padding[i / (POSITIONS * POSITIONS)]);
}
