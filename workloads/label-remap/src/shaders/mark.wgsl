// One masked pass: `ranks[labels == unique[pass]] = pass`.

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<storage, read> unique: array<i32>;
@group(0) @binding(2) var<uniform> pass_number: u32;
@group(0) @binding(3) var<storage, read_write> ranks: array<u32>;

@compute @workgroup_size(256) fn main(
    @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
) {
    let i = id.y * groups.x * 256u + id.x;
    if i < arrayLength(&labels) && labels[i] == unique[pass_number] { ranks[i] = pass_number; }
}
