// Sums over the threads of a workgroup. The kernel declares `var<workgroup> keys` with at least SIZE words.

// Number of threads whose values are added one after the other. Steps that double a distance would need 16 barriers;
// this takes three, and its longest chain has 32 sums.
const IN_A_ROW = 16u;

// Returns the sum of the values of all threads before this one. Uses the first SIZE keys.
fn sum_before(value: u32, thread: u32) -> u32 {
    keys[thread] = value;
    workgroupBarrier();
    if thread < SIZE / IN_A_ROW {
        for (var i = thread * IN_A_ROW + 1u; i < (thread + 1u) * IN_A_ROW; i++) { keys[i] += keys[i - 1u]; }
    }
    workgroupBarrier();
    var sum = keys[thread] - value;
    for (var row = 1u; row <= thread / IN_A_ROW; row++) { sum += keys[row * IN_A_ROW - 1u]; }
    workgroupBarrier();
    return sum;
}
