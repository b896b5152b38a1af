//! A gate of one worker against another, measured and judged as `perfharness gate --base` does it.

use std::time::Duration;

use perfharness_engine::plan::confirmation;
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::{
    BaseBuild, ComparedWith, Listener, PlannedRun, RecordPlace, RunError, RunSpec,
};
use perfharness_record::compare::{GatePolicy, GateReport, Terms, flagged, judge};
use perfharness_record::{RunRecord, SourceState, WorkerCommand};

/// The terms of a gate.
pub(crate) struct Asked {
    pub(crate) base: WorkerCommand,
    /// The request, with the worker of the head.
    pub(crate) run: RunRequest,
    pub(crate) policy: GatePolicy,
    /// Length of a timed sample; that of the effort where absent.
    pub(crate) sample: Option<Duration>,
    pub(crate) instructions: bool,
}

/// Measures a gate, confirms its flags, and judges it.
pub(crate) fn gated(asked: Asked, listener: &mut dyn Listener) -> anyhow::Result<(RunRecord, GateReport)> {
    let Asked { base, run, policy, sample, instructions } = asked;
    let source = SourceState::Absent { absent: "a build of the experiment".into() };
    let base = BaseBuild {
        workers: vec![base],
        source: source.clone(),
        versions: None,
        identical: false,
        redefined: Vec::new(),
        policy: policy.clone(),
    };
    let against = ComparedWith::Base(Box::new(base));
    let spec = RunSpec { against, sample, source, instructions, ..RunSpec::new(run) };
    let terms = Terms {
        baseline: None,
        policy: &policy,
        command: "perfharness gate",
        one_run: false,
        calibration: None,
    };
    let folder = tempfile::tempdir()?;
    let place = RecordPlace::at(&folder.path().join("run.json"), false)?;
    let run = PlannedRun::new(spec, listener)?.begin(place, listener)?;
    let record = run.measure_all_and(listener, |plan, record| {
        Ok::<_, RunError>(confirmation(plan, &flagged(&judge(record, &terms))))
    })?;
    let report = judge(&record, &terms);
    Ok((record, report))
}
