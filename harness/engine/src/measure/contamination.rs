//! Disturbances of samples, and whether they are a reason to drop a block.

use perfharness_contract::protocol::SampleReply;
use perfharness_platform::MachineCounters;
use perfharness_record::{Contamination, Flag};

use super::executor::Executor;
use crate::telemetry::DeviceState;

/// Share of time off the CPU from which a sample is flagged.
const WAITED_SHARE: f64 = 0.1;
/// Share of stolen time from which a sample is contaminated.
const STEAL_SHARE: f64 = 0.1;
/// One tick of `/proc/stat`. A single tick proves little: it is charged to the process that runs at that moment.
const STEAL_TICK_NS: u64 = 10_000_000;
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
    let stolen = grown(|m| m.steal_ns).unwrap_or(0);
    if stolen > STEAL_TICK_NS && stolen as f64 > STEAL_SHARE * wall {
        flags.push(Flag::Outside { what: Contamination::Steal });
    }
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
    fn steal_counts_from_two_ticks_and_a_tenth_of_the_sample() {
        let after = |steal| counted(MachineCounters { steal_ns: Some(steal), ..COUNTERS });
        let tick = STEAL_TICK_NS;
        assert!(flags(&reply(5_000_000, 5_000_000), &QUIET, &after(tick)).is_empty());
        assert!(flags(&reply(1_000_000_000, 1_000_000_000), &QUIET, &after(2 * tick)).is_empty());
        let found = flags(&reply(50_000_000, 50_000_000), &QUIET, &after(2 * tick));
        assert_eq!(drop_cause(&found), Some(Contamination::Steal));
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
