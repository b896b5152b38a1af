// Counts the different labels that begin in each tile of the sorted labels.

@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

var<workgroup> keys: array<u32, SIZE>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let tile = tile_of(group, groups);
    if tile >= arrayLength(&counts) { return; }
    let n = arrayLength(&labels);
    let first = first_of(tile, thread, n);
    let count = count_new(first, min(first + ITEMS, n));
    let before = sum_before(count, thread);
    if thread == SIZE - 1u { counts[tile] = before + count; }
}
