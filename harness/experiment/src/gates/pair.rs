//! One kernel in two processes, base and head, measured by the engine of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context as _, bail};
use perfharness_contract::{Effort, OutcomeKind};
use perfharness_engine::measure::CaseState;
use perfharness_engine::request::RunRequest;
use perfharness_engine::run::{BaseBuild, ComparedWith, PlannedRun, RecordPlace, Run, RunSpec, Silent};
use perfharness_known_work::VARIABLE;
use perfharness_record::compare::GatePolicy;
use perfharness_record::{SourceState, WorkerCommand};
use perfharness_verdict::Paired;
use tempfile::TempDir;

/// The variant that both processes run. They differ only in the planted work.
pub(super) const VARIANT: &str = "w100";
const TIMEOUT: Duration = Duration::from_mins(1);

/// Conditions under which a pair is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    /// Factor by which head has more work; 1 for identical sides.
    pub(super) planted: f64,
    /// Time limit of a launch of both processes.
    pub(super) launch: Duration,
    /// Target length of a timed sample.
    pub(super) sample: Duration,
}

/// Returns the two workers: the same program, with environments that differ in one digit or not at all. They have the
/// same length, because the size of the environment moves the stack and changes the timing of data on it.
pub(super) fn workers(planted: f64) -> anyhow::Result<[WorkerCommand; 2]> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let worker = |name: &str, factor: f64| WorkerCommand {
        name: name.into(),
        command: vec![program.clone(), "worker".into()],
        env: BTreeMap::from([(VARIABLE.to_owned(), format!("time={factor:.3}"))]),
        ..WorkerCommand::default()
    };
    Ok([worker("base", 1.0), worker("head", planted)])
}

/// A kernel under measurement.
pub(super) struct Pair {
    run: Run,
    launch: Duration,
    /// Holds the journal.
    _folder: TempDir,
}

impl Pair {
    pub(super) fn new(kernel: &str, seed: u64, conditions: &Conditions) -> anyhow::Result<Self> {
        let [base, head] = workers(conditions.planted)?;
        let run = RunRequest {
            seed,
            timeout: TIMEOUT,
            ..RunRequest::new([format!("known-work/{kernel}/{VARIANT}")], Effort::Standard, vec![head])
        };
        let source = SourceState::Absent { absent: "the same program".into() };
        let base = BaseBuild {
            workers: vec![base],
            source,
            versions: None,
            identical: false,
            redefined: Vec::new(),
            // Each threshold of the experiment has its own judge.
            policy: GatePolicy::default(),
        };
        let request = RunSpec {
            against: ComparedWith::Base(Box::new(base)),
            sample: Some(conditions.sample),
            ..RunSpec::new(run)
        };
        let folder = tempfile::tempdir()?;
        let place = RecordPlace::at(&folder.path().join("run.json"), false)?;
        let run = PlannedRun::new(request, &mut Silent)?.begin(place, &mut Silent)?;
        Ok(Self { run, launch: conditions.launch, _folder: folder })
    }

    /// Measures until there are `launches` launches.
    pub(super) fn extend(&mut self, launches: usize) -> anyhow::Result<()> {
        let mut patience = 1;
        loop {
            let have = self.launches();
            let missing = launches.saturating_sub(have);
            if missing == 0 {
                return Ok(());
            }
            // Launches that took longer than they should, on a machine that is busy, leave too little for the last
            // ones.
            self.run.extend(launches as u32, self.launch * missing as u32 * patience);
            self.run.measure(&mut Silent)?;
            let label = || self.run.plan().cases[0].label();
            let mut outcomes = self.case().sides.iter().filter_map(|side| side.outcome.as_ref());
            // A side that is not run yet has lost its blocks to contamination so far, and goes on.
            let is_failure = |kind| !matches!(kind, OutcomeKind::Ok | OutcomeKind::NotRun);
            if let Some(failed) = outcomes.find(|outcome| is_failure(outcome.kind)) {
                bail!("{} failed: {failed:?}", label());
            }
            if self.launches() == have {
                patience *= 2;
            }
            if patience > 1000 {
                bail!("{} makes no launch", label());
            }
        }
    }

    fn case(&self) -> &CaseState {
        &self.run.state().cases[0]
    }

    /// Launches with complete blocks of both sides, dropped ones included.
    fn launches(&self) -> usize {
        let of = |side| {
            let samples = self.case().samples.iter().map(|row| &row.sample);
            samples.filter(|s| s.side == side).map(|s| s.launch).collect::<BTreeSet<_>>().len()
        };
        of(0).min(of(1))
    }

    /// Log-ratios of head against base.
    pub(super) fn paired(&self) -> Paired {
        self.case().paired(1, 0)
    }

    /// Seconds of each launch.
    pub(super) fn seconds(&self) -> Vec<f64> {
        let launches = &self.case().launches;
        launches.iter().filter_map(|row| Some(row.timing?.total_ns as f64 / 1e9)).collect()
    }

    /// Number of dropped blocks, and of all measured blocks.
    pub(super) fn blocks(&self) -> (usize, usize) {
        let case = self.case();
        (case.dropped.values().sum::<u64>() as usize, case.blocks as usize)
    }

    /// Load average when the first launch began.
    pub(super) fn load_average(&self) -> anyhow::Result<Option<f64>> {
        Ok(self.case().launches.first().context("no launch")?.load_average)
    }
}
