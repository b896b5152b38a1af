//! Built-in workloads: the list that the program, the slim worker and the benches share.

use perfharness_contract::Workload;

/// Returns every built-in workload, in the order in which it is listed and run.
pub fn all() -> Vec<Workload> {
    vec![
        perfharness_json_logging::workload(),
        perfharness_label_remap::workload(),
        perfharness_metrics_sync::workload(),
        perfharness_bookkeeping::inference_mode(),
        perfharness_bookkeeping::step_metrics(),
        perfharness_bookkeeping::history(),
        perfharness_bookkeeping::progress(),
        perfharness_experts::rotation(),
        perfharness_experts::masks(),
        perfharness_pac::workload(),
        perfharness_pac::surrogates(),
        perfharness_decoder::first_k(),
        perfharness_decoder::kv_cache(),
        perfharness_decoder::attention(),
        // Last of the workloads that `all` selects: its iterations are the longest, and it gets the remaining time.
        perfharness_mc_passes::workload(),
        perfharness_known_work::workload(),
    ]
}
