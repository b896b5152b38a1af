// Turns a patch into a token.

@group(0) @binding(2) var<storage, read> pixels: array<real4>;
@group(0) @binding(3) var<storage, read> embedding: array<real4>;

const ROW = SIZE / 4u;
const PATCH_ROW = PATCH / 4u;

// Returns where the patch of a token starts.
fn corner(image: u32, token: u32) -> u32 {
    return image * COLORS * SIZE * ROW + token / COLUMNS * PATCH * ROW + token % COLUMNS * PATCH_ROW;
}

// Adds the products of four neighbouring pixels of a patch, counted by line and column, with their weights.
fn add_pixels(sum: ptr<function, array<vec4f, LANES>>, start: u32, at: u32) {
    let line = at / PATCH_ROW;
    let values = vec4f(pixels[start + (line / PATCH * SIZE + line % PATCH) * ROW + at % PATCH_ROW]);
    for (var i = 0u; i < 4u; i++) {
        for (var c = 0u; c < LANES; c++) {
            (*sum)[c] += values[i] * vec4f(embedding[(4u * at + i) * LANES + c]);
        }
    }
}
