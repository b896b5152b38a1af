// Writes the different labels of the sorted labels, in order.

// Number of different labels that begin before each tile.
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read_write> unique: array<i32>;

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
    let end = min(first + ITEMS, n);
    var to = counts[tile] + sum_before(count_new(first, end), thread);
    for (var i = first; i < end; i++) {
        if is_new(i) {
            unique[to] = labels[i];
            to++;
        }
    }
}
