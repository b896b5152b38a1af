// Sorts labels that fit the memory of one workgroup, and writes the different ones.

const CAPACITY = 2048u;
const ITEMS = CAPACITY / SIZE;

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<storage, read_write> unique: array<i32>;
@group(0) @binding(2) var<storage, read_write> total: u32;

var<workgroup> keys: array<u32, CAPACITY>;

@compute @workgroup_size(SIZE) fn main(@builtin(local_invocation_index) thread: u32) {
    let n = arrayLength(&labels);
    for (var i = thread; i < padded_count(n); i += SIZE) {
        keys[i] = 0xffffffffu;
        if i < n { keys[i] = key_of(labels[i]); }
    }
    workgroupBarrier();
    sort_shared(n, thread, SIZE);
    // The sums need the memory of the keys, so each thread first takes its new ones.
    var taken: array<u32, ITEMS>;
    var count = 0u;
    for (var i = thread * ITEMS; i < min((thread + 1u) * ITEMS, n); i++) {
        if i == 0u || keys[i] != keys[max(i, 1u) - 1u] {
            taken[count] = keys[i];
            count++;
        }
    }
    workgroupBarrier();
    let before = sum_before(count, thread);
    for (var i = 0u; i < count; i++) { unique[before + i] = label_of(taken[i]); }
    if thread == SIZE - 1u { total = before + count; }
}
