// Negative log-likelihoods of the targets, and their mean.

struct Shape {
    // Rows of each sequence that have a target; the first of them; and the rows of a sequence in `logits`.
    rows: u32, first: u32, of_: u32,
    vocabulary: u32,
    // Tokens of a sequence, and the first of them that is a target of these rows.
    positions: u32, target_: u32,
    // Targets of a sequence, and the first of these rows among them.
    answer: u32, at: u32,
    sequences: u32,
}

@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read> tokens: array<u32>;
@group(0) @binding(3) var<storage, read_write> losses: array<f32>;
@group(0) @binding(4) var<storage, read_write> loss: array<f32>;

// As in tokens.rs.
const PAD = 0u;

// Returns where the logits of a row start.
fn start(row: u32) -> u32 {
    return (row / shape.rows * shape.of_ + shape.first + row % shape.rows) * shape.vocabulary;
}

fn token_of(row: u32) -> u32 {
    return tokens[row / shape.rows * shape.positions + shape.target_ + row % shape.rows];
}

// A target that is padding has the loss 0.
fn store(row: u32, token: u32, value: f32) {
    losses[row / shape.rows * shape.answer + shape.at + row % shape.rows] = select(value, 0.0, token == PAD);
}

fn log_of_sum(thread: u32, first: u32) -> f32 {
    var most = -3e38;
    for (var i = thread; i < shape.vocabulary; i += GROUP) { most = max(most, logits[first + i]); }
    let top = largest(thread, most);
    var sum = 0.0;
    for (var i = thread; i < shape.vocabulary; i += GROUP) { sum += exp(logits[first + i] - top); }
    return top + log(total(thread, sum));
}

// Turns the logits of a row into log-likelihoods, in place.
@compute @workgroup_size(GROUP) fn log_softmax(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    let row = group.y * 32768u + group.x;
    if row >= shape.sequences * shape.rows { return; }
    let first = start(row);
    let log_sum = log_of_sum(thread, first);
    for (var i = thread; i < shape.vocabulary; i += GROUP) { logits[first + i] -= log_sum; }
}

// Picks the log-likelihoods of the targets.
@compute @workgroup_size(GROUP) fn pick(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= shape.sequences * shape.rows { return; }
    let token = token_of(id.x);
    store(id.x, token, -logits[start(id.x) + token]);
}

// Both at once: the log-likelihoods of the other tokens are never written.
@compute @workgroup_size(GROUP) fn fused(
    @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32
) {
    let row = group.y * 32768u + group.x;
    if row >= shape.sequences * shape.rows { return; }
    let first = start(row);
    let log_sum = log_of_sum(thread, first);
    let token = token_of(row);
    if thread == 0u { store(row, token, log_sum - logits[first + token]); }
}

// Mean over the targets that are not padding, and their number. Without any, the mean is 0 and not NaN.
@compute @workgroup_size(GROUP) fn mean(@builtin(local_invocation_index) thread: u32) {
    var sum = 0.0;
    var count = 0.0;
    for (var i = thread; i < shape.sequences * shape.rows; i += GROUP) {
        sum += losses[i];
        count += select(1.0, 0.0, token_of(i) == PAD);
    }
    let all = total(thread, sum);
    let targets = total(thread, count);
    if thread == 0u {
        loss[0] = all / max(targets, 1.0);
        loss[1] = targets;
    }
}
