// Largest value and sum over a workgroup that handles one row.

const GROUP = 64u;

var<workgroup> partial: array<f32, GROUP>;

// Returns the largest value of the threads of the group.
fn largest(thread: u32, value: f32) -> f32 {
    workgroupBarrier();
    partial[thread] = value;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half { partial[thread] = max(partial[thread], partial[thread + half]); }
    }
    workgroupBarrier();
    return partial[0];
}

// Returns the sum over the threads of the group.
fn total(thread: u32, value: f32) -> f32 {
    workgroupBarrier();
    partial[thread] = value;
    for (var half = GROUP / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if thread < half { partial[thread] += partial[thread + half]; }
    }
    workgroupBarrier();
    return partial[0];
}
