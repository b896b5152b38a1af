// Gradient of the mean loss of an expert by the weights of its layer: inputs, transposed, times the gradient by the
// outputs, which for a mean square is the output itself times a factor.

@group(0) @binding(0) var<storage, read> inputs: array<vec4f>;
@group(0) @binding(1) var<storage, read> outputs: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradient: array<f32>;

const WIDTH = 128u;

// A thread computes four rows of one column of the gradient, so that it reads each output once for all four.
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let rows = arrayLength(&inputs) * 4u / WIDTH;
    var sums = vec4f();
    for (var row = 0u; row < rows; row++) {
        sums += inputs[row * (WIDTH / 4u) + id.y] * outputs[row * WIDTH + id.x];
    }
    let factor = 2.0 / f32(rows * WIDTH);
    for (var i = 0u; i < 4u; i++) { gradient[(id.y * 4u + i) * WIDTH + id.x] = factor * sums[i]; }
}
