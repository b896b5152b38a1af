// Counts how often each digit occurs in each tile.

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<uniform> pass_number: u32;
// By digit, then by tile, so that their sums are the places of the labels in the sorted order.
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;

var<workgroup> found: array<atomic<u32>, DIGITS>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let n = arrayLength(&labels);
    let tile = tile_of(group, groups);
    let tiles = arrayLength(&counts) / DIGITS;
    if tile >= tiles { return; }
    let first = tile * SIZE * ITEMS + thread;
    for (var item = 0u; item < ITEMS; item++) {
        let i = first + item * SIZE;
        if i < n { atomicAdd(&found[digit_of(key_of(labels[i]), pass_number)], 1u); }
    }
    workgroupBarrier();
    if thread < DIGITS { counts[thread * tiles + tile] = atomicLoad(&found[thread]); }
}
