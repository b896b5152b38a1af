// State that the three kernels for larger inputs share.

// Number of different keys that fit the memory of a workgroup.
const CAPACITY = 2048u;
const SLOT_BITS = 12u;

struct State {
    // Number of keys in `found`; a number above CAPACITY says that there were too many to keep.
    count: atomic<u32>,
    // Whether the smallest key, which stands for an empty slot, is among them.
    has_smallest: atomic<u32>,
}
