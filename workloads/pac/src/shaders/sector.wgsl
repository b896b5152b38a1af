// The bin of a point: counts the edges between the positive real axis and the point, or its mirror image above that
// axis; there is no angle, because a shader's own may be off by thousands of roundings.

// Cosine and sine of the edges between 0 and pi.
@group(0) @binding(3) var<storage, read> edges: array<vec2f>;

fn bin(x: f32, y: f32) -> u32 {
    var passed = 0u;
    for (var j = 0u; j < EDGES; j++) {
        passed += select(0u, 1u, edges[j].x * abs(y) > edges[j].y * x);
    }
    return select((BINS - 1u) / 2u - passed, BINS / 2u + passed, y > 0.0 || (y == 0.0 && x >= 0.0));
}

