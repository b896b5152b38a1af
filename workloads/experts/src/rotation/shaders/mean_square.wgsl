// The mean square of each row.

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
    let columns = arrayLength(&values) / arrayLength(&losses);
    var sum = 0.0;
    for (var i = thread; i < columns; i += THREADS) {
        let value = values[group.x * columns + i];
        sum += value * value;
    }
    let all = add(thread, sum);
    if thread == 0u { losses[group.x] = all / f32(columns); }
}
