// Replaces every label by the number of different keys that are smaller.

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<storage, read> distinct: u32;
@group(0) @binding(2) var<storage, read> sorted: array<u32>;
@group(0) @binding(3) var<storage, read_write> ranks: array<u32>;

@compute @workgroup_size(256) fn main(
    @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
) {
    let i = id.y * groups.x * 256u + id.x;
    if i >= arrayLength(&labels) { return; }
    let key = key_of(labels[i]);
    var low = 0u;
    var high = distinct;
    while low < high {
        let middle = (low + high) / 2u;
        if sorted[middle] < key { low = middle + 1u; } else { high = middle; }
    }
    ranks[i] = low;
}
