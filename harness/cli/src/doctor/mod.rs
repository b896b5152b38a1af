//! The capabilities of this machine: gathered facts, and findings that follow from them.

mod facts;
mod findings;
mod gather;
mod render;
#[cfg(test)]
mod tests;

pub use facts::{
    AdapterReport, Diagnosis, FORMAT_VERSION, Facts, GpuReport, Insight, MachineState, RecordPlace,
};
pub use findings::{Finding, Severity, findings};
pub use render::render_diagnosis;
