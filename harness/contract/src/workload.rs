//! Construction of a hot path: the author's side of the contract.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::meter::{Counters, HeapMeter};
use crate::{
    BenchmarkDef, BenchmarkId, CaseDef, Check, ClaimDef, Counter, CountingAllocator, Effort, Floor, Items,
    Meter, MeterDef, MetricDef, Name, OutcomeKind, Role, SettingDef, SettingKind, Source, VariantDef,
    WorkloadDef,
};

/// Reason why a variant could not be prepared, run or checked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The machine lacks something; the benchmark is skipped with this reason.
    #[error("{0}")]
    Unavailable(String),
    /// Memory ran out.
    #[error("{0}")]
    OutOfMemory(String),
    /// Any other failure; the benchmark counts as crashed.
    #[error("{0}")]
    Failed(String),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::OutOfMemory => Self::OutOfMemory(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// One prepared placement of one variant. Its constructor is never timed.
pub trait Measured {
    /// Makes the inputs of `round` current. Never timed.
    ///
    /// The inputs must be a function of the seed, the round and the iteration's index, must differ from round to round
    /// and from index to index, and must be equal for all variants ([`crate::input_rng`] helps). Otherwise a variant
    /// that remembers results could not be distinguished from a fast one.
    ///
    /// # Errors
    /// Returns an error if the inputs cannot be made.
    fn load(&mut self, round: u64) -> Result<(), Failure>;

    /// Runs one iteration on input `index` of the current round. This is what is timed.
    ///
    /// # Errors
    /// Returns an error if the work cannot be done; the sample is then void.
    fn run(&mut self, index: u64) -> Result<(), Failure>;

    /// Waits until everything that `run` started is done. Called at the end of a sample, within its time.
    ///
    /// # Errors
    /// Returns an error if something that `run` started failed.
    fn fence(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Compares the output of the last iteration, `run(index)`, with a float64 reference. Never timed.
    ///
    /// # Errors
    /// Returns an error if the output cannot be read; a wrong output is not an error but a [`Check`] that did not pass.
    fn check(&mut self, index: u64) -> Result<Check, Failure>;
}

/// Lets variants of different types share a constructor.
impl<M: Measured + ?Sized> Measured for Box<M> {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        (**self).load(round)
    }

    fn run(&mut self, index: u64) -> Result<(), Failure> {
        (**self).run(index)
    }

    fn fence(&mut self) -> Result<(), Failure> {
        (**self).fence()
    }

    fn check(&mut self, index: u64) -> Result<Check, Failure> {
        (**self).check(index)
    }
}

/// Input of a variant's constructor.
pub struct Setup {
    seed: u64,
    device: String,
    scratch: PathBuf,
    settings: BTreeMap<String, String>,
    metrics: Vec<Name>,
    pub(crate) notes: RefCell<Vec<String>>,
    pub(crate) counters: RefCell<Counters>,
    pub(crate) meters: RefCell<Vec<Box<dyn Meter>>>,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("seed", &self.seed)
            .field("scratch", &self.scratch)
            .finish_non_exhaustive()
    }
}

impl Setup {
    /// Creates a setup outside a worker, for benches and tests.
    pub fn new(seed: u64, device: impl Into<String>, scratch: impl Into<PathBuf>) -> Self {
        Self {
            seed,
            device: device.into(),
            scratch: scratch.into(),
            settings: BTreeMap::new(),
            metrics: Vec::new(),
            notes: RefCell::default(),
            counters: RefCell::default(),
            meters: RefCell::default(),
        }
    }

    /// Seed of every input.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// GPU that the user selected: `auto`, `none`, or a part of an adapter's name.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// Folder for this placement's files. It exists, and is removed when the launch ends.
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// Adds the user's settings for the workloads.
    #[must_use]
    pub fn with_settings(mut self, settings: BTreeMap<String, String>) -> Self {
        self.settings = settings;
        self
    }

    /// Returns the user's value (`--set NAME=VALUE`) of a setting that the workload declares, e.g. an input folder.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    /// Adds a note for the user about this placement, e.g. how much memory it takes or which files could not be used.
    /// It is shown once, however many placements add it: before any of them is timed, and below the results.
    pub fn note(&self, text: impl Into<String>) {
        self.notes.borrow_mut().push(text.into());
    }

