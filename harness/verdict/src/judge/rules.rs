//! The subject of a row, and the rules that follow from it alone: which figure counts, from which change on, and what
//! excuses it. The default thresholds and margins stand in `policy`.

use perfharness_contract::gpu_metric::{CODE_INSTRUCTIONS, DEVICE_GROWTH, GPU_BUSY, code_statistic};
use perfharness_contract::{BenchmarkId, MetricDef, MetricKind, Role, standard};

use super::terms::rung;
use super::{
    Advisory, Evidence, ExactFigure, ExactPolicy, GROWTH_MARGIN_BYTES, Judgement, Limit, MIN_BASELINE_RUNS,
    PairedRun, RESIDENT_MARGIN_BYTES, Reason, RowTerms, RunFigure, SizePolicy, Spread, StoredBaseline,
    TimePolicy, Verdict, Why, judge_exact, judge_paired, judge_size, judge_unpaired,
};
use crate::MIN_LAUNCHES_TO_DECIDE;

/// Id of the speed-up of a variant over its reference, which is judged like a metric.
pub const SPEED_UP: &str = "speed-up";

/// Confidence of the intervals that verdicts rest on.
pub const CONFIDENCE: f64 = 0.99;

/// The device that computes for a GPU on a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapter {
    /// A GPU, or there is none.
    Hardware,
    /// The processor.
    Software,
    /// An adapter that nothing is known of, because the driver could not be asked.
    Unknown,
}

/// The subject of a row: a metric of a benchmark on a machine.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The benchmark.
    pub benchmark: &'a BenchmarkId,
    /// The metric.
    pub metric: &'a MetricDef,
    /// The role of the benchmark's variant.
    pub role: Role,
    /// True if the benchmark computes on a GPU.
    pub uses_gpu: bool,
    /// The same of the benchmark that a speed-up is measured against; of the benchmark itself for any other metric.
    pub reference_uses_gpu: bool,
    /// The device that computes for a GPU.
    pub adapter: Adapter,
}

/// Whether the time of a variant in this role counts. A variant that is kept slow on purpose is not measured for its time.
pub fn time_counts(role: Role) -> bool {
    role != Role::Slow
}

/// The slowdown, as a share, to plant in a row that could see a log-ratio of `could_see`: the next step of the ladder of
/// [`RowTerms::could_see`] that is at least 1.5 times as large, so that noise hardly ever hides it. None for more than five
/// times the work, which tells nothing of changes.
pub fn share_to_plant(could_see: f64) -> Option<f64> {
    let share = rung((1.5 * could_see.exp_m1()).ln_1p()).exp_m1();
    // A log-ratio lost the last digits of its step.
    let share = (share * 1e6).round() / 1e6;
    Some(share).filter(|share| *share <= 4.0)
}

/// Whether a metric is the growth of an iteration.
fn is_growth(metric: &str) -> bool {
    [standard::HEAP_GROWTH, DEVICE_GROWTH].contains(&metric)
}

