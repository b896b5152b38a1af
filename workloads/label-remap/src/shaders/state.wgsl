// What the three kernels for larger inputs hand to each other.

// So many different keys are handled in the memory of a workgroup.
const CAPACITY = 2048u;
const SLOT_BITS = 12u;

struct State {
    // Keys in `found`; more than CAPACITY says that there were too many to keep them.
    count: atomic<u32>,
    // Whether the smallest key, which stands for an empty slot, is among them.
    has_smallest: atomic<u32>,
}
