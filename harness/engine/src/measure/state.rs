//! What is known of a run so far: a fold over its events.

use std::collections::{BTreeMap, BTreeSet};

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{CheckReply, HelloReply, Mode};
use perfharness_verdict::{Block, Launch, Paired, Placement, log_ratio};

use super::event::{CheckStage, Event, LaunchTiming, SampleEvent};
use super::watching::{WatchState, WorkerRef};
use super::{SampleLength, WarmUp};
use perfharness_record::CaseEnd;
use perfharness_record::Contamination;
use perfharness_record::Outcome;
use perfharness_record::Pairing;

/// All cases of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// The cases, as numbered by the plan.
    pub cases: Vec<CaseState>,
    /// What the machine did meanwhile.
    pub watch: WatchState,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseState {
    /// Which sides were alive together; absent until it has started.
    pub pairing: Option<Pairing>,
    /// Its launches.
    pub launches: Vec<LaunchRow>,
    /// Its sides, as numbered by the plan.
    pub sides: Vec<SideState>,
    /// Timed samples of complete blocks, in the order of measuring.
    pub samples: Vec<SampleRow>,
    /// Timed samples of the block that is being measured.
    pending: Vec<SampleRow>,
    /// Blocks that were measured, dropped ones included.
    pub blocks: u64,
    /// Blocks that were dropped, by cause.
    pub dropped: BTreeMap<String, u64>,
    /// What ended it; absent while it is being measured.
    pub end: Option<CaseEnd>,
}

/// Times of a candidate and its reference, by round.
type Rounds = BTreeMap<u64, [Option<f64>; 2]>;

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRow {
    /// Its number.
    pub launch: u32,
    /// Load average when it began.
    pub load_average: Option<f64>,
    /// Time of the anchor when it began, in ns.
    pub anchor_ns: Option<f64>,
    /// Unix time in ms when it began.
    pub unix_ms: u64,
    /// Where its time went; absent where it was cut off.
    pub timing: Option<LaunchTiming>,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideState {
    /// How it ended, once that is decided.
    pub outcome: Option<Outcome>,
    /// Length of its samples, once tuned.
    pub length: Option<SampleLength>,
    /// Warm-ups by launch and placement.
    pub warm_ups: Vec<(u32, u32, WarmUp)>,
    /// Checks.
    pub checks: Vec<CheckRow>,
    /// Metered samples.
    pub metered: Vec<MeteredRow>,
    /// What its processes used.
    pub usage: Vec<UsageRow>,
    /// What its worker told the user, each thing once.
    pub notes: Vec<String>,
    /// What its worker said of itself, in the first launch.
    pub hello: Option<HelloReply>,
}

/// One timed sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// What was measured.
    pub sample: SampleEvent,
    /// Why it does not count, where it does not.
    pub dropped: Option<Contamination>,
}

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRow {
    /// The launch.
    pub launch: u32,
    /// Before or after timing.
    pub stage: CheckStage,
    /// The round.
    pub round: u64,
    /// The iteration.
    pub index: u64,
    /// What was found.
    pub reply: CheckReply,
}

/// One metered sample.
#[derive(Clone, Debug, PartialEq)]
pub struct MeteredRow {
    /// The launch.
    pub launch: u32,
    /// The whole sample.
    pub sample: SampleEvent,
}

/// What one process used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsageRow {
    /// The launch.
    pub launch: u32,
    /// Peak resident set size.
    pub peak_rss_bytes: Option<u64>,
    /// CPU time.
    pub cpu_ns: Option<u64>,
}

impl RunState {
    /// A run of which nothing is known; `sides` are the numbers of sides of its cases.
    pub fn new(sides: impl IntoIterator<Item = usize>) -> Self {
        let case = |sides| CaseState { sides: vec![SideState::default(); sides], ..CaseState::default() };
        Self { cases: sides.into_iter().map(case).collect(), watch: WatchState::default() }
    }

