//! The specification of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use perfharness_contract::SettingKind;
use perfharness_record::compare::GatePolicy;
use perfharness_record::{Redefinition, SourceState, VersionsRecord, WorkerCommand};

use crate::plan::Catalog;
use crate::request::RunRequest;
use crate::source_state;

/// Everything that a run follows from.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// The part that the journal keeps: a run is continued only by the same request.
    pub run: RunRequest,
    /// Targets of the paths among the settings.
    pub settings: SettingPaths,
    /// The other side of the comparisons.
    pub against: ComparedWith,
    /// The source code that is measured.
    pub source: SourceState,
    /// Key of the machine class; follows from the facts of the machine where absent.
    pub machine_class: Option<String>,
    /// Length of a timed sample; that of the effort where absent.
    pub sample: Option<Duration>,
    /// Whether a process of its own watches the machine meanwhile.
    pub telemetry: bool,
    /// Whether to count instructions, where that is possible.
    pub instructions: bool,
    /// The arguments that the record names.
    pub arguments: Vec<String>,
    /// Ends the run in good order once it is set.
    pub interrupted: Arc<AtomicBool>,
}

impl RunSpec {
    /// A request that measures the variants of the code here against their references.
    pub fn new(run: RunRequest) -> Self {
        Self {
            run,
            settings: SettingPaths::default(),
            against: ComparedWith::References,
            source: source_state(),
            machine_class: None,
            sample: None,
            telemetry: false,
            instructions: false,
            arguments: Vec::new(),
            interrupted: Arc::default(),
        }
    }
}

/// The other side of the comparisons.
#[derive(Clone, Debug)]
pub enum ComparedWith {
    /// Each variant is compared with its reference.
    References,
    /// Each benchmark is compared with that of another build.
    Base(Box<BaseBuild>),
    /// Each benchmark is compared with itself: the differences are noise.
    Itself {
        /// The changes that matter.
        policy: Box<GatePolicy>,
    },
}

/// Another build of the code.
#[derive(Clone, Debug)]
pub struct BaseBuild {
    /// Its workers.
    pub workers: Vec<WorkerCommand>,
    /// Its source code.
    pub source: SourceState,
    /// The two versions, where both were built for the run.
    pub versions: Option<VersionsRecord>,
    /// True if both builds are known to be the same, so that nothing is measured.
    pub identical: bool,
    /// Differences of the configuration that the record names.
    pub redefined: Vec<Redefinition>,
    /// The changes that matter, which each pair is measured for.
    pub policy: GatePolicy,
}

/// Targets of the paths among the settings.
#[derive(Clone, Debug)]
pub enum SettingPaths {
    /// To where the configuration and the flags mean.
    Written {
        /// The folder that paths of the configuration are relative to.
        folder: PathBuf,
        /// Names of the settings that flags gave, whose paths are relative to the current folder. Each must be asked for
        /// by a workload.
        by_flag: BTreeSet<String>,
    },
    /// To where they led when a run began that is now continued.
    AsPlanned(BTreeMap<String, String>),
}

impl Default for SettingPaths {
    fn default() -> Self {
        Self::Written { folder: PathBuf::new(), by_flag: BTreeSet::new() }
    }
}

impl SettingPaths {
    /// The settings of a request, with paths as the workers look them up. Workers start in the current folder, or else each
    /// in the configuration's folder of its own version, whose files the configuration then means.
    pub(super) fn placed(&self, request: &RunRequest, catalog: &Catalog) -> BTreeMap<String, String> {
        let (folder, by_flag) = match self {
            Self::Written { folder, by_flag } => (folder, by_flag),
            Self::AsPlanned(settings) => return settings.clone(),
        };
        let mut settings = request.settings.clone();
        let are_apart = request.workers.iter().any(|worker| worker.folder.is_some());
        let defined = catalog.entries.iter().flat_map(|entry| &entry.definition.settings);
        for path in defined.filter(|setting| setting.kind == SettingKind::Path) {
            let Some(text) = request.settings.get(path.name.as_str()) else { continue };
            let placed = match (by_flag.contains(path.name.as_str()), are_apart) {
                (true, true) => std::path::absolute(text).unwrap_or_else(|_| text.into()),
                (false, false) => folder.join(text),
                (true, false) | (false, true) => text.into(),
            };
            settings.insert(path.name.to_string(), placed.to_string_lossy().into_owned());
        }
        settings
    }

    /// The name of a flag's setting that no workload asks for, and the names that workloads ask for. A misspelt flag would
    /// silently do nothing; the configuration may have settings of workloads that are not there today.
    pub(super) fn unknown(&self, catalog: &Catalog) -> Option<(String, Vec<String>)> {
        let Self::Written { by_flag, .. } = self else { return None };
        let definitions = catalog.entries.iter().flat_map(|entry| &entry.definition.settings);
        let known: BTreeSet<&str> = definitions.map(|setting| setting.name.as_str()).collect();
        let unknown = by_flag.iter().find(|name| !known.contains(name.as_str()))?;
        Some((unknown.clone(), known.into_iter().map(str::to_owned).collect()))
    }
}