    /// Returns a counter for one of the workload's metrics.
    ///
    /// # Panics
    /// Panics if the workload does not declare the metric, which is a bug.
    pub fn counter(&self, metric: &str) -> Counter {
        assert!(
            self.metrics.is_empty() || self.metrics.iter().any(|m| *m == metric),
            "the workload does not declare the metric `{metric}` that it counts"
        );
        self.counters.borrow_mut().counter(metric)
    }

    /// Attaches a meter that runs with every metered sample of this placement.
    pub fn attach(&self, meter: Box<dyn Meter>) {
        self.meters.borrow_mut().push(meter);
    }
}

type Constructor<P> = Box<dyn Fn(&P, &Setup) -> Result<Box<dyn Measured>, Failure>>;

/// One input size and its typed parameters.
#[derive(Debug, Clone)]
pub struct Case<P> {
    definition: CaseDef,
    params: P,
}

impl<P: Serialize> Case<P> {
    /// Creates a case that every effort measures.
    ///
    /// # Panics
    /// Panics if `id` is not a valid name.
    pub fn new(id: &str, params: P) -> Self {
        let listed = match serde_json::to_value(&params) {
            Ok(serde_json::Value::Object(map)) => map.into_iter().collect(),
            Ok(serde_json::Value::Null) | Err(_) => BTreeMap::new(),
            Ok(value) => [("value".to_owned(), value)].into(),
        };
        let (id, efforts) = (Name::literal(id), Effort::ALL.to_vec());
        Self { definition: CaseDef { id, params: listed, efforts, items: None, floor: None }, params }
    }

    /// Restricts the case to these efforts.
    #[must_use]
    pub fn efforts(mut self, efforts: &[Effort]) -> Self {
        self.definition.efforts = efforts.to_vec();
        self
    }

    /// Sets how many things one iteration handles.
    #[must_use]
    pub fn items(mut self, count: u64, unit: &str) -> Self {
        self.definition.items = Some(Items { count, unit: unit.into() });
        self
    }

    /// Sets the minimum work of one iteration, whatever the implementation.
    #[must_use]
    pub fn floor(mut self, floor: Floor) -> Self {
        self.definition.floor = Some(floor);
        self
    }
}

/// A hot path that this program can run: its definition, and constructors for every benchmark.
pub struct Workload {
    definition: WorkloadDef,
    #[expect(clippy::type_complexity, reason = "the only place where cases and variants lose their types")]
    construct: Box<dyn Fn(&Name, &Name, &Setup) -> Result<Box<dyn Measured>, Failure>>,
    meters: Vec<(Name, u32)>,
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workload").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl Workload {
    /// Starts a workload. `version` changes whenever the work of an iteration changes.
    ///
    /// # Panics
    /// Panics if `id` is not a valid name.
    pub fn builder<P: Serialize + 'static>(id: &str, version: u32, summary: &str) -> WorkloadBuilder<P> {
        WorkloadBuilder {
            definition: WorkloadDef {
                id: Name::literal(id),
                version,
                summary: summary.into(),
                on_request: false,
                sources: Vec::new(),
                cases: Vec::new(),
                variants: Vec::new(),
                benchmarks: Vec::new(),
                metrics: Vec::new(),
                claims: Vec::new(),
                settings: Vec::new(),
            },
            cases: Vec::new(),
            constructors: Vec::new(),
            meters: Vec::new(),
        }
    }

    /// Returns the definition, which answers `describe`.
    pub fn definition(&self) -> &WorkloadDef {
        &self.definition
    }

    /// Returns the names and versions of the meters that its variants attach.
    pub(crate) fn meters(&self) -> impl Iterator<Item = &(Name, u32)> {
        self.meters.iter()
    }

    /// Returns every benchmark that is not declared as skipped.
    pub fn benchmarks(&self) -> Vec<BenchmarkId> {
        let definition = &self.definition;
        let all = |case| definition.variants.iter().map(move |variant: &VariantDef| (case, &variant.id));
        let pairs = definition.cases.iter().flat_map(|case| all(&case.id));
        let measured = pairs.filter(|(case, variant)| definition.benchmark(case, variant).skip.is_none());
        measured.map(|(case, variant)| definition.benchmark_id(case, variant)).collect()
    }

    /// Creates a setup for this workload, whose counters are checked against its metrics.
    pub fn setup(&self, seed: u64, device: &str, scratch: impl Into<PathBuf>) -> Setup {
        let metrics = self.definition.metrics.iter().map(|m| m.id.clone()).collect();
        Setup { metrics, ..Setup::new(seed, device, scratch) }
    }

    /// Prepares one placement.
    ///
    /// # Errors
    /// Returns the error of the variant's constructor; an unknown case or variant is `Failed`.
    pub fn construct(
        &self,
        case: &Name,
        variant: &Name,
        setup: &Setup,
    ) -> Result<Box<dyn Measured>, Failure> {
        (self.construct)(case, variant, setup)
    }
}

