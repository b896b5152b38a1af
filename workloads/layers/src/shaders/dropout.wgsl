fn scatter(value: u32) -> u32 {
    let state = value * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

fn factor(mask: u32, element: u32) -> f32 {
    return select(1.1111112, 0.0, scatter(mask ^ scatter(element)) < 429496730u);
}

fn factor4(mask: u32, element: u32) -> vec4f {
    return vec4f(
        factor(mask, element), factor(mask, element + 1u), factor(mask, element + 2u), factor(mask, element + 3u)
    );
}
