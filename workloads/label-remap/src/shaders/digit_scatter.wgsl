// Writes the labels of each tile to their places by one digit, and keeps the order of equal ones.

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<uniform> pass_number: u32;
// Place of the first label of each digit and tile.
@group(0) @binding(2) var<storage, read> counts: array<u32>;
@group(0) @binding(3) var<storage, read_write> moved: array<i32>;

// This is all the memory that every device guarantees to a workgroup.
var<workgroup> keys: array<u32, 4096>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let tile = tile_of(group, groups);
    let tiles = arrayLength(&counts) / DIGITS;
    if tile >= tiles { return; }
    let n = arrayLength(&labels);
    let first = first_of(tile, thread, n);
    let end = min(first + ITEMS, n);
    for (var i = first; i < end; i++) { keys[digit_of(key_of(labels[i]), pass_number) * SIZE + thread] += 1u; }
    workgroupBarrier();
    offsets(thread);
    var shift: array<u32, DIGITS>;
    for (var digit = 0u; digit < DIGITS; digit++) {
        shift[digit] = counts[digit * tiles + tile] - keys[digit * SIZE];
    }
    workgroupBarrier();
    for (var i = first; i < end; i++) {
        let label = labels[i];
        let digit = digit_of(key_of(label), pass_number);
        let mine = digit * SIZE + thread;
        moved[shift[digit] + keys[mine]] = label;
        keys[mine] += 1u;
    }
}
