// Returns the mean of a row, and the factor that gives the deviations from it a variance of 1.
fn center_and_scale(row: array<vec4f, LANES>) -> vec2f {
    let width = f32(LANES * 4u);
    // A parameter cannot be indexed by a variable.
    var values = row;
    var sum = vec4f();
    for (var c = 0u; c < LANES; c++) { sum += values[c]; }
    let mean = dot(sum, vec4f(1.0 / width));
    var squares = vec4f();
    for (var c = 0u; c < LANES; c++) { squares += (values[c] - mean) * (values[c] - mean); }
    return vec2f(mean, inverseSqrt(dot(squares, vec4f(1.0 / width)) + 1e-5));
}
