// Tiles: the labels that a workgroup handles. Each thread has ITEMS consecutive ones, so that equal labels keep their
// order.

const ITEMS = 16u;

// Returns the first label of a thread, at most `n`.
fn first_of(tile: u32, thread: u32, n: u32) -> u32 {
    return min((tile * SIZE + thread) * ITEMS, n);
}

fn tile_of(group: vec3u, groups: vec3u) -> u32 {
    return group.y * groups.x + group.x;
}
