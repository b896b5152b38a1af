// One step of a transform: butterflies of RADIX values, from one buffer to another (Stockham). The signals of a chunk
// are stored one after the other.

struct Step {
    length: u32,
    // Product of the radices of the previous steps.
    span: u32,
    // 1 forward, -1 back.
    direction: f32,
}

@group(0) @binding(0) var<uniform> step: Step;
// exp(-2 pi i k / length)
@group(0) @binding(1) var<storage, read> roots: array<vec2f>;
@group(0) @binding(2) var<storage, read> before: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> after: array<vec2f>;

fn root(k: u32) -> vec2f {
    let root = roots[k];
    return vec2f(root.x, step.direction * root.y);
}

@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let each = step.length / RADIX;
    let j = id.x;
    if j >= each { return; }
    let first = id.y * step.length;
    let k = j % step.span;
    let turn = k * (each / step.span);
    var values: array<vec2f, RADIX>;
    for (var r = 0u; r < RADIX; r++) {
        values[r] = product(before[first + j + r * each], root(r * turn));
    }
    let to = first + (j - k) * RADIX + k;
    for (var q = 0u; q < RADIX; q++) {
        var sum = values[0];
        for (var r = 1u; r < RADIX; r++) {
            sum += product(values[r], root((q * r % RADIX) * each));
        }
        after[to + q * step.span] = sum;
    }
}
