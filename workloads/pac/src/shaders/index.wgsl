// Histograms of a workgroup, one for each thread, so that no thread waits and no sum gets long; and their index.

var<workgroup> sums: array<Value, BINS * SIZE>;
var<workgroup> counts: array<u32, BINS * SIZE>;
var<workgroup> bin_means: array<Value, BINS>;

fn clear_histogram(thread: u32) {
    for (var bin = 0u; bin < BINS; bin++) {
        sums[bin * SIZE + thread] = Value();
        counts[bin * SIZE + thread] = 0u;
    }
}

// Returns the index to thread 0. All threads call it.
fn index_of_histograms(thread: u32) -> Value {
    workgroupBarrier();
    for (var bin = thread; bin < BINS; bin += SIZE) {
        var sum = Value();
        var count = 0u;
        for (var i = 0u; i < SIZE; i++) {
            sum += sums[bin * SIZE + i];
            count += counts[bin * SIZE + i];
        }
        let by = divisor(bin, count);
        // A bin that is left out has a negative mean.
        bin_means[bin] = select(Value(-1.0), sum / f32(by), by > 0u);
    }
    workgroupBarrier();
    if thread > 0u { return Value(); }
    var total = Value();
    for (var bin = 0u; bin < BINS; bin++) { total += max(bin_means[bin], Value()); }
    // 1 + sum p ln p / ln BINS, as the sum of p ln(p BINS), where p BINS is near 1 and little is lost.
    var distance = Value();
    var is_nan = Flags();
    for (var bin = 0u; bin < BINS; bin++) {
        let mean = bin_means[bin];
        if any(mean < Value()) { continue; }
        is_nan = is_nan | (mean == Value());
        let p = mean / total;
        distance += p * log(max(p * f32(BINS), Value(1e-30)));
    }
    // A shader may assume that there are no NaNs, so NaN is encoded as a number that no index can have.
    return select(distance / log(f32(BINS)), Value(-1.0), is_nan);
}
