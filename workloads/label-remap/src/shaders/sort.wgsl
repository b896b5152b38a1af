// One workgroup sorts the different keys and empties the set for the next iteration.
//
// Few keys are sorted in the memory of the workgroup. If there were too many to collect, all labels are sorted by
// digits, least significant first, each thread with a range of its own. One workgroup uses a small part of the device,
// but labels of thousands of classes are rare, and the common case pays nothing for this one.

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<storage, read_write> state: State;
@group(0) @binding(2) var<storage, read_write> slots: array<atomic<u32>, 4096>;
@group(0) @binding(3) var<storage, read_write> found: array<u32, CAPACITY>;
// The threads pass keys to each other through these two. Atomic, because a barrier orders plain accesses, but only atomic
// ones, or those of coherent memory, are sure to be seen by other threads in Vulkan's memory model of GLSL.
@group(0) @binding(4) var<storage, read_write> sorted: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> other: array<atomic<u32>>;
// Number of keys in `sorted`.
@group(0) @binding(6) var<storage, read_write> distinct: u32;

// Keys to be sorted, or the counts of every digit and thread: digit * SIZE + thread. This is all the memory that every
// device guarantees to a workgroup.
var<workgroup> keys: array<u32, 4096>;

@compute @workgroup_size(SIZE) fn main(@builtin(local_invocation_index) thread: u32) {
    if thread == 0u { keys[0] = atomicLoad(&state.count); }
    let count = workgroupUniformLoad(&keys[0]);
    if count <= CAPACITY {
        sort_few(count, thread);
    } else {
        sort_many(thread);
    }
    for (var slot = thread; slot < 1u << SLOT_BITS; slot += SIZE) { atomicStore(&slots[slot], 0u); }
    if thread == 0u {
        atomicStore(&state.count, 0u);
        atomicStore(&state.has_smallest, 0u);
    }
}

fn sort_few(count: u32, thread: u32) {
    for (var i = thread; i < padded_count(count); i += SIZE) {
        keys[i] = 0xffffffffu;
        if i < count { keys[i] = found[i]; }
    }
    workgroupBarrier();
    sort_shared(count, thread, SIZE);
    for (var i = thread; i < count; i += SIZE) { atomicStore(&sorted[i], keys[i]); }
    if thread == 0u { distinct = count; }
}

fn sort_many(thread: u32) {
    let n = arrayLength(&labels);
    let each = (n + SIZE - 1u) / SIZE;
    let first = min(thread * each, n);
    let end = min(first + each, n);
    // The passes go from the labels to `sorted`, to `other`, to `sorted` and so on; the last of eight ends in `other`.
    for (var pass_number = 0u; pass_number < 32u / DIGIT_BITS; pass_number++) {
        for (var digit = 0u; digit < DIGITS; digit++) { keys[digit * SIZE + thread] = 0u; }
        for (var i = first; i < end; i++) {
            keys[digit_of(source(pass_number, i), pass_number) * SIZE + thread] += 1u;
        }
        workgroupBarrier();
        offsets(thread);
        for (var i = first; i < end; i++) {
            let key = source(pass_number, i);
            let mine = digit_of(key, pass_number) * SIZE + thread;
            let to = keys[mine];
            keys[mine] = to + 1u;
            if pass_number % 2u == 0u { atomicStore(&sorted[to], key); } else { atomicStore(&other[to], key); }
        }
        storageBarrier();
        workgroupBarrier();
    }
    drop_repeats(first, end, thread);
}

fn source(pass_number: u32, i: u32) -> u32 {
    if pass_number == 0u { return key_of(labels[i]); }
    if pass_number % 2u == 1u { return atomicLoad(&sorted[i]); }
    return atomicLoad(&other[i]);
}

// Copies the keys that differ from the one before them to `sorted`.
fn drop_repeats(first: u32, end: u32, thread: u32) {
    var count = 0u;
    for (var i = first; i < end; i++) { count += select(0u, 1u, is_new(i)); }
    var to = sum_before(count, thread);
    for (var i = first; i < end; i++) {
        if is_new(i) {
            atomicStore(&sorted[to], atomicLoad(&other[i]));
            to++;
        }
    }
    if thread == SIZE - 1u { distinct = to; }
}

fn is_new(i: u32) -> bool {
    if i == 0u { return true; }
    return atomicLoad(&other[i]) != atomicLoad(&other[i - 1u]);
}
