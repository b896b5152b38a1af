// Sends a token through a perceptron.

// For each hidden value, a row of weights into it and a row out of it.
@group(0) @binding(5) var<storage, read> perceptron: array<real4>;

fn pass_token(token: array<vec4f, LANES>, place: u32, mask: u32) -> array<vec4f, LANES> {
    var y = token;
    let normal = center_and_scale(y);
    let mean = normal.x;
    let scale = normal.y;
    var added: array<vec4f, LANES>;
    for (var hidden = 0u; hidden < HIDDEN; hidden++) {
        let row = hidden * 2u * LANES;
        var products = vec4f();
        for (var c = 0u; c < LANES; c++) { products += vec4f(perceptron[row + c]) * (y[c] - mean); }
        let inner = max(dot(products, vec4f(scale)), 0.0);
        for (var c = 0u; c < LANES; c++) { added[c] += inner * vec4f(perceptron[row + LANES + c]); }
    }
    for (var c = 0u; c < LANES; c++) {
        y[c] += added[c] * factor4(mask, PERCEPTRON + place * WIDTH + c * 4u);
    }
    return y;
}