    /// Takes up an event. Events of cases or sides that the plan does not have are ignored: a journal is only read
    /// for the plan that wrote it.
    pub fn apply(&mut self, event: &Event) {
        if let Event::WorkerOpened { case, side, launch, pid: Some(pid), .. } = event {
            self.watch.opened(*pid, WorkerRef { case: *case, side: *side, launch: *launch });
        }
        if let Event::Watched(news) = event {
            self.watch.hear(news);
        }
        if let Some(case) = event.case().and_then(|number| self.cases.get_mut(number)) {
            case.apply(event);
        }
    }

    /// Ns that launches have taken so far.
    pub fn spent_ns(&self) -> u64 {
        self.cases.iter().map(CaseState::spent_ns).sum()
    }
}

impl CaseState {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::CaseStarted { pairing, .. } => {
                self.pairing = Some(*pairing);
                self.end = None;
                // What a killed harness left of a block is not a block, and what it concluded while it was killed is
                // concluded again.
                self.pending.clear();
                self.sides.iter_mut().for_each(SideState::reopen);
            }
            Event::LaunchStarted { launch, load_average, anchor_ns, unix_ms, .. } => {
                self.pending.clear();
                self.launches.push(LaunchRow {
                    launch: *launch,
                    load_average: *load_average,
                    anchor_ns: *anchor_ns,
                    unix_ms: *unix_ms,
                    timing: None,
                });
            }
            Event::Sampled(sample) if sample.mode == Mode::Timed => {
                self.pending.push(SampleRow { sample: sample.clone(), dropped: None });
            }
            Event::BlockFinished { dropped, .. } => {
                self.blocks += 1;
                if let Some(cause) = dropped {
                    *self.dropped.entry(cause.as_str().to_owned()).or_default() += 1;
                }
                let rows = self.pending.drain(..).map(|row| SampleRow { dropped: *dropped, ..row });
                self.samples.extend(rows);
            }
            Event::LaunchFinished { launch, timing, .. } => {
                if let Some(row) = self.launches.iter_mut().rfind(|row| row.launch == *launch) {
                    row.timing = Some(*timing);
                }
            }
            Event::CaseFinished { end, .. } => self.end = Some(end.clone()),
            // It concerns no single case.
            Event::Watched(_) => {}
            Event::Sampled(SampleEvent { side, .. })
            | Event::WorkerOpened { side, .. }
            | Event::Noted { side, .. }
            | Event::WarmedUp { side, .. }
            | Event::Tuned { side, .. }
            | Event::Checked { side, .. }
            | Event::WorkerFinished { side, .. }
            | Event::OutcomeSet { side, .. } => {
                if matches!(event, Event::OutcomeSet { .. }) {
                    // The block that it was in stays incomplete.
                    self.pending.clear();
                }
                if let Some(side) = self.sides.get_mut(*side) {
                    side.apply(event);
                }
            }
        }
    }

    /// Ns that its launches have taken so far. A launch that was cut off counts what its samples took.
    pub fn spent_ns(&self) -> u64 {
        let finished: u64 = self.launches.iter().filter_map(|l| Some(l.timing?.total_ns)).sum();
        let cut_off = |row: &&SampleRow| {
            self.launches.iter().any(|l| l.launch == row.sample.launch && l.timing.is_none())
        };
        finished + self.samples.iter().filter(cut_off).map(|row| row.sample.wall_ns).sum::<u64>()
    }

    /// Sides that are still to be measured.
    pub fn active(&self) -> Vec<usize> {
        (0..self.sides.len()).filter(|side| self.sides[*side].outcome.is_none()).collect()
    }

    /// Launches in which every side that is still to be measured has a complete block. One that was cut off between two
    /// of its parts is not counted: it lacks a side.
    pub fn launches_with_blocks(&self) -> usize {
        let launches_of = |side: usize| {
            let own = self.samples.iter().map(|row| &row.sample).filter(|s| s.side == side);
            let mut launches: Vec<u32> = own.map(|s| s.launch).collect();
            launches.dedup();
            launches.len()
        };
        self.active().into_iter().map(launches_of).min().unwrap_or(0)
    }

    /// Number of the next launch.
    pub fn next_launch(&self) -> u32 {
        self.launches.last().map_or(0, |l| l.launch + 1)
    }

    /// Whether any side is tuned and has complete blocks, so that a case may be cut short without being empty.
    pub fn has_blocks(&self) -> bool {
        !self.samples.is_empty()
    }

    /// Log-ratios of a candidate against a reference, from the complete rounds that hold both.
    ///
    /// Where the two were never alive together, each launch gives one log-ratio of their levels.
    pub fn paired(&self, candidate: usize, reference: usize) -> Paired {
        self.paired_over(candidate, reference, self.counted(), |sample| Some(sample.iteration_ns()))
    }

    /// The same of the CPU time, where both took any.
    pub fn paired_cpu(&self, candidate: usize, reference: usize) -> Paired {
        let figure = |sample: &SampleEvent| sample.iteration_cpu_ns().filter(|ns| *ns > 0.0);
        self.paired_over(candidate, reference, self.counted(), figure)
    }

    /// The same, with the blocks that were dropped; none where none was.
    pub fn paired_if_kept(&self, candidate: usize, reference: usize) -> Option<Paired> {
        let any = self.samples.iter().any(|row| row.dropped.is_some());
        let all = self.samples.iter().map(|row| &row.sample);
        any.then(|| self.paired_over(candidate, reference, all, |sample| Some(sample.iteration_ns())))
    }

    fn paired_over<'a>(
        &self,
        candidate: usize,
        reference: usize,
        samples: impl Iterator<Item = &'a SampleEvent>,
        figure: impl Fn(&SampleEvent) -> Option<f64>,
    ) -> Paired {
        let samples: Vec<&SampleEvent> = samples.collect();
        if self.pairing == Some(Pairing::Alternating) {
            return paired_by_launch(&samples, candidate, reference, figure);
        }
        // Launch -> placement -> block -> rounds.
        let mut tree: BTreeMap<u32, BTreeMap<u32, BTreeMap<u32, Rounds>>> = BTreeMap::new();
        // In pairwise launches a reference is measured in several parts; the one that both were alive in counts.
        let parts_of = |side: usize| -> BTreeSet<(u32, u32)> {
            samples.iter().filter(|s| s.side == side).map(|s| (s.launch, s.part)).collect()
        };
        let shared = &parts_of(candidate) & &parts_of(reference);
        for sample in samples.iter().filter(|s| shared.contains(&(s.launch, s.part))) {
            let slot = match sample.side {
                side if side == candidate => 0,
                side if side == reference => 1,
                _ => continue,
            };
            let placement = tree.entry(sample.launch).or_default().entry(sample.placement).or_default();
            let round = placement.entry(sample.block).or_default().entry(sample.round).or_default();
            round[slot] = figure(sample);
        }
        let block = |rounds: &Rounds| {
            let ratios: Vec<f64> =
                rounds.values().filter_map(|[c, r]| Some(log_ratio((*c)?, (*r)?))).collect();
            match ratios[..] {
                [first, second] => Some(Block::new(first, second)),
                _ => None,
            }
        };
        tree.values()
            .map(|placements| -> Launch {
                placements
                    .values()
                    .map(|blocks| -> Placement { blocks.values().filter_map(block).collect() })
                    .collect()
            })
            .collect()
    }

    /// Log-ratios of a metered time, one for each launch in which both were metered and took any.
    pub fn paired_metered(&self, candidate: usize, reference: usize, metric: &str) -> Paired {
        let figures = |side: usize| -> BTreeMap<u32, f64> {
            let rows = self.sides.get(side).map(|side| side.metered.as_slice()).unwrap_or_default();
            let figure = |row: &MeteredRow| Some((row.launch, row.sample.readings.get(metric)?.value()?));
            rows.iter().filter_map(figure).filter(|(_, value)| *value > 0.0).collect()
        };
        one_for_each_launch(&figures(candidate), &figures(reference))
    }

    /// Timed samples that count.
    pub fn counted(&self) -> impl Iterator<Item = &SampleEvent> {
        self.samples.iter().filter(|row| row.dropped.is_none()).map(|row| &row.sample)
    }

    /// Ns per iteration of a side, nested as launch > placement > sample; `figure` picks what is taken of a sample.
    pub fn levels(&self, side: usize, figure: impl Fn(&SampleEvent) -> Option<f64>) -> Vec<Vec<Vec<f64>>> {
        // Each part of a launch has placements of its own.
        let mut tree: BTreeMap<u32, BTreeMap<(u32, u32), Vec<f64>>> = BTreeMap::new();
        for sample in self.counted().filter(|s| s.side == side) {
            if let Some(value) = figure(sample) {
                let placements = tree.entry(sample.launch).or_default();
                placements.entry((sample.part, sample.placement)).or_default().push(value);
            }
        }
        tree.into_values().map(|placements| placements.into_values().collect()).collect()
    }
}

