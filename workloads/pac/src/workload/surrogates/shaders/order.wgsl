// Lists the samples of each bin, one bin after the other. A workgroup handles a phase band of a channel, and a thread
// handles a bin, which takes as long as one shift.

// (band, channel, sample), a byte each
@group(0) @binding(0) var<storage, read> bins: array<u32>;
// (band, channel, bin)
@group(0) @binding(1) var<storage, read> counts: array<u32>;
// (band, channel, sample)
@group(0) @binding(2) var<storage, read_write> ordered: array<u32>;

@compute @workgroup_size(BINS) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) bin: u32,
) {
    let signal = group.x * CHANNELS + group.y;
    var to = signal * SAMPLES;
    for (var lower = 0u; lower < bin; lower++) { to += counts[signal * BINS + lower]; }
    for (var t = 0u; t < SAMPLES; t++) {
        let at = signal * SAMPLES + t;
        if ((bins[at / 4u] >> (8u * (at % 4u))) & 255u) == bin {
            ordered[to] = t;
            to += 1u;
        }
    }
}
