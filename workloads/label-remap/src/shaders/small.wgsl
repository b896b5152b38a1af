// Handles inputs that fit the memory of one workgroup.

const SIZE = 256u;
const CAPACITY = 1024u;
const ITEMS = CAPACITY / SIZE;
const SLOT_BITS = 11u;

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<storage, read_write> ranks: array<u32>;

// A set of keys. 0 is an empty slot, so the smallest key has a separate mark. The set has twice the capacity, so that
// there is always an empty slot.
var<workgroup> slots: array<atomic<u32>, 2048>;
var<workgroup> has_smallest: atomic<u32>;
var<workgroup> found: atomic<u32>;
var<workgroup> keys: array<u32, CAPACITY>;
var<workgroup> count_of_all: u32;

fn append(key: u32) {
    keys[atomicAdd(&found, 1u)] = key;
}

fn insert(key: u32) {
    if key == 0u {
        if atomicExchange(&has_smallest, 1u) == 0u { append(key); }
        return;
    }
    var slot = slot_of(key, SLOT_BITS);
    loop {
        var seen = atomicLoad(&slots[slot]);
        if seen == 0u {
            let swap = atomicCompareExchangeWeak(&slots[slot], 0u, key);
            if swap.exchanged {
                append(key);
                return;
            }
            seen = swap.old_value;
        }
        if seen == key { return; }
        // A weak exchange may fail spuriously; the slot is then tried again.
        if seen != 0u { slot = (slot + 1u) % (1u << SLOT_BITS); }
    }
}

@compute @workgroup_size(SIZE) fn main(@builtin(local_invocation_index) thread: u32) {
    let n = arrayLength(&labels);
    // Each thread keeps its keys, so that the labels are read once.
    var mine: array<u32, ITEMS>;
    for (var item = 0u; item < ITEMS; item++) {
        let i = item * SIZE + thread;
        if i < n {
            mine[item] = key_of(labels[i]);
            insert(mine[item]);
        }
    }
    workgroupBarrier();
    if thread == 0u { count_of_all = atomicLoad(&found); }
    let count = workgroupUniformLoad(&count_of_all);
    for (var i = count + thread; i < padded_count(count); i += SIZE) { keys[i] = 0xffffffffu; }
    workgroupBarrier();
    sort_shared(count, thread, SIZE);
    for (var item = 0u; item < ITEMS; item++) {
        let i = item * SIZE + thread;
        if i < n { ranks[i] = rank_shared(mine[item], count); }
    }
}
