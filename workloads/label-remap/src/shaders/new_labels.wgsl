// Finds the labels of a sorted sequence that differ from the one before them.

@group(0) @binding(0) var<storage, read> labels: array<i32>;

fn is_new(i: u32) -> bool {
    if i == 0u { return true; }
    return labels[i] != labels[i - 1u];
}

fn count_new(first: u32, end: u32) -> u32 {
    var count = 0u;
    for (var i = first; i < end; i++) { count += select(0u, 1u, is_new(i)); }
    return count;
}
