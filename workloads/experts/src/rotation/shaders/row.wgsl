// A workgroup handles one row.

@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read_write> losses: array<f32>;

const THREADS = 64u;

var<workgroup> parts: array<f32, THREADS>;

// Adds the numbers of all threads. The result is the first thread's.
fn add(thread: u32, part: f32) -> f32 {
    parts[thread] = part;
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half { parts[thread] += parts[thread + half]; }
    }
    return parts[thread];
}
