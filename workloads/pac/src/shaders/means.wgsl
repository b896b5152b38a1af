// Computes the mean of every channel. It need not be exact: `filter` restores what `extend` removes. Also finds the
// first non-finite sample, by its bits, since a shader may assume that there are none.

const SIZE = 64u;

@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> means: array<f32>;
// The position and the bits of that sample for every channel of the input, followed by the indexes.
@group(0) @binding(3) var<storage, read_write> result: array<u32>;

var<workgroup> sums: array<f32, SIZE>;
var<workgroup> places: array<u32, SIZE>;

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let channel = sizes.first_channel + group.x;
    let row = channel * sizes.samples;
    var sum = 0.0;
    var place = sizes.samples;
    for (var t = thread; t < sizes.samples; t += SIZE) {
        let bits = x[row + t];
        if (bits & 0x7f800000u) == 0x7f800000u {
            place = min(place, t);
        } else {
            // Divided here, because the sum of large samples could overflow.
            sum += bitcast<f32>(bits) / f32(sizes.samples);
        }
    }
    sums[thread] = sum;
    places[thread] = place;
    workgroupBarrier();
    if thread == 0u {
        for (var i = 1u; i < SIZE; i++) {
            sum += sums[i];
            place = min(place, places[i]);
        }
        means[group.x] = sum;
        result[2u * channel] = place;
        result[2u * channel + 1u] = x[row + min(place, sizes.samples - 1u)];
    }
}
