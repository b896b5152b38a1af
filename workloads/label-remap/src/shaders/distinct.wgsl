// Collects the different keys if they are few: each workgroup those of its tile, then all together.

const SIZE = 256u;
const ITEMS = 16u;
const LOCAL_BITS = 10u;
// With more collisions than this, a set counts as full. The workgroup's set is abandoned sooner, since the global set
// remains.
const PROBES = 64u;
const LOCAL_PROBES = 8u;

@group(0) @binding(0) var<storage, read> labels: array<i32>;
@group(0) @binding(1) var<storage, read_write> state: State;
// A set of keys; 0 is an empty slot.
@group(0) @binding(2) var<storage, read_write> slots: array<atomic<u32>, 4096>;
// Keys of the set, in no particular order.
@group(0) @binding(3) var<storage, read_write> found: array<u32, CAPACITY>;

var<workgroup> local_slots: array<atomic<u32>, 1024>;
var<workgroup> has_smallest: atomic<u32>;

fn append(key: u32) {
    let at = atomicAdd(&state.count, 1u);
    if at < CAPACITY { found[at] = key; }
}

fn publish(key: u32) {
    if atomicLoad(&state.count) > CAPACITY { return; }
    if key == 0u {
        if atomicExchange(&state.has_smallest, 1u) == 0u { append(key); }
        return;
    }
    var slot = slot_of(key, SLOT_BITS);
    for (var probe = 0u; probe < PROBES; probe++) {
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
    atomicMax(&state.count, CAPACITY + 1u);
}

// Keeps a key in the workgroup's own set, which already holds most keys.
fn keep(key: u32) {
    if key == 0u {
        atomicStore(&has_smallest, 1u);
        return;
    }
    var slot = slot_of(key, LOCAL_BITS);
    for (var probe = 0u; probe < LOCAL_PROBES; probe++) {
        var seen = atomicLoad(&local_slots[slot]);
        if seen == 0u {
            let swap = atomicCompareExchangeWeak(&local_slots[slot], 0u, key);
            if swap.exchanged { return; }
            seen = swap.old_value;
        }
        if seen == key { return; }
        if seen != 0u { slot = (slot + 1u) % (1u << LOCAL_BITS); }
    }
    publish(key);
}

@compute @workgroup_size(SIZE) fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) thread: u32,
) {
    let n = arrayLength(&labels);
    let first = (group.y * groups.x + group.x) * SIZE * ITEMS + thread;
    for (var item = 0u; item < ITEMS; item++) {
        let i = first + item * SIZE;
        if i < n { keep(key_of(labels[i])); }
    }
    workgroupBarrier();
    for (var slot = thread; slot < 1u << LOCAL_BITS; slot += SIZE) {
        let key = atomicLoad(&local_slots[slot]);
        if key != 0u { publish(key); }
    }
    if thread == 0u && atomicLoad(&has_smallest) == 1u { publish(0u); }
}
