// Stages of the filters that only move values, an entry point each. Rows are (band, channel); a row with its ends is
// extended by point reflection, and one around the circle is complex and filled up with zeros.

@group(0) @binding(1) var<storage, read> real_in: array<f32>;
@group(0) @binding(1) var<storage, read> complex_in: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> real_out: array<f32>;
@group(0) @binding(2) var<storage, read_write> complex_out: array<vec2f>;

fn extended_length() -> u32 { return sizes.samples + 2u * sizes.extension; }

// Position of the signal of a row's channel.
fn channel_of(row: u32) -> u32 { return (sizes.first + row) % sizes.channels * sizes.samples; }

// Sample `t` of the signal at `row`, counted from the start of its extension.
fn extended(row: u32, t: u32) -> f32 {
    let n = sizes.samples;
    let m = sizes.extension;
    if t < m { return 2.0 * real_in[row] - real_in[row + m - t]; }
    if t < m + n { return real_in[row + t - m]; }
    return 2.0 * real_in[row + n - 1u] - real_in[row + 2u * (n - 1u) + m - t];
}

// Stage by stage, each from one buffer to another.

@compute @workgroup_size(64) fn extend(@builtin(global_invocation_id) id: vec3u) {
    let length = extended_length();
    if id.x < length { real_out[id.y * length + id.x] = extended(channel_of(id.y), id.x); }
}

@compute @workgroup_size(64) fn widen(@builtin(global_invocation_id) id: vec3u) {
    let length = extended_length();
    if id.x >= sizes.circle { return; }
    var value = vec2f();
    if id.x < length { value.x = real_in[id.y * length + id.x]; }
    complex_out[id.y * sizes.circle + id.x] = value;
}

@compute @workgroup_size(64) fn real_part(@builtin(global_invocation_id) id: vec3u) {
    let length = extended_length();
    if id.x < length { real_out[id.y * length + id.x] = complex_in[id.y * sizes.circle + id.x].x; }
}

@compute @workgroup_size(64) fn flip(@builtin(global_invocation_id) id: vec3u) {
    let length = extended_length();
    if id.x < length { real_out[id.y * length + id.x] = real_in[(id.y + 1u) * length - 1u - id.x]; }
}

@compute @workgroup_size(64) fn cut(@builtin(global_invocation_id) id: vec3u) {
    let n = sizes.samples;
    if id.x < n { real_out[id.y * n + id.x] = real_in[id.y * extended_length() + sizes.extension + id.x]; }
}

@compute @workgroup_size(64) fn pad(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= sizes.padded { return; }
    var value = vec2f();
    if id.x < sizes.samples { value.x = real_in[id.y * sizes.samples + id.x]; }
    complex_out[id.y * sizes.padded + id.x] = value;
}

// The same moves without copies between them.

@compute @workgroup_size(64) fn begin(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= sizes.circle { return; }
    var value = vec2f();
    if id.x < extended_length() { value.x = extended(channel_of(id.y), id.x); }
    complex_out[id.y * sizes.circle + id.x] = value;
}

@compute @workgroup_size(64) fn turn_around(@builtin(global_invocation_id) id: vec3u) {
    let length = extended_length();
    if id.x >= sizes.circle { return; }
    var value = vec2f();
    if id.x < length { value.x = complex_in[id.y * sizes.circle + length - 1u - id.x].x; }
    complex_out[id.y * sizes.circle + id.x] = value;
}

@compute @workgroup_size(64) fn keep(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= sizes.padded { return; }
    let last = extended_length() - 1u - sizes.extension;
    var value = vec2f();
    if id.x < sizes.samples { value.x = complex_in[id.y * sizes.circle + last - id.x].x; }
    complex_out[id.y * sizes.padded + id.x] = value;
}
