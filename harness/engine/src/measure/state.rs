//! State of a run: a fold over its events.

use std::collections::{BTreeMap, BTreeSet};

use perfharness_contract::OutcomeKind;
use perfharness_contract::protocol::{CheckReply, HelloReply, Kernels, Mode};
use perfharness_record::{CaseEnd, Contamination, Outcome, Pairing};
use perfharness_verdict::{Block, Launch, Lead, Paired, Placement, log_ratio};

use super::event::{CheckStage, Event, LaunchTiming, SampleEvent};
use super::watching::{WatchState, WorkerRef};
use super::{Counted, SampleLength, TimeAudit, WarmUp};

/// All cases of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    /// Cases, as numbered by the plan.
    pub cases: Vec<CaseState>,
    /// Telemetry.
    pub watch: WatchState,
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseState {
    /// Sides that are alive together; absent until the case has started.
    pub pairing: Option<Pairing>,
    /// Launches.
    pub launches: Vec<LaunchRow>,
    /// Sides, as numbered by the plan.
    pub sides: Vec<SideState>,
    /// Timed samples of complete blocks, in order of time.
    pub samples: Vec<SampleRow>,
    /// Timed samples of the current block.
    pending: Vec<SampleRow>,
    /// Number of complete blocks, dropped ones included.
    pub blocks: u64,
    /// Number of dropped blocks by cause.
    pub dropped: BTreeMap<String, u64>,
    /// Reason why the case ended; absent while it is being measured.
    pub end: Option<CaseEnd>,
}

/// Times of a candidate and its reference, by round.
type Rounds = BTreeMap<u64, [Option<f64>; 2]>;

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchRow {
    /// Number.
    pub launch: u32,
    /// Load average at its start.
    pub load_average: Option<f64>,
    /// Time of the anchor at its start, in ns.
    pub anchor_ns: Option<f64>,
    /// Unix time of its start, in ms.
    pub unix_ms: u64,
    /// Parts and sides, in the order in which their workers were opened.
    pub opened: Vec<(u32, usize)>,
    /// Layouts of the programs of sides, where it is not the first.
    pub layouts: BTreeMap<usize, u32>,
    /// Breakdown of its time; absent if it was interrupted.
    pub timing: Option<LaunchTiming>,
    /// Reason why none of its blocks counts, if that is so.
    pub dropped: Option<Contamination>,
}

impl LaunchRow {
    /// Returns which of a pair was opened first in the part that they share.
    fn lead(&self, candidate: usize, reference: usize) -> Lead {
        let place = |part: u32, side: usize| self.opened.iter().position(|opened| *opened == (part, side));
        let both =
            self.opened.iter().find_map(|(part, _)| place(*part, candidate).zip(place(*part, reference)));
        match both {
            Some((candidate, reference)) if candidate < reference => Lead::Candidate,
            Some(_) => Lead::Reference,
            None => Lead::Unknown,
        }
    }
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideState {
    /// Outcome, once it is decided.
    pub outcome: Option<Outcome>,
    /// Length of the samples, once it is chosen.
    pub length: Option<SampleLength>,
    /// Warm-ups by launch and placement.
    pub warm_ups: Vec<(u32, u32, WarmUp)>,
    /// Checks.
    pub checks: Vec<CheckRow>,
    /// Metered samples.
    pub metered: Vec<SampleEvent>,
    /// Memory and time of its processes.
    pub usage: Vec<UsageRow>,
    /// Notes of its worker for the user, each once.
    pub notes: Vec<String>,
    /// Audits of its worker's times, one for each launch.
    pub audits: Vec<TimeAudit>,
    /// Its instructions, or why they are not known, with the time that counting took in ns.
    pub counted: Option<(Counted, u64)>,
    /// Its kernels, with the iterations that they were dispatched in.
    pub kernels: Option<(Kernels, u64)>,
    /// First answer of its worker to `hello`.
    pub hello: Option<HelloReply>,
}

/// One timed sample.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// The sample.
    pub sample: SampleEvent,
    /// Reason why it does not count, if it does not.
    pub dropped: Option<Contamination>,
}

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRow {
    /// The launch.
    pub launch: u32,
    /// Whether timing had begun.
    pub stage: CheckStage,
    /// The round.
    pub round: u64,
    /// The iteration.
    pub index: u64,
    /// The answer of the worker.
    pub reply: CheckReply,
}

