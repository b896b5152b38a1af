//! Disturbances of samples, and whether they are a reason to drop a block.

use perfharness_contract::protocol::SampleReply;
use perfharness_platform::MachineCounters;
use perfharness_record::{Contamination, Flag};
use perfharness_verdict::judge::MAX_DROPPED_SHARE;
use perfharness_verdict::median;

use super::executor::Executor;
use crate::telemetry::DeviceState;

/// Share of time off the CPU from which a sample is flagged.
const WAITED_SHARE: f64 = 0.1;
/// Share of stolen time from which a launch may be contaminated, and how many times the share that half of the launches
/// do not exceed it has to be. A machine that is always shared has a share that no launch can be blamed for.
const STOLEN_SHARE: f64 = 0.1;
const STOLEN_TIMES_MEDIAN: f64 = 3.0;
/// Fewest launches before one may be dropped, because the share of fewer has no middle to speak of.
const FEWEST_BEFORE: usize = 9;
/// Shortest suspend that counts; anything below is the error of reading two clocks.
const SUSPEND_NS: u64 = 1_000_000;
/// Smallest relative change of a GPU's clock that is flagged; anything below is a step of a steady clock.
const CLOCK_SHARE: f64 = 0.1;

/// State of the machine at the beginning or the end of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MachineState {
    machine: MachineCounters,
    device: DeviceState,
}

impl MachineState {
    pub(super) fn of(executor: &dyn Executor) -> Self {
        Self { machine: executor.machine(), device: executor.device() }
    }
}

/// Returns the flags of a sample, from its own answer and the state of the machine around it.
pub(super) fn flags(reply: &SampleReply, before: &MachineState, after: &MachineState) -> Vec<Flag> {
    let mut flags = Vec::new();
    if let Some(switches) = reply.involuntary_switches.filter(|s| *s > 0) {
        flags.push(Flag::Preempted { switches });
    }
    let wall = reply.wall_ns as f64;
    if let Some(cpu) = reply.cpu_ns {
        let share = 1.0 - cpu as f64 / wall.max(1.0);
        if share > WAITED_SHARE {
            flags.push(Flag::Waited { share });
        }
    }
    let grown =
        |f: fn(&MachineCounters) -> Option<u64>| Some(f(&after.machine)?.saturating_sub(f(&before.machine)?));
    let cpu_throttled = grown(|m| m.throttle_events).is_some_and(|events| events > 0);
    if cpu_throttled || before.device.throttled || after.device.throttled {
        flags.push(Flag::Outside { what: Contamination::Throttle });
    }
    if grown(|m| m.suspended_ns).is_some_and(|ns| ns > SUSPEND_NS) {
        flags.push(Flag::Outside { what: Contamination::Suspend });
    }
    if let (Some(from_hz), Some(to_hz)) = (before.device.busy_clock_hz, after.device.busy_clock_hz)
        && (to_hz / from_hz - 1.0).abs() > CLOCK_SHARE
    {
        flags.push(Flag::ClockChanged { from_hz, to_hz });
    }
    flags
}

/// Returns the cause to drop a whole launch, given the shares of stolen time of the launches before it, and the share of all
/// blocks, its own included, that are then dropped: no verdict should be refused because of it. Stolen time is counted in ticks of 10 ms and in waits of a whole process, and so says nothing
/// about a sample.
pub(super) fn launch_cause(
    stolen_share: Option<f64>,
    before: &[f64],
    then_dropped: f64,
) -> Option<Contamination> {
    let share = stolen_share?;
    let may_drop = before.len() >= FEWEST_BEFORE && then_dropped <= MAX_DROPPED_SHARE;
    let is_far_out = share > STOLEN_SHARE && share > STOLEN_TIMES_MEDIAN * median(before)?;
    (may_drop && is_far_out).then_some(Contamination::Steal)
}

