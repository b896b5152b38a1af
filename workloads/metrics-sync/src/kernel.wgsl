// One training step: the scalars of a variational autoencoder over a batch. The networks are omitted; one mean and one
// log-variance stand for the outputs of both the encoder and the decoder.

struct Element { mu: f32, logvar: f32, x: f32 }

@group(0) @binding(0) var<storage, read> batch: array<Element>;
@group(0) @binding(1) var<storage, read_write> step: u32;
// Losses of the last steps, then their negative log-likelihoods, then their KL divergences.
@group(0) @binding(2) var<storage, read_write> scalars: array<f32>;

// As in batch.rs.
const ROWS = 64u;
const WIDTH = 36u;
const BETA = 0.5;
const LN_2_PI = 1.8378770664093453;

var<workgroup> sums: array<vec2f, ROWS>;

@compute @workgroup_size(ROWS)
fn main(@builtin(local_invocation_index) row: u32) {
    let scale = 0.5 + f32((step * 2654435769u) >> 9u) / 8388608.0;
    var sum = vec2f();
    for (var i = row * WIDTH; i < (row + 1u) * WIDTH; i++) {
        let element = batch[i];
        let mu = scale * element.mu;
        let variance = exp(element.logvar);
        let miss = element.x - mu;
        let nll = 0.5 * (LN_2_PI + element.logvar + miss * miss / variance);
        let kl = 0.5 * (mu * mu + variance - 1.0 - element.logvar);
        sum += vec2f(nll, kl);
    }
    sums[row] = sum;
    for (var half = ROWS / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if row < half { sums[row] += sums[row + half]; }
    }
    // All invocations have read the step before it changes.
    storageBarrier();
    if row == 0u {
        let mean = sums[0] / f32(ROWS);
        let kept = arrayLength(&scalars) / 3u;
        let slot = step % kept;
        scalars[slot] = mean.x + BETA * mean.y;
        scalars[kept + slot] = mean.x;
        scalars[2u * kept + slot] = mean.y;
        step += 1u;
    }
}