impl Subject<'_> {
    fn id(&self) -> &str {
        self.metric.id.as_str()
    }

    /// Whether its times are those of a GPU that nothing is known of, or that is none.
    pub fn is_software(&self) -> bool {
        self.uses_gpu && self.adapter != Adapter::Hardware
    }

    /// Whether its times follow the anchor. A GPU has a clock of its own, which the anchor knows nothing of.
    pub fn follows_anchor(&self) -> bool {
        !self.uses_gpu || self.is_software()
    }

    /// The default policy for a time.
    pub fn time_policy(&self) -> TimePolicy {
        if self.is_software() { TimePolicy::SOFTWARE_ADAPTER } else { TimePolicy::HARDWARE }
    }

    /// The default policy for a size.
    pub fn size_policy(&self) -> SizePolicy {
        let of_bytes = |margin| SizePolicy { margin: Limit::literal(margin), ..SizePolicy::BYTES };
        match self.id() {
            standard::PEAK_RSS => of_bytes(RESIDENT_MARGIN_BYTES),
            standard::INSTRUCTIONS => SizePolicy::INSTRUCTIONS,
            metric if code_statistic(metric).is_some_and(|(statistic, _)| statistic == CODE_INSTRUCTIONS) => {
                SizePolicy::CODE_INSTRUCTIONS
            }
            metric if is_growth(metric) => of_bytes(GROWTH_MARGIN_BYTES),
            _ if self.metric.unit == "bytes" => SizePolicy::BYTES,
            _ => SizePolicy::COUNTS,
        }
    }

    /// Whether a driver has a share in the figure: it allocates in the process that it is loaded into, as it likes, and
    /// a few launches in which it did the same prove nothing.
    fn is_drivers_too(&self) -> bool {
        let of_heap = [standard::HEAP_ALLOCATIONS, standard::HEAP_BYTES, standard::HEAP_GROWTH];
        self.uses_gpu && of_heap.contains(&self.id())
    }

    /// Adds why a time is shown but does not count.
    #[must_use]
    pub fn advise_time(&self, judgement: Judgement) -> Judgement {
        let decides = match self.id() {
            standard::WALL_TIME | SPEED_UP => true,
            GPU_BUSY => self.uses_gpu,
            _ => false,
        };
        let judgement = if decides { judgement } else { judgement.advise(Advisory::Diagnosis) };
        if time_counts(self.role) { judgement } else { judgement.advise(Advisory::Exhibit) }
    }

    /// Adds why a figure that is not there does not count. Whether instructions can be counted and kernels compiled is up to the
    /// machine and to the time that is left; the times of the benchmark decide without them.
    #[must_use]
    pub fn advise_absence(&self, judgement: Judgement) -> Judgement {
        match self.metric.kind {
            MetricKind::Time | MetricKind::Derived => self.advise_time(judgement),
            _ if self.id() == standard::INSTRUCTIONS || code_statistic(self.id()).is_some() => {
                judgement.advise(Advisory::Diagnosis)
            }
            _ => judgement,
        }
    }

    /// Excuses a time of a software adapter that shows too little: it says little about a GPU, and the counts of the same
    /// benchmark decide. One that got worse, may have got worse, or cannot be judged counts all the same.
    fn advise_software(&self, judgement: Judgement) -> Judgement {
        let shows_little =
            matches!(judgement.reason, Reason::CouldNotSee { .. } | Reason::TooFewLaunches { .. });
        if self.is_software() && shows_little {
            judgement.advise(Advisory::SoftwareAdapter)
        } else {
            judgement
        }
    }

    /// Judges a figure without noise. None for a neutral metric.
    ///
    /// A figure that a driver has a share in has some noise. Any other that varied all the same proves nothing by that,
    /// but it hides nothing, either: a launch that happens to have what the other side has does not make the rest of
    /// them equal.
    pub fn judge_exact(&self, before: Spread, now: Spread, policy: ExactPolicy) -> Option<Judgement> {
        let direction = self.metric.direction;
        let (near_before, near) = before.nearest(now);
        if self.is_drivers_too() {
            let before = ExactFigure { value: near_before, varied: true };
            return judge_exact(before, ExactFigure { value: near, varied: now.varied }, policy, direction);
        }
        // A figure that did not vary before has no noise that would excuse it now.
        let varied = before.varied;
        let figure = |value| ExactFigure { value, varied };
        let judged = |before, value| judge_exact(figure(before), figure(value), policy, direction);
        let is_worse = |judged: &Judgement| judged.verdict == Verdict::Regressed;
        let nearest = judged(near_before, near)?;
        if nearest.verdict != Verdict::Unchanged {
            return Some(nearest);
        }
        let typical = judged(before.middle, now.middle)?;
        if is_worse(&typical) && !varied {
            return Some(typical);
        }
        // A vector grows now and then, in whichever launch it is full.
        let grows = is_growth(self.id());
        let mut extremes = now.range.iter().filter_map(|value| judged(before.middle, *value));
        let is_open = is_worse(&typical) || !varied && !grows && extremes.any(|judged| is_worse(&judged));
        let [least, largest] = now.range;
        let why = Why::Varied { least, largest, before: before.middle };
        Some(if is_open { Judgement::unusable(why) } else { nearest })
    }

    /// Judges a figure with little noise, by the launches of both sides that are nearest to each other. None for a
    /// neutral metric.
    pub fn judge_size(&self, before: Spread, now: Spread, policy: SizePolicy) -> Option<Judgement> {
        let is_count = self.id() == standard::INSTRUCTIONS;
        if is_count && (before.varied || now.varied) {
            // An interpreter's differ from sample to sample, and what a process draws when it starts from process to process:
            // the middles have to differ by more than the values of a side do.
            let margin = policy.margin.at_least(before.width().max(now.width()));
            let policy = SizePolicy { margin, ..policy };
            return judge_size(before.middle, now.middle, policy, self.metric.direction);
        }
        let (before, now) = before.nearest(now);
        judge_size(before, now, policy, self.metric.direction)
    }

    /// Judges a time that was measured in paired rounds. None for a neutral metric.
    pub fn judge_paired(&self, run: &PairedRun<'_>) -> Option<Judgement> {
        let is_wall = self.id() == standard::WALL_TIME;
        let run = PairedRun {
            // Metered samples belong to no block, and CPU time, which is advisory, decides nothing that dropped ones
            // could change.
            dropped_blocks: if is_wall { run.dropped_blocks } else { 0 },
            blocks: if is_wall { run.blocks } else { 0 },
            // The wall time alone is calibrated.
            terms: RowTerms { calibrated: run.terms.calibrated.filter(|_| is_wall), ..run.terms },
            ..*run
        };
        Some(self.advise_software(self.advise_time(judge_paired(&run, self.metric.direction)?)))
    }

    /// Judges a time of a run of so many `launches` against stored runs. None for a neutral metric.
    pub fn judge_unpaired(
        &self,
        stored: &StoredBaseline<'_>,
        now: RunFigure,
        launches: usize,
        terms: &RowTerms,
    ) -> Option<Judgement> {
        let mut judgement = judge_unpaired(stored, &[now], CONFIDENCE, terms, self.metric.direction)?;
        if stored.is_one_run {
            judgement = judgement.advise(Advisory::FewRuns { runs: 1, needed: MIN_BASELINE_RUNS });
        }
        // The spread between runs holds for runs of as many launches: a run of fewer has more noise.
        let needed = stored.launches.min(MIN_LAUNCHES_TO_DECIDE);
        if matches!(judgement.evidence, Evidence::TimeUnpaired(_)) && launches < needed {
            judgement.verdict = Verdict::Inconclusive;
            judgement.reason = Reason::TooFewLaunches { launches, needed };
        }
        judgement = self.advise_software(self.advise_time(judgement));
        // A software adapter computes on all cores.
        let is_uneven = self.adapter == Adapter::Software && self.uses_gpu != self.reference_uses_gpu;
        Some(if is_uneven { judgement.advise(Advisory::UnevenSides) } else { judgement })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn on(benchmark: &BenchmarkId, metric: &MetricDef, uses_gpu: bool, adapter: Adapter) -> Judgement {
        let subject =
            Subject { benchmark, metric, role: Role::Other, uses_gpu, reference_uses_gpu: false, adapter };
        subject.advise_time(Judgement::skipped("no adapter"))
    }

    #[rstest]
    #[case::a_step_further(1.05_f64.ln(), Some(0.1))]
    #[case::a_step_exactly(1.02_f64.ln(), Some(0.03))]
    #[case::the_least(1.01_f64.ln(), Some(0.015))]
    #[case::twice_the_work(1.5_f64.ln(), Some(0.75))]
    #[case::beyond_the_ladder(2.0_f64.ln(), Some(2.0))]
    #[case::too_much(5.0_f64.ln(), None)]
    #[case::unknown(f64::INFINITY, None)]
    #[case::not_a_number(f64::NAN, None)]
    fn a_slowdown_is_planted_that_a_row_should_surely_see(#[case] smallest: f64, #[case] share: Option<f64>) {
        let planted = share_to_plant(smallest);
        assert_eq!(planted.is_some(), share.is_some(), "{planted:?}");
        assert!(planted.zip(share).is_none_or(|(found, due)| (found - due).abs() < 1e-12), "{planted:?}");
    }

    #[rstest]
    #[case::the_wall_time(standard::WALL_TIME, false, true)]
    #[case::the_speed_up(SPEED_UP, false, true)]
    #[case::gpu_time_of_what_computes_on_one(GPU_BUSY, true, true)]
    #[case::gpu_time_of_anything_else(GPU_BUSY, false, false)]
    #[case::cpu_time(standard::CPU_TIME, false, false)]
    fn one_time_decides_and_the_others_explain(
        #[case] metric: &str,
        #[case] uses_gpu: bool,
        #[case] decides: bool,
    ) {
        let (id, metric) = ("w/c/v".parse().unwrap(), MetricDef::time(metric, ""));
        let row = on(&id, &metric, uses_gpu, Adapter::Hardware);
        assert_eq!(row.gates(), decides);
        assert_eq!(row.advisory.contains(&Advisory::Diagnosis), !decides);
    }

    #[rstest]
    #[case::on_a_processor(false, Adapter::Software, TimePolicy::HARDWARE, true)]
    #[case::on_a_gpu(true, Adapter::Hardware, TimePolicy::HARDWARE, false)]
    #[case::on_a_software_adapter(true, Adapter::Software, TimePolicy::SOFTWARE_ADAPTER, true)]
    #[case::on_nobody_knows_what(true, Adapter::Unknown, TimePolicy::SOFTWARE_ADAPTER, true)]
    fn a_time_is_judged_by_what_computes(
        #[case] uses_gpu: bool,
        #[case] adapter: Adapter,
        #[case] policy: TimePolicy,
        #[case] follows_anchor: bool,
    ) {
        let (id, wall) = ("w/c/v".parse().unwrap(), MetricDef::time(standard::WALL_TIME, ""));
        let (benchmark, metric, role) = (&id, &wall, Role::Other);
        let subject = Subject { benchmark, metric, role, uses_gpu, reference_uses_gpu: uses_gpu, adapter };
        assert_eq!((subject.time_policy(), subject.follows_anchor()), (policy, follows_anchor));
    }

    #[rstest]
    #[case::it_could_not_see(Reason::CouldNotSee { could_see: 2.0, must_see: 0.4 }, Adapter::Software, true)]
    #[case::too_few_launches(Reason::TooFewLaunches { launches: 1, needed: 8 }, Adapter::Software, true)]
    #[case::it_may_be_worse(Reason::AcrossThreshold, Adapter::Software, false)]
    #[case::it_cannot_be_judged(Reason::Unusable { why: Why::NotFinite }, Adapter::Software, false)]
    #[case::on_a_gpu(Reason::CouldNotSee { could_see: 2.0, must_see: 0.4 }, Adapter::Hardware, false)]
    fn a_software_adapter_is_excused_only_where_it_shows_too_little(
        #[case] reason: Reason,
        #[case] adapter: Adapter,
        #[case] is_excused: bool,
    ) {
        let (id, wall) = ("w/c/v".parse().unwrap(), MetricDef::time(standard::WALL_TIME, ""));
        let (benchmark, metric, role) = (&id, &wall, Role::Other);
        let subject = Subject { benchmark, metric, role, uses_gpu: true, reference_uses_gpu: true, adapter };
        let judgement = Judgement::new(Verdict::Inconclusive, reason, Evidence::None);
        assert_eq!(!subject.advise_software(judgement).gates(), is_excused);
    }

    #[rstest]
    #[case::by_more_than_it_varies([100.0, 103.0], [107.0, 109.0], Verdict::Regressed)]
    #[case::by_less([100.0, 103.0], [102.0, 106.0], Verdict::Unchanged)]
    #[case::by_less_than_one_of_them_varies([100.0, 101.0], [102.0, 109.0], Verdict::Unchanged)]
    #[case::by_no_more_than_matters([100.0, 100.2], [100.8, 101.0], Verdict::Unchanged)]
    fn what_varies_within_a_side_has_to_differ_by_more_than_that(
        #[case] before: [f64; 2],
        #[case] now: [f64; 2],
        #[case] due: Verdict,
    ) {
        let (id, instructions) = ("w/c/v".parse().unwrap(), MetricDef::count(standard::INSTRUCTIONS, ""));
        let (benchmark, metric, role, adapter) = (&id, &instructions, Role::Other, Adapter::Hardware);
        let subject =
            Subject { benchmark, metric, role, uses_gpu: false, reference_uses_gpu: false, adapter };
        let varied =
            |range: [f64; 2]| Spread { range, middle: f64::midpoint(range[0], range[1]), varied: true };
        let judged = subject.judge_size(varied(before), varied(now), SizePolicy::INSTRUCTIONS).unwrap();
        assert_eq!(judged.verdict, due);
    }

    #[rstest]
    #[case::a_resident_set(MetricDef::peak_bytes(standard::PEAK_RSS, ""), 1_048_576.0)]
    #[case::another_peak(MetricDef::peak_bytes(standard::HEAP_PEAK, ""), 65_536.0)]
    #[case::growth_of_the_heap(MetricDef::bytes(standard::HEAP_GROWTH, ""), 512.0)]
    #[case::growth_on_a_device(MetricDef::bytes(DEVICE_GROWTH, ""), 512.0)]
    #[case::a_count(MetricDef::count("syncs", ""), 1.0)]
    fn each_size_has_a_margin(#[case] metric: MetricDef, #[case] margin: f64) {
        let (benchmark, metric) = (&"w/c/v".parse().unwrap(), &metric);
        let (role, adapter) = (Role::Other, Adapter::Hardware);
        let subject =
            Subject { benchmark, metric, role, uses_gpu: false, reference_uses_gpu: false, adapter };
        assert_eq!(subject.size_policy().margin.get(), margin);
    }
}
