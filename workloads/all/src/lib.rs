//! The built-in workloads: the one list that the program, the slim worker and the benches share.

use perfharness_contract::Workload;

/// Every built-in workload, in the order in which it is listed and run.
pub fn all() -> Vec<Workload> {
    vec![
        workload_json_logging::workload(),
        workload_label_remap::workload(),
        perfharness_pac::workload(),
        perfharness_pac::surrogates(),
    ]
}
