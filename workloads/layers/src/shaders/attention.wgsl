// Attention with a running softmax: a thread keeps the largest score so far, the sum of the weights, and the weighted
// sum of the values of its query. The threads of a group load each tile of keys and values together.

struct Shape {
    queries: u32, keys: u32, first: u32,
    // In fours of values.
    query_stride: u32, key_stride: u32, key_at: u32, value_at: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> queries: array<vec4f>;
@group(0) @binding(2) var<storage, read> keys: array<vec4f>;
@group(0) @binding(3) var<storage, read> values: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

const GROUP = 64u;
const TILE = 16u;

var<workgroup> key_tile: array<vec4f, TILE * LANES>;
var<workgroup> value_tile: array<vec4f, TILE * LANES>;

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32
) {
    let row = group.x * GROUP + thread;
    let head = group.y * LANES;
    // A thread without a query repeats the last one, because it has to load and to reach the barriers.
    let query = min(row, shape.queries - 1u);
    let position = shape.first + query;
    var q: array<vec4f, LANES>;
    let from_ = (group.z * shape.queries + query) * shape.query_stride + head;
    for (var c = 0u; c < LANES; c++) { q[c] = queries[from_ + c] * inverseSqrt(f32(LANES * 4u)); }

    var most = -3e38;
    var sum = 0.0;
    var mixed: array<vec4f, LANES>;
    var end = shape.keys;
    if SKIP { end = min(end, shape.first + (group.x + 1u) * GROUP); }
    let hidden = padding_of(group.z);
    for (var start = hidden / TILE * TILE; start < end; start += TILE) {
        for (var i = thread; i < TILE * LANES; i += GROUP) {
            let key = min(start + i / LANES, shape.keys - 1u);
            let at = (group.z * shape.keys + key) * shape.key_stride + head + i % LANES;
            key_tile[i] = keys[at + shape.key_at];
            value_tile[i] = values[at + shape.value_at];
        }
        workgroupBarrier();
        for (var k = 0u; k < TILE; k++) {
            let key = start + k;
            if key >= shape.keys || (CAUSAL && key > position) { break; }
            if key < hidden { continue; }
            var products = vec4f();
            for (var c = 0u; c < LANES; c++) { products += q[c] * key_tile[k * LANES + c]; }
            let score = dot(products, vec4f(1.0));
            let top = max(most, score);
            let weight = exp(score - top);
            let kept = exp(most - top);
            for (var c = 0u; c < LANES; c++) { mixed[c] = mixed[c] * kept + weight * value_tile[k * LANES + c]; }
            sum = sum * kept + weight;
            most = top;
        }
        workgroupBarrier();
    }
    if row < shape.queries {
        let to = ((group.z * shape.queries + row) * groups.y + group.y) * LANES;
        // Each key adds a weight, the largest of them 1. Without a key there is nothing to divide.
        let share = select(1.0 / sum, 0.0, sum == 0.0);
        for (var c = 0u; c < LANES; c++) { y[to + c] = mixed[c] * share; }
    }
}
