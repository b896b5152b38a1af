// y = relu(scale * x * weights + bias), or that added to y, for a batch of products. A workgroup computes ROWS x 64
// values, a thread 4 x 4 of them, from pieces of x and the weights that the threads of the group load together.

struct Shape { rows: u32, inner: u32, columns: u32, own_weights: u32, scale: f32 }

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

// Number of inner values in a piece.
const DEPTH = 16u;
// Fours of rows, and fours of columns, of a workgroup.
const TALL = ROWS / 4u;
const WIDE = 16u;
const GROUP = TALL * WIDE;

// For each inner value, the fours of rows of x, and the fours of columns of the weights.
var<workgroup> xs: array<vec4f, DEPTH * TALL>;
var<workgroup> ws: array<vec4f, DEPTH * WIDE>;

// Values beyond the matrices are 0 and add nothing.
fn x_at(batch: u32, row: u32, inner: u32) -> f32 {
    if row >= shape.rows || inner >= shape.inner { return 0.0; }
    return x[(batch * shape.rows + row) * shape.inner + inner];
}

fn weight_at(batch: u32, inner: u32, column: u32) -> f32 {
    if inner >= shape.inner || column >= shape.columns { return 0.0; }
    let first = batch * shape.own_weights * shape.inner * shape.columns;
    if TRANSPOSED { return weights[first + column * shape.inner + inner]; }
    return weights[first + inner * shape.columns + column];
}

fn store(batch: u32, row: u32, column: u32, sum: f32) {
    if row >= shape.rows || column >= shape.columns { return; }
    var value = shape.scale * sum + bias_of(column);
    // Not `max`, which may return 0 for a NaN.
    if RELU && value < 0.0 { value = 0.0; }
    let at = (batch * shape.rows + row) * shape.columns + column;
    if RESIDUAL { y[at] += value; } else { y[at] = value; }
}

@compute @workgroup_size(GROUP) fn main(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    let batch = group.z;
    let top = group.y * ROWS;
    let left = group.x * WIDE * 4u;
    let tall = thread / WIDE;
    let wide = thread % WIDE;
    var sums: array<vec4f, 4>;
    for (var first = 0u; first < shape.inner; first += DEPTH) {
        // Neighbouring threads read neighbouring words.
        for (var i = thread; i < DEPTH * TALL; i += GROUP) {
            let inner = i % DEPTH;
            let row = top + i / DEPTH * 4u;
            xs[inner * TALL + i / DEPTH] = vec4f(
                x_at(batch, row, first + inner), x_at(batch, row + 1u, first + inner),
                x_at(batch, row + 2u, first + inner), x_at(batch, row + 3u, first + inner)
            );
        }
        for (var i = thread; i < DEPTH * WIDE; i += GROUP) {
            let inner = select(i / WIDE, i % DEPTH, TRANSPOSED);
            let four = select(i % WIDE, i / DEPTH, TRANSPOSED);
            let column = left + four * 4u;
            ws[inner * WIDE + four] = vec4f(
                weight_at(batch, first + inner, column), weight_at(batch, first + inner, column + 1u),
                weight_at(batch, first + inner, column + 2u), weight_at(batch, first + inner, column + 3u)
            );
        }
        workgroupBarrier();
        for (var inner = 0u; inner < DEPTH; inner++) {
            let w = ws[inner * WIDE + wide];
            let v = xs[inner * TALL + tall];
            sums[0] += v.x * w;
            sums[1] += v.y * w;
            sums[2] += v.z * w;
            sums[3] += v.w * w;
        }
        workgroupBarrier();
    }
    for (var r = 0u; r < 4u; r++) {
        for (var c = 0u; c < 4u; c++) { store(batch, top + tall * 4u + r, left + wide * 4u + c, sums[r][c]); }
    }
}