/// Returns the first cause to drop a block, among the flags of all its samples.
pub(super) fn drop_cause<'a>(flags: impl IntoIterator<Item = &'a Flag>) -> Option<Contamination> {
    flags.into_iter().find_map(|flag| match flag {
        Flag::Outside { what } => Some(*what),
        Flag::Preempted { .. } | Flag::Waited { .. } | Flag::ClockChanged { .. } => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTERS: MachineCounters =
        MachineCounters { steal_ns: Some(0), throttle_events: Some(0), suspended_ns: Some(0) };
    const QUIET: MachineState =
        MachineState { machine: COUNTERS, device: DeviceState { throttled: false, busy_clock_hz: None } };

    fn counted(machine: MachineCounters) -> MachineState {
        MachineState { machine, ..QUIET }
    }

    fn device(throttled: bool, busy_clock_hz: Option<f64>) -> MachineState {
        MachineState { device: DeviceState { throttled, busy_clock_hz }, ..QUIET }
    }

    fn reply(wall_ns: u64, cpu_ns: u64) -> SampleReply {
        SampleReply { wall_ns, cpu_ns: Some(cpu_ns), ..SampleReply::default() }
    }

    #[test]
    fn waiting_and_preemption_are_flagged_but_never_dropped_for() {
        let reply = SampleReply { involuntary_switches: Some(3), ..reply(1000, 500) };
        let flags = flags(&reply, &QUIET, &QUIET);
        assert_eq!(flags, [Flag::Preempted { switches: 3 }, Flag::Waited { share: 0.5 }]);
        assert_eq!(drop_cause(&flags), None);
    }

    #[test]
    fn a_launch_is_dropped_if_its_stolen_time_is_far_out() {
        let steal = Some(Contamination::Steal);
        let quiet = [0.01; 9];
        let cause = |share, before: &[f64]| launch_cause(share, before, 0.05);
        assert_eq!(cause(Some(0.2), &quiet), steal);
        assert_eq!(cause(Some(0.09), &quiet), None, "a small share");
        assert_eq!(cause(Some(0.2), &[0.1; 9]), None, "a machine that is always shared");
        assert_eq!(cause(Some(0.4), &[0.1; 9]), steal);
        assert_eq!(cause(None, &quiet), None);
        assert_eq!(cause(Some(0.2), &quiet[1..]), None, "too few before it");
    }

    #[test]
    fn no_launch_is_dropped_if_the_rest_would_be_a_selection() {
        let cause = |then_dropped| launch_cause(Some(0.9), &[0.0; 20], then_dropped);
        assert!(cause(0.1).is_some());
        assert_eq!(cause(0.11), None);
        assert_eq!(cause(f64::NAN), None, "no block");
    }

    #[test]
    fn stolen_time_says_nothing_about_a_sample() {
        let after = counted(MachineCounters { steal_ns: Some(1_000_000_000), ..COUNTERS });
        assert!(flags(&reply(5_000_000, 5_000_000), &QUIET, &after).is_empty());
    }

    #[test]
    fn counters_that_the_machine_lacks_flag_nothing() {
        let none = counted(MachineCounters { steal_ns: None, throttle_events: None, suspended_ns: None });
        assert!(flags(&SampleReply { wall_ns: 5, ..SampleReply::default() }, &none, &none).is_empty());
    }

    #[test]
    fn throttling_and_suspends_are_reasons_to_drop() {
        let throttled = counted(MachineCounters { throttle_events: Some(1), ..COUNTERS });
        let suspended = counted(MachineCounters { suspended_ns: Some(2 * SUSPEND_NS), ..COUNTERS });
        assert_eq!(drop_cause(&flags(&reply(1, 1), &QUIET, &throttled)), Some(Contamination::Throttle));
        assert_eq!(drop_cause(&flags(&reply(1, 1), &QUIET, &suspended)), Some(Contamination::Suspend));
    }

    #[test]
    fn a_gpu_that_is_held_down_contaminates_and_a_clock_that_moves_is_only_flagged() {
        let of = |before: &MachineState, after: &MachineState| flags(&reply(1, 1), before, after);
        let hot = device(true, None);
        // The state is read a few times a second, so it is unknown whether it began or ended within the sample.
        assert_eq!(drop_cause(&of(&hot, &QUIET)), Some(Contamination::Throttle));
        assert_eq!(drop_cause(&of(&QUIET, &hot)), Some(Contamination::Throttle));
        let at = |hz| device(false, Some(hz));
        let moved = of(&at(1.9e9), &at(1.2e9));
        assert_eq!(moved, [Flag::ClockChanged { from_hz: 1.9e9, to_hz: 1.2e9 }]);
        assert_eq!(drop_cause(&moved), None);
        assert!(of(&at(1.9e9), &at(1.8e9)).is_empty(), "a step of the clock");
        assert!(of(&QUIET, &at(1.9e9)).is_empty(), "a GPU that wakes up");
    }
}
