// Computes the bins of four samples of a band's analytic signal, a byte each.

@group(0) @binding(1) var<storage, read> points: array<vec2f>;
// (band, channel, words of a row)
@group(0) @binding(2) var<storage, read_write> bins: array<u32>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let words = (sizes.samples + 3u) / 4u;
    if id.x >= words { return; }
    var four = 0u;
    for (var i = 0u; i < 4u; i++) {
        let point = points[id.y * sizes.padded + min(4u * id.x + i, sizes.samples - 1u)];
        four |= bin(point.x, point.y) << (8u * i);
    }
    bins[(sizes.first + id.y) * words + id.x] = four;
}
