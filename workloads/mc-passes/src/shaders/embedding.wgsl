// Turns PATCHES patches into tokens. All threads of a group and all patches of a thread use the same weights, so that
// they are seldom loaded.

@group(0) @binding(2) var<storage, read> pixels: array<real4>;
@group(0) @binding(3) var<storage, read> embedding: array<real4>;

const ROW = SIZE / 4u;
const PATCH_ROW = PATCH / 4u;

// Returns where the patch of a token starts.
fn corner(image: u32, token: u32) -> u32 {
    return image * COLORS * SIZE * ROW + token / COLUMNS * PATCH * ROW + token % COLUMNS * PATCH_ROW;
}

// Returns the token of the first patch, followed by those of the others.
fn embed(corners: array<u32, PATCHES>) -> array<vec4f, PATCHES * LANES> {
    var sum: array<vec4f, PATCHES * LANES>;
    var weight = 0u;
    for (var line = 0u; line < COLORS * PATCH; line++) {
        let start = (line / PATCH * SIZE + line % PATCH) * ROW;
        for (var column = 0u; column < PATCH_ROW; column++) {
            var values: array<vec4f, PATCHES>;
            for (var p = 0u; p < PATCHES; p++) { values[p] = vec4f(pixels[corners[p] + start + column]); }
            for (var i = 0u; i < 4u; i++) {
                for (var c = 0u; c < LANES; c++) {
                    let weights = vec4f(embedding[weight + c]);
                    for (var p = 0u; p < PATCHES; p++) { sum[p * LANES + c] += values[p][i] * weights; }
                }
                weight += LANES;
            }
        }
    }
    return sum;
}