fn paired_by_launch(
    samples: &[&SampleEvent],
    candidate: usize,
    reference: usize,
    figure: impl Fn(&SampleEvent) -> Option<f64>,
) -> Paired {
    let levels = |side| -> BTreeMap<u32, f64> {
        let mut by_launch: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for sample in samples.iter().filter(|s| s.side == side) {
            by_launch.entry(sample.launch).or_default().extend(figure(sample));
        }
        by_launch.into_iter().filter_map(|(l, v)| Some((l, perfharness_verdict::median(&v)?))).collect()
    };
    one_for_each_launch(&levels(candidate), &levels(reference))
}

fn one_for_each_launch(candidates: &BTreeMap<u32, f64>, references: &BTreeMap<u32, f64>) -> Paired {
    let ratio = |(launch, c): (&u32, &f64)| Some(log_ratio(*c, *references.get(launch)?));
    let launches = candidates.iter().filter_map(ratio);
    launches.map(|d| Launch { placements: vec![Placement { blocks: vec![Block::new(d, d)] }] }).collect()
}

impl SideState {
    fn apply(&mut self, event: &Event) {
        match event {
            Event::WorkerOpened { hello, .. } => {
                self.hello.get_or_insert_with(|| hello.clone());
            }
            Event::Noted { note, .. } => self.notes.push(note.clone()),
            Event::WarmedUp { launch, placement, warm_up, .. } => {
                self.warm_ups.push((*launch, *placement, *warm_up));
            }
            Event::Tuned { iterations, lead_in, .. } => {
                self.length = Some(SampleLength { iterations: *iterations, lead_in: *lead_in });
            }
            Event::Sampled(sample) => {
                self.metered.push(MeteredRow { launch: sample.launch, sample: sample.clone() });
            }
            Event::Checked { launch, stage, round, index, reply, .. } => self.checks.push(CheckRow {
                launch: *launch,
                stage: *stage,
                round: *round,
                index: *index,
                reply: reply.clone(),
            }),
            Event::WorkerFinished { launch, peak_rss_bytes, cpu_ns, .. } => self.usage.push(UsageRow {
                launch: *launch,
                peak_rss_bytes: *peak_rss_bytes,
                cpu_ns: *cpu_ns,
            }),
            Event::OutcomeSet { outcome, .. } => self.outcome = Some(outcome.clone()),
            Event::CaseStarted { .. }
            | Event::LaunchStarted { .. }
            | Event::BlockFinished { .. }
            | Event::LaunchFinished { .. }
            | Event::CaseFinished { .. }
            | Event::Watched(_) => {}
        }
    }

    /// Takes back what only the end of a case says.
    fn reopen(&mut self) {
        let concluded = |outcome: &Outcome| matches!(outcome.kind, OutcomeKind::Ok | OutcomeKind::NotRun);
        self.outcome.take_if(|outcome| concluded(outcome));
    }

    /// Best time of an iteration seen while warming up, in ns.
    pub fn iteration_ns(&self) -> Option<f64> {
        self.warm_ups.iter().map(|(_, _, w)| w.best_ns).reduce(f64::min)
    }
}

impl SampleEvent {
    /// Wall-clock time of an iteration, in ns.
    pub fn iteration_ns(&self) -> f64 {
        self.wall_ns as f64 / self.iterations.max(1) as f64
    }

    /// CPU time of an iteration, in ns.
    pub fn iteration_cpu_ns(&self) -> Option<f64> {
        Some(self.cpu_ns? as f64 / self.iterations.max(1) as f64)
    }
}