/// Memory and time that one process used.
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
    /// Creates the state of a run that has not begun; `sides` are the numbers of sides of its cases.
    pub fn new(sides: impl IntoIterator<Item = usize>) -> Self {
        let case = |sides| CaseState { sides: vec![SideState::default(); sides], ..CaseState::default() };
        Self { cases: sides.into_iter().map(case).collect(), watch: WatchState::default() }
    }

    /// Applies an event. Events of cases or sides that the plan does not have are ignored: a journal is only read for the
    /// plan that wrote it.
    pub fn apply(&mut self, event: &Event) {
        if let Event::WorkerOpened { case, side, launch, pid: Some(pid), .. } = event {
            self.watch.opened(*pid, WorkerRef { case: *case, side: *side, launch: *launch });
        }
        if let Event::Watched(news) = event {
            self.watch.apply(news);
        }
        if let Some(case) = event.case().and_then(|number| self.cases.get_mut(number)) {
            case.apply(event);
        }
    }

    /// Returns the time of the launches so far, in ns.
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
                // A block that a killed harness left is incomplete, and a conclusion that it drew meanwhile is drawn again.
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
                    opened: Vec::new(),
                    layouts: BTreeMap::new(),
                    timing: None,
                    dropped: None,
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
            Event::LaunchFinished { launch, timing, dropped, .. } => {
                if let Some(row) = self.launch_mut(*launch) {
                    row.timing = Some(*timing);
                    row.dropped = *dropped;
                }
                if let Some(cause) = dropped {
                    self.drop_launch(*launch, *cause);
                }
            }
            Event::CaseFinished { end, .. } => self.end = Some(end.clone()),
            // It belongs to the whole run.
            Event::Watched(_) => {}
            Event::Sampled(SampleEvent { side, .. })
            | Event::WorkerOpened { side, .. }
            | Event::Noted { side, .. }
            | Event::WarmedUp { side, .. }
            | Event::Tuned { side, .. }
            | Event::Checked { side, .. }
            | Event::WorkerFinished { side, .. }
            | Event::Audited { side, .. }
            | Event::Counted { side, .. }
            | Event::Dispatched { side, .. }
            | Event::OutcomeSet { side, .. } => {
                if matches!(event, Event::OutcomeSet { .. }) {
                    // The current block stays incomplete.
                    self.pending.clear();
                }
                if let Event::WorkerOpened { launch, part, side, layout, .. } = event
                    && let Some(row) = self.launch_mut(*launch)
                {
                    row.layouts.insert(*side, *layout);
                    row.opened.push((*part, *side));
                }
                if let Some(side) = self.sides.get_mut(*side) {
                    side.apply(event);
                }
            }
        }
    }

    /// Drops all blocks of a launch.
    fn drop_launch(&mut self, launch: u32, cause: Contamination) {
        *self.dropped.entry(cause.as_str().to_owned()).or_default() += self.counted_blocks(launch);
        for row in self.samples.iter_mut().filter(|row| row.sample.launch == launch && row.dropped.is_none())
        {
            row.dropped = Some(cause);
        }
    }

    /// Returns the number of blocks of a launch that were not dropped.
    fn counted_blocks(&self, launch: u32) -> u64 {
        let own = self.counted().filter(|sample| sample.launch == launch);
        own.map(|sample| (sample.part, sample.placement, sample.block)).collect::<BTreeSet<_>>().len() as u64
    }

    /// Returns the share of blocks that are dropped once all of a launch are.
    pub(super) fn dropped_share_without(&self, launch: u32) -> f64 {
        let dropped = self.dropped.values().sum::<u64>() + self.counted_blocks(launch);
        dropped as f64 / self.blocks as f64
    }

    fn launch_mut(&mut self, number: u32) -> Option<&mut LaunchRow> {
        self.launches.iter_mut().rfind(|row| row.launch == number)
    }

    /// Returns which of a pair was opened first in a launch.
    fn lead(&self, launch: u32, candidate: usize, reference: usize) -> Lead {
        let row = self.launches.iter().rfind(|row| row.launch == launch);
        row.map_or(Lead::Unknown, |row| row.lead(candidate, reference))
    }

    /// Returns the time of its launches so far, in ns. An interrupted launch counts with the time of its samples.
    pub fn spent_ns(&self) -> u64 {
        let finished: u64 = self.launches.iter().filter_map(|l| Some(l.timing?.total_ns)).sum();
        let cut_off: BTreeSet<u32> =
            self.launches.iter().filter(|l| l.timing.is_none()).map(|l| l.launch).collect();
        if cut_off.is_empty() {
            return finished;
        }
        let samples = self.samples.iter().map(|row| &row.sample).filter(|s| cut_off.contains(&s.launch));
        finished + samples.map(|sample| sample.wall_ns).sum::<u64>()
    }

    /// Returns the sides that are still to be measured.
    pub fn active(&self) -> Vec<usize> {
        (0..self.sides.len()).filter(|side| self.sides[*side].outcome.is_none()).collect()
    }

    /// Returns the number of launches in which every side that is still to be measured has a complete block. A launch that
    /// was interrupted between two of its parts lacks a side, and does not count, nor does one that was dropped as a whole.
    pub fn launches_with_blocks(&self) -> usize {
        let dropped: BTreeSet<u32> =
            self.launches.iter().filter(|row| row.dropped.is_some()).map(|row| row.launch).collect();
        let launches_of = |side: usize| {
            let own = self.samples.iter().map(|row| &row.sample).filter(|s| s.side == side);
            let mut launches: Vec<u32> = own.map(|s| s.launch).collect();
            launches.dedup();
            launches.retain(|launch| !dropped.contains(launch));
            launches.len()
        };
        self.active().into_iter().map(launches_of).min().unwrap_or(0)
    }

    /// Returns the number of the next launch.
    pub fn next_launch(&self) -> u32 {
        self.launches.last().map_or(0, |l| l.launch + 1)
    }

    /// Whether any block is complete, so that the case may be cut short without being empty.
    pub fn has_blocks(&self) -> bool {
        !self.samples.is_empty()
    }

    /// Returns the log-ratios of a candidate against a reference, from the complete rounds that contain both.
    ///
    /// If the two were never alive together, each launch gives one log-ratio of their levels.
    pub fn paired(&self, candidate: usize, reference: usize) -> Paired {
        self.paired_over(candidate, reference, self.counted(), |sample| Some(sample.iteration_ns()))
    }

    /// Returns the log-ratios of the CPU time, from rounds in which it is above 0 for both.
    pub fn paired_cpu(&self, candidate: usize, reference: usize) -> Paired {
        let figure = |sample: &SampleEvent| sample.iteration_cpu_ns().filter(|ns| *ns > 0.0);
        self.paired_over(candidate, reference, self.counted(), figure)
    }

    /// Returns the log-ratios with dropped blocks included; `None` if no block was dropped.
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
        // In pairwise launches a reference is measured in several parts; the part with both sides counts.
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
        let placement = |blocks: &BTreeMap<u32, Rounds>| blocks.values().filter_map(block).collect();
        tree.iter()
            .map(|(launch, placements)| Launch {
                placements: placements.values().map(placement).collect(),
                lead: self.lead(*launch, candidate, reference),
            })
            .collect()
    }

    /// Returns the log-ratios of a metered time, one for each launch in which it is above 0 for both.
    pub fn paired_metered(&self, candidate: usize, reference: usize, metric: &str) -> Paired {
        let figures = |side: usize| -> BTreeMap<u32, f64> {
            let rows = self.sides.get(side).map(|side| side.metered.as_slice()).unwrap_or_default();
            let figure = |row: &SampleEvent| Some((row.launch, row.readings.get(metric)?.value()?));
            rows.iter().filter_map(figure).filter(|(_, value)| *value > 0.0).collect()
        };
        let lead = |launch| self.lead(launch, candidate, reference);
        one_for_each_launch(&figures(candidate), &figures(reference), lead)
    }

    /// Returns the timed samples that count.
    pub fn counted(&self) -> impl Iterator<Item = &SampleEvent> {
        self.samples.iter().filter(|row| row.dropped.is_none()).map(|row| &row.sample)
    }

    /// Returns a figure of a side's samples, nested as launch > placement > sample.
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
    one_for_each_launch(&levels(candidate), &levels(reference), |_| Lead::Unknown)
}

