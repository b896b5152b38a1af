//! The rows of the raw samples, from the state of a run.

use std::borrow::Cow;

use perfharness_contract::protocol::Mode;
use perfharness_contract::standard;
use perfharness_record::samples::SampleReading;
use perfharness_record::{Flag, Stage};

use crate::measure::{RunState, SampleEvent};
use crate::plan::{CasePlan, Plan};

/// The rows of all samples: one for each reading.
pub(crate) fn sample_rows<'a>(plan: &'a Plan, state: &'a RunState) -> Vec<SampleReading<'a>> {
    let mut rows = Vec::new();
    // Of the comparison of layouts, the record keeps the figures: here its samples could not be told apart.
    let judged = |case: &&CasePlan| case.design.stage != Stage::Layouts;
    for (case_plan, case) in plan.cases.iter().zip(&state.cases).filter(|(case_plan, _)| judged(case_plan)) {
        let mut add = |sample: &'a SampleEvent, dropped: bool| {
            let Some(side) = case_plan.sides.get(sample.side) else { return };
            let (side, origin) = (&side.benchmark, side.origin);
            let flags = sample.flags.iter().map(flag_word).collect::<Vec<_>>().join(",");
            let mut row = |metric: &'a str, value| {
                rows.push(SampleReading {
                    workload: side.workload.as_str(),
                    case: side.case.as_str(),
                    variant: side.variant.as_str(),
                    launch: sample.launch,
                    part: sample.part,
                    placement: sample.placement,
                    block: sample.block,
                    round: sample.round,
                    position: sample.position,
                    mode: sample.mode,
                    metric,
                    value,
                    iterations: sample.iterations,
                    start: sample.start_ns,
                    flags: Cow::Owned(flags.clone()),
                    dropped,
                    origin,
                });
            };
            if sample.mode == Mode::Timed {
                row(standard::WALL_TIME, sample.iteration_ns());
                if let Some(cpu) = sample.iteration_cpu_ns() {
                    row(standard::CPU_TIME, cpu);
                }
            }
            for (metric, reading) in &sample.readings {
                if let Some(value) = reading.value() {
                    row(metric.as_str(), value);
                }
            }
        };
        case.samples.iter().for_each(|row| add(&row.sample, row.dropped.is_some()));
        case.sides.iter().flat_map(|side| &side.metered).for_each(|sample| add(sample, false));
    }
    rows
}

fn flag_word(flag: &Flag) -> String {
    match flag {
        Flag::Preempted { switches } => format!("preempted:{switches}"),
        Flag::Waited { share } => format!("waited:{share:.2}"),
        Flag::ClockChanged { from_hz, to_hz } => format!("clock-changed:{:.2}", to_hz / from_hz),
        Flag::Outside { what } => what.as_str().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use perfharness_contract::protocol::Reading;
    use perfharness_contract::{Effort, Number, OutcomeKind};
    use perfharness_record::{Contamination, Design, Origin, Side};

    use super::*;
    use crate::measure::Event;
    use crate::plan::{CaseDesign, CasePlan};

    fn sample(side: usize, mode: Mode) -> SampleEvent {
        SampleEvent {
            case: 0,
            side,
            launch: 1,
            part: 2,
            placement: 3,
            block: 4,
            round: 5,
            position: 1,
            mode,
            iterations: 10,
            start_ns: Some(6),
            wall_ns: 1005,
            cpu_ns: (side == 0).then_some(900),
            readings: [
                ("absent".to_owned(), Reading::Absent { absent: "why".into() }),
                ("syncs".to_owned(), Reading::Value(Number(f64::NAN))),
            ]
            .into(),
            flags: vec![
                Flag::Preempted { switches: 2 },
                Flag::Waited { share: 0.256 },
                Flag::ClockChanged { from_hz: 2e9, to_hz: 1.5e9 },
                Flag::Outside { what: Contamination::Suspend },
            ],
        }
    }

    /// A row as what can be compared: NaN equals nothing.
    fn comparable<'r>(row: &SampleReading<'r>) -> (u64, SampleReading<'r>) {
        (row.value.to_bits(), SampleReading { value: 0.0, ..row.clone() })
    }

    #[test]
    fn the_samples_of_a_run_become_rows() {
        let side = |variant: &str| Side {
            benchmark: format!("w/c/{variant}").parse().unwrap(),
            origin: Origin::Head,
            worker: 0,
            reference: None,
            skip: None,
            expect: OutcomeKind::Ok,
            memory_bytes: None,
            layout: None,
        };
        let plan = Plan {
            seed: 1,
            device: "auto".into(),
            settings: std::collections::BTreeMap::new(),
            effort: Effort::Quick,
            budget: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            memory_limit_bytes: None,
            design: Design::of(Effort::Quick),
            on_gpu: Vec::new(),
            cases: vec![CasePlan {
                workload: "w".parse().unwrap(),
                version: 1,
                case: "c".parse().unwrap(),
                sides: vec![side("slow"), side("fast")],
                design: CaseDesign::default(),
            }],
        };
        let mut state = RunState::new([2]);
        state.apply(&Event::Sampled(sample(0, Mode::Timed)));
        state.apply(&Event::Sampled(sample(1, Mode::Timed)));
        let dropped = Some(Contamination::Suspend);
        state.apply(&Event::BlockFinished { case: 0, launch: 1, placement: 3, block: 4, dropped });
        state.apply(&Event::Sampled(sample(1, Mode::Metered)));

        let found = sample_rows(&plan, &state);
        let timed = SampleReading {
            variant: "slow",
            position: 1,
            value: 100.5,
            iterations: 10,
            start: Some(6),
            flags: Cow::Borrowed("preempted:2,waited:0.26,clock-changed:0.75,suspend"),
            dropped: true,
            workload: "w",
            case: "c",
            launch: 1,
            part: 2,
            placement: 3,
            block: 4,
            round: 5,
            mode: Mode::Timed,
            metric: standard::WALL_TIME,
            origin: Origin::Head,
        };
        let due = [
            timed.clone(),
            SampleReading { metric: standard::CPU_TIME, value: 90.0, ..timed.clone() },
            SampleReading { metric: "syncs", value: f64::NAN, ..timed.clone() },
            SampleReading { variant: "fast", ..timed.clone() },
            SampleReading { variant: "fast", metric: "syncs", value: f64::NAN, ..timed.clone() },
            SampleReading {
                variant: "fast",
                metric: "syncs",
                mode: Mode::Metered,
                value: f64::NAN,
                dropped: false,
                ..timed
            },
        ];
        let [found, due] =
            [found.as_slice(), &due].map(|rows| rows.iter().map(comparable).collect::<Vec<_>>());
        assert_eq!(found, due);
    }
}
