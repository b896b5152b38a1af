// A chain of steps in each invocation. A step waits for the one before it, and the number of steps is data.

// The multiplier and the increment are data, too, so that no compiler folds several steps into one.
struct Work { start: u32, useful: u32, extra: u32, multiplier: u32, increment: u32 }

@group(0) @binding(0) var<storage, read> work: Work;
@group(0) @binding(1) var<storage, read_write> results: array<u32>;
@group(0) @binding(2) var<storage, read_write> spare: array<u32>;

// Sixteen steps in each turn: llvmpipe ends all loops of a shader after 65,535 turns together.
fn walk(start: u32, steps: u32) -> u32 {
    let m = work.multiplier;
    let c = work.increment;
    var s = start;
    for (var i = 0u; i < steps / 16u; i++) {
        s = s * m + c; s = s * m + c; s = s * m + c; s = s * m + c;
        s = s * m + c; s = s * m + c; s = s * m + c; s = s * m + c;
        s = s * m + c; s = s * m + c; s = s * m + c; s = s * m + c;
        s = s * m + c; s = s * m + c; s = s * m + c; s = s * m + c;
    }
    for (var i = 0u; i < steps % 16u; i++) { s = s * m + c; }
    return s;
}

// One vector of a processor holds eight invocations; a software adapter runs on a processor.
@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let result = walk(work.start ^ (id.x * 2654435769u), work.useful);
    results[id.x] = result;
    // The extra work begins with the result, so that it cannot run in parallel with the useful work.
    spare[id.x] = walk(result, work.extra);
}