fn one_for_each_launch(
    candidates: &BTreeMap<u32, f64>,
    references: &BTreeMap<u32, f64>,
    lead: impl Fn(u32) -> Lead,
) -> Paired {
    let launch = |(launch, c): (&u32, &f64)| {
        let d = log_ratio(*c, *references.get(launch)?);
        let placements = vec![Placement { blocks: vec![Block::new(d, d)] }];
        Some(Launch { placements, lead: lead(*launch) })
    };
    candidates.iter().filter_map(launch).collect()
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
            Event::Sampled(sample) => self.metered.push(sample.clone()),
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
            Event::Audited { audit, .. } => self.audits.push(audit.clone()),
            Event::Counted { counted, spent_ns, .. } => self.counted = Some((counted.clone(), *spent_ns)),
            Event::Dispatched { iterations, kernels, .. } => {
                self.kernels.get_or_insert_with(|| (kernels.clone(), *iterations));
            }
            Event::OutcomeSet { outcome, .. } => self.outcome = Some(outcome.clone()),
            // The others belong to the case or the run.
            _ => {}
        }
    }

    /// Clears an outcome that only the end of a case sets.
    fn reopen(&mut self) {
        let concluded = |outcome: &Outcome| matches!(outcome.kind, OutcomeKind::Ok | OutcomeKind::NotRun);
        self.outcome.take_if(|outcome| concluded(outcome));
    }

    /// Returns the best time of an iteration in the warm-ups, in ns.
    pub fn iteration_ns(&self) -> Option<f64> {
        self.warm_ups.iter().map(|(_, _, w)| w.best_ns).reduce(f64::min)
    }
}

impl SampleEvent {
    /// Returns the wall-clock time of an iteration, in ns.
    pub fn iteration_ns(&self) -> f64 {
        self.wall_ns as f64 / self.iterations.max(1) as f64
    }

    /// Returns the CPU time of an iteration, in ns.
    pub fn iteration_cpu_ns(&self) -> Option<f64> {
        Some(self.cpu_ns? as f64 / self.iterations.max(1) as f64)
    }
}
