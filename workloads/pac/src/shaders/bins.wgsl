// Computes the bins of four samples of both bands of a signal, a byte each.

@group(0) @binding(1) var<storage, read> filtered: array<vec2f>;
@group(0) @binding(2) var<storage, read> hilbert: array<vec2f>;
// (band, channel, words of a row)
@group(0) @binding(4) var<storage, read_write> bins: array<u32>;

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let words = (sizes.samples + 3u) / 4u;
    if id.x >= words { return; }
    var both = vec2u();
    for (var i = 0u; i < 4u; i++) {
        let t = min(4u * id.x + i, sizes.samples - 1u);
        let x = filtered[id.y * sizes.circle + t];
        let y = hilbert[id.y * sizes.padded + t];
        both |= vec2u(bin(x.x, y.x), bin(x.y, y.y)) << vec2u(8u * i);
    }
    let signal = sizes.first + id.y;
    let band = signal / sizes.channels * 2u;
    let row = band * sizes.channels + signal % sizes.channels;
    bins[row * words + id.x] = both.x;
    if band + 1u < sizes.bands { bins[(row + sizes.channels) * words + id.x] = both.y; }
}
