// Computes the indexes of a block of shifts of a phase band of a channel, with all amplitude bands, and keeps their
// mean and their squared distances from it. A thread sums the amplitudes in one bin for one shift in registers.

// (channel, sample, vector)
@group(0) @binding(0) var<storage, read> rows: array<vec4f>;
// (band, channel, sample)
@group(0) @binding(1) var<storage, read> ordered: array<u32>;
// (band, channel, bin)
@group(0) @binding(2) var<storage, read> counts: array<u32>;
@group(0) @binding(3) var<storage, read> shifts: array<u32>;
@group(0) @binding(4) var<storage, read_write> seen: array<Seen>;

var<workgroup> bin_means: array<vec4f, BLOCK * BINS * VECTORS>;
var<workgroup> indexes: array<vec4f, BLOCK * VECTORS>;

// Number of terms of a sum in f32 before it is added to the sum of such sums.
const TERMS = 64u;

// (1 + u) ln(1 + u) - u, which is about u^2 / 2. Near 0 it is u (s + (1 + s) r), from ln(1 + u) = 2 s (1 + r) with
// s = u / (2 + u): nothing cancels, and the logarithm of a shader, which may be off by 2^-21 there, is not needed.
fn deviation(u: vec4f) -> vec4f {
    let s = u / (u + 2.0);
    let z = s * s;
    let r = z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z / 13.0)))));
    let far = (1.0 + u) * log(max(1.0 + u, vec4f(1e-30))) - u;
    return select(far, u * (s + (1.0 + s) * r), (u > vec4f(-0.5)) & (u < vec4f(1.0)));
}

@compute @workgroup_size(BINS, BLOCK) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(local_invocation_id) thread: vec3u,
    @builtin(local_invocation_index) number: u32,
) {
    let bin = thread.x;
    let channel = group.z;
    let signal = group.y * CHANNELS + channel;
    // The block after the last one has only the true index, that of the shift by 0.
    let first = group.x * BLOCK;
    let is_true = group.x == BLOCKS;
    let present = select(min(BLOCK, SHIFTS - first), 1u, is_true);

    var sums: array<vec4f, VECTORS>;
    let count = counts[signal * BINS + bin];
    if thread.y < present {
        var begin = signal * SAMPLES;
        for (var lower = 0u; lower < bin; lower++) { begin += counts[signal * BINS + lower]; }
        var shift = 0u;
        if !is_true { shift = shifts[first + thread.y]; }
        let end = begin + count;
        for (var some = begin; some < end; some += TERMS) {
            var partial: array<vec4f, VECTORS>;
            for (var i = some; i < min(some + TERMS, end); i++) {
                var t = ordered[i] + shift;
                if t >= SAMPLES { t -= SAMPLES; }
                for (var vector = 0u; vector < VECTORS; vector++) {
                    partial[vector] += rows[(channel * SAMPLES + t) * VECTORS + vector];
                }
            }
            for (var vector = 0u; vector < VECTORS; vector++) { sums[vector] += partial[vector]; }
        }
    }
    for (var vector = 0u; vector < VECTORS; vector++) {
        // A bin that is left out has a negative mean.
        bin_means[number * VECTORS + vector] = select(vec4f(-1.0), sums[vector] / f32(count), count > 0u);
    }
    workgroupBarrier();
    if number < present * VECTORS {
        let row = number / VECTORS * BINS * VECTORS + number % VECTORS;
        var total = vec4f();
        for (var i = 0u; i < BINS; i++) { total += max(bin_means[row + i * VECTORS], vec4f()); }
        // 1 + sum of p ln p / ln BINS, by deviations u = p BINS - 1 from equal shares. Their sum is the number of bins
        // that are left out, so an error of all shares together does not count.
        let equal = total / f32(BINS);
        var distance = vec4f();
        var is_nan = vec4<bool>();
        for (var i = 0u; i < BINS; i++) {
            let mean = bin_means[row + i * VECTORS];
            if mean.x < 0.0 {
                distance += vec4f(1.0);
                continue;
            }
            is_nan = is_nan | (mean == vec4f());
            distance += deviation((mean - equal) / equal);
        }
        // A shader may assume that there are no NaNs, so NaN is encoded as a number that no index can have.
        indexes[number] = select(distance / (f32(BINS) * log(f32(BINS))), vec4f(-1.0), is_nan);
    }
    workgroupBarrier();
    if number < VECTORS {
        var mean = vec4f();
        var squares = vec4f();
        var is_nan = vec4<bool>();
        for (var i = 0u; i < present; i++) {
            let index = indexes[i * VECTORS + number];
            is_nan = is_nan | (index == vec4f(-1.0));
            let off = index - mean;
            mean += off / f32(i + 1u);
            squares += off * (index - mean);
        }
        seen[seen_at(signal, group.x, number)] = Seen(mean, select(squares, vec4f(-1.0), is_nan));
    }
}
