//! Heap allocations and growth of each variant on the host, in a separate program with the counting allocator.

perfharness_contract::counting_allocator!();

#[cfg(test)]
mod tests {
    use perfharness_bookkeeping::{history, inference_mode, progress};
    use perfharness_contract::protocol::Mode;
    use perfharness_contract::testing::{place, sample};
    use perfharness_contract::{Workload, standard};

    fn heap(workload: &Workload, case: &str, variant: &str, metric: &str) -> f64 {
        let readings = sample(&mut place(workload, case, variant), Mode::Metered, 3).readings;
        readings[metric].value().unwrap() / 3.0
    }

    // A single test, because there is one allocator and a count would include the threads of other tests.
    #[test]
    fn the_heap_is_used_exactly_as_stated() {
        for case in ["v1-n1000", "v64-n1000"] {
            let allocations = |variant| heap(&inference_mode(), case, variant, standard::HEAP_ALLOCATIONS);
            // For each operation a result, its record and the record of a view; and the start and the record of the weights.
            assert_eq!(allocations("slow"), 3000.0 + 3.0, "{case}");
            // Also a node for each operation, and the tape, which doubles from 4 to 1024 places.
            assert_eq!(allocations("recording"), 4000.0 + 3.0 + 9.0, "{case}");
            assert_eq!(allocations("documented"), 1000.0 + 1.0, "{case}");
            assert_eq!(allocations("optimized"), 0.0, "{case}");
        }
        let growth = |variant| heap(&history(), "s1000", variant, standard::HEAP_GROWTH);
        // Five blocks of 1000 values, and their places in a list: three words of a vector and two links.
        assert_eq!(growth("slow"), 5.0 * (8000.0 + 5.0 * size_of::<usize>() as f64));
        assert_eq!((growth("documented"), growth("optimized")), (0.0, 0.0));
        assert_eq!(heap(&history(), "s1000", "optimized", standard::HEAP_ALLOCATIONS), 0.0);
        for variant in ["slow", "documented", "each-item", "optimized"] {
            assert_eq!(heap(&progress(), "n20-p64", variant, standard::HEAP_ALLOCATIONS), 0.0, "{variant}");
        }
    }
}
