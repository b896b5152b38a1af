// Partial products of all pairs of experts, each expert with itself included: one workgroup takes 256 weights of all
// experts, so that every weight is read once.

@group(0) @binding(0) var<storage, read> weights: array<f32>;
// 36 sums for each workgroup: pairs (0, 0), (0, 1) to (0, 7), (1, 1), and so on.
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;

// As in experts.rs and training.rs.
const EXPERTS = 8u;
const LENGTH = 16384u;
const COLUMNS = 256u;
const SUMS = 36u;
const THREADS = 64u;

var<workgroup> columns: array<f32, EXPERTS * COLUMNS>;

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    for (var i = thread; i < EXPERTS * COLUMNS; i += THREADS) {
        columns[i] = weights[(i / COLUMNS) * LENGTH + group.x * COLUMNS + i % COLUMNS];
    }
    workgroupBarrier();
    if thread >= SUMS { return; }
    // The pair of this thread.
    var a = 0u;
    var first = 0u;
    while thread >= first + EXPERTS - a {
        first += EXPERTS - a;
        a++;
    }
    let b = a + thread - first;
    // Four sums at a time, so that additions do not wait for each other and roundings stay few.
    var sums = vec4f();
    for (var i = 0u; i < COLUMNS; i += 4u) {
        let x = a * COLUMNS + i;
        let y = b * COLUMNS + i;
        sums += vec4f(columns[x], columns[x + 1u], columns[x + 2u], columns[x + 3u])
            * vec4f(columns[y], columns[y + 1u], columns[y + 2u], columns[y + 3u]);
    }
    partials[group.x * SUMS + thread] = (sums.x + sums.y) + (sums.z + sums.w);
}
