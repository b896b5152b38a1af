// A chain of steps in each invocation: a step waits for the one before it, and how many there are is data.

// Multiplier and increment are data, too, so that no compiler folds several steps into one.
struct Work { start: u32, useful: u32, extra: u32, multiplier: u32, increment: u32 }

@group(0) @binding(0) var<storage, read> work: Work;
@group(0) @binding(1) var<storage, read_write> results: array<u32>;
@group(0) @binding(2) var<storage, read_write> spare: array<u32>;

fn walk(start: u32, steps: u32) -> u32 {
    let multiplier = work.multiplier;
    let increment = work.increment;
    var state = start;
    for (var i = 0u; i < steps; i++) { state = state * multiplier + increment; }
    return state;
}

// As many invocations as one vector of a processor holds, which is what a software adapter has.
@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let result = walk(work.start ^ (id.x * 2654435769u), work.useful);
    results[id.x] = result;
    // The extra work begins with the result, so that it cannot run beside it.
    spare[id.x] = walk(result, work.extra);
}
