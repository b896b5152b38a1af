// Sorts the first `count` keys of the workgroup with `size` threads: a bitonic network over the next power of two,
// which the caller has padded with the largest key.
fn sort_shared(count: u32, thread: u32, size: u32) {
    let padded = padded_count(count);
    for (var run = 2u; run <= padded; run *= 2u) {
        for (var gap = run / 2u; gap > 0u; gap /= 2u) {
            for (var pair = thread; pair < padded / 2u; pair += size) {
                let low = 2u * pair - (pair & (gap - 1u));
                let high = low + gap;
                let a = keys[low];
                let b = keys[high];
                let ascending = (low & run) == 0u;
                if (a > b) == ascending {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            workgroupBarrier();
        }
    }
}

fn padded_count(count: u32) -> u32 {
    return select(1u << (32u - countLeadingZeros(count - 1u)), 1u, count <= 1u);
}

// Returns how many of the workgroup's first `count` keys are smaller.
fn rank_shared(key: u32, count: u32) -> u32 {
    var low = 0u;
    var high = count;
    while low < high {
        let middle = (low + high) / 2u;
        if keys[middle] < key { low = middle + 1u; } else { high = middle; }
    }
    return low;
}
