// Copies the values of each patch into a row, and starts each token with its place.

@group(0) @binding(2) var<storage, read> pixels: array<f32>;
@group(0) @binding(3) var<storage, read> places: array<f32>;
@group(0) @binding(4) var<storage, read_write> patches: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

const VALUES = COLORS * PATCH * PATCH;

@compute @workgroup_size(GROUP) fn main(
    @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u
) {
    let i = id.y * groups.x * GROUP + id.x;
    let row = i / VALUES;
    if row >= batch.count * TOKENS { return; }
    let token = row % TOKENS;
    let value = i % VALUES;
    let color = row / TOKENS * COLORS + value / (PATCH * PATCH);
    let line = token / COLUMNS * PATCH + value / PATCH % PATCH;
    let column = token % COLUMNS * PATCH + value % PATCH;
    patches[i] = pixels[(color * SIZE + line) * SIZE + column];
    if value < WIDTH { y[row * WIDTH + value] = places[token * WIDTH + value]; }
}
