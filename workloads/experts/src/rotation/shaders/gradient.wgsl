// Gradient of the mean loss of an expert by the weights of its layer: inputs, transposed, times the gradient by the
// outputs, which for a mean square is the output itself times a factor.

@group(0) @binding(0) var<storage, read> inputs: array<f32>;
@group(0) @binding(1) var<storage, read> outputs: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradient: array<f32>;

const WIDTH = 128u;

// A thread computes one column, and a row of workgroups one row, of the gradient.
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    var sum = 0.0;
    for (var at = 0u; at < arrayLength(&inputs); at += WIDTH) { sum += inputs[at + id.y] * outputs[at + id.x]; }
    gradient[id.y * WIDTH + id.x] = 2.0 * sum / f32(arrayLength(&inputs));
}
