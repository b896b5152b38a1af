// Turns counts in `var<workgroup> keys` into places. There is one for every digit and thread: digit * SIZE + thread.

// Replaces each count by the sum of those before it.
fn offsets(thread: u32) {
    var counts: array<u32, DIGITS>;
    var sum = 0u;
    for (var i = 0u; i < DIGITS; i++) {
        counts[i] = keys[thread * DIGITS + i];
        sum += counts[i];
    }
    workgroupBarrier();
    var before = sum_before(sum, thread);
    for (var i = 0u; i < DIGITS; i++) {
        keys[thread * DIGITS + i] = before;
        before += counts[i];
    }
    workgroupBarrier();
}