/// Collects cases, variants, metrics and claims; `P` is the type of a case's parameters.
pub struct WorkloadBuilder<P> {
    definition: WorkloadDef,
    cases: Vec<Case<P>>,
    constructors: Vec<(Name, Constructor<P>)>,
    meters: Vec<(Name, u32)>,
}

impl<P> fmt::Debug for WorkloadBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkloadBuilder").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl<P: Serialize + 'static> WorkloadBuilder<P> {
    /// Adds the document and the section that describe the hot path.
    #[must_use]
    pub fn source(mut self, document: &str, section: &str) -> Self {
        self.definition.sources.push(Source { document: document.into(), section: section.into() });
        self
    }

    /// Restricts the workload to runs that spell out its name; `all` does not select it.
    #[must_use]
    pub fn on_request(mut self) -> Self {
        self.definition.on_request = true;
        self
    }

    /// Adds a case.
    #[must_use]
    pub fn case(mut self, case: Case<P>) -> Self {
        self.definition.cases.push(case.definition.clone());
        self.cases.push(case);
        self
    }

    /// Adds several cases.
    #[must_use]
    pub fn cases(self, cases: impl IntoIterator<Item = Case<P>>) -> Self {
        cases.into_iter().fold(self, Self::case)
    }

    /// Adds a variant without special properties.
    ///
    /// # Panics
    /// Panics if `id` is not a valid name.
    #[must_use]
    pub fn variant<M: Measured + 'static>(
        self,
        id: &str,
        role: Role,
        summary: &str,
        prepare: impl Fn(&P, &Setup) -> Result<M, Failure> + 'static,
    ) -> Self {
        let definition = VariantDef::new(id, role, summary);
        self.variant_with(definition, prepare)
    }

    /// Adds a variant with its whole definition.
    #[must_use]
    pub fn variant_with<M: Measured + 'static>(
        mut self,
        definition: VariantDef,
        prepare: impl Fn(&P, &Setup) -> Result<M, Failure> + 'static,
    ) -> Self {
        let boxed = move |params: &P, setup: &Setup| {
            prepare(params, setup).map(|measured| Box::new(measured) as Box<dyn Measured>)
        };
        self.constructors.push((definition.id.clone(), Box::new(boxed)));
        self.definition.variants.push(definition);
        self
    }

    /// Adds a metric that the variants report.
    #[must_use]
    pub fn metric(mut self, metric: MetricDef) -> Self {
        self.definition.metrics.push(metric);
        self
    }

    /// Adds several metrics.
    #[must_use]
    pub fn metrics(mut self, metrics: impl IntoIterator<Item = MetricDef>) -> Self {
        self.definition.metrics.extend(metrics);
        self
    }

    /// Adds a meter that the variants attach, with all its metrics.
    #[must_use]
    pub fn meter(mut self, meter: MeterDef) -> Self {
        self.meters.push((meter.name, meter.version));
        self.metrics(meter.metrics)
    }

    /// Adds a claim to be judged.
    #[must_use]
    pub fn claim(mut self, claim: ClaimDef) -> Self {
        self.definition.claims.push(claim);
        self
    }

    /// Adds several claims.
    #[must_use]
    pub fn claims(mut self, claims: impl IntoIterator<Item = ClaimDef>) -> Self {
        self.definition.claims.extend(claims);
        self
    }

    /// Declares a setting, whose value [`Setup::setting`] returns.
    ///
    /// # Panics
    /// Panics if `name` is not a valid name.
    #[must_use]
    pub fn setting(self, name: &str, summary: &str) -> Self {
        self.set_by_user(name, summary, SettingKind::Text)
    }

    /// Declares a [`setting`](Self::setting) for a file or folder. In a configuration file it is relative to that
    /// file's folder.
    ///
    /// # Panics
    /// Panics if `name` is not a valid name.
    #[must_use]
    pub fn path_setting(self, name: &str, summary: &str) -> Self {
        self.set_by_user(name, summary, SettingKind::Path)
    }

    fn set_by_user(mut self, name: &str, summary: &str, kind: SettingKind) -> Self {
        let setting = SettingDef { name: Name::literal(name), summary: summary.into(), kind };
        self.definition.settings.push(setting);
        self
    }

    /// Declares a combination as skipped, with a reason.
    ///
    /// # Panics
    /// Panics if `case` or `variant` is not a valid name.
    #[must_use]
    pub fn skip(mut self, case: &str, variant: &str, reason: impl Into<String>) -> Self {
        self.special(&Name::literal(case), &Name::literal(variant)).skip = Some(reason.into());
        self
    }

    /// Sets the outcome of a combination that counts as success.
    ///
    /// # Panics
    /// Panics if `case` or `variant` is not a valid name.
    #[must_use]
    pub fn expect(mut self, case: &str, variant: &str, outcome: OutcomeKind) -> Self {
        self.special(&Name::literal(case), &Name::literal(variant)).expect = outcome;
        self
    }

    /// Declares the memory that one placement of a variant holds in each of the cases added so far.
    ///
    /// # Panics
    /// Panics if `variant` is not a valid name.
    #[must_use]
    pub fn memory(mut self, variant: &str, bytes: impl Fn(&P) -> u64) -> Self {
        let variant = Name::literal(variant);
        let sizes: Vec<(Name, u64)> =
            self.cases.iter().map(|c| (c.definition.id.clone(), bytes(&c.params))).collect();
        for (case, bytes) in sizes {
            self.special(&case, &variant).memory_bytes = Some(bytes);
        }
        self
    }

    fn special(&mut self, case: &Name, variant: &Name) -> &mut BenchmarkDef {
        let list = &mut self.definition.benchmarks;
        let at = list.iter().position(|b| b.case == *case && b.variant == *variant).unwrap_or_else(|| {
            list.push(BenchmarkDef::new(case.clone(), variant.clone()));
            list.len() - 1
        });
        &mut list[at]
    }

    /// Finishes the workload.
    ///
    /// # Panics
    /// Panics if the definition contradicts itself, e.g. because a name is used twice, which is a bug.
    pub fn build(mut self) -> Workload {
        if CountingAllocator::installed() {
            self = self.meter(HeapMeter::definition());
        }
        let problems = self.definition.problems();
        assert!(problems.is_empty(), "workload `{}`: {}", self.definition.id, problems.join("; "));
        let Self { definition, cases, constructors, meters } = self;
        let construct = move |case: &Name, variant: &Name, setup: &Setup| {
            let unknown = |what: &str, id: &Name| Failure::Failed(format!("unknown {what} `{id}`"));
            let case =
                cases.iter().find(|c| c.definition.id == *case).ok_or_else(|| unknown("case", case))?;
            let (_, constructor) = constructors
                .iter()
                .find(|(id, _)| id == variant)
                .ok_or_else(|| unknown("variant", variant))?;
            constructor(&case.params, setup)
        };
        Workload { definition, construct: Box::new(construct), meters }
    }
}

impl VariantDef {
    /// Creates a variant without special properties.
    ///
    /// # Panics
    /// Panics if `id` is not a valid name.
    pub fn new(id: &str, role: Role, summary: &str) -> Self {
        Self {
            id: Name::literal(id),
            role,
            summary: summary.into(),
            reference: None,
            efforts: Effort::ALL.to_vec(),
            needs: Vec::new(),
            caveat: None,
        }
    }

    /// Sets the warning that a user should know before choosing the variant.
    #[must_use]
    pub fn caveat(mut self, caveat: &str) -> Self {
        self.caveat = Some(caveat.into());
        self
    }

    /// Restricts the variant to these efforts.
    #[must_use]
    pub fn efforts(mut self, efforts: &[Effort]) -> Self {
        self.efforts = efforts.to_vec();
        self
    }

    /// Adds a requirement on the machine.
    #[must_use]
    pub fn needs(mut self, need: &str) -> Self {
        self.needs.push(need.into());
        self
    }

    /// Sets the variant that it is compared with.
    ///
    /// # Panics
    /// Panics if `variant` is not a valid name.
    #[must_use]
    pub fn reference(mut self, variant: &str) -> Self {
        self.reference = Some(Name::literal(variant));
        self
    }
}
