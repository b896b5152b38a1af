//! A dispatch: workgroups in a random order, several of them at a time, and their invocations interleaved at random.

use std::collections::HashSet;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;
use wgpu::naga::{Barrier, BuiltIn};

use crate::code::{Input, Program};
use crate::finding::{Finding, Mistake, Report};
use crate::invocation::{Bound, Invocation, Stop, World};
use crate::memory::Shared;
use crate::value::{Kind, Lanes, Value};

/// Largest number of workgroups that run at the same time.
const RESIDENT: u32 = 4;
/// Byte of workgroup memory whose content is undefined. It makes large integers and floats that are not 0.
const POISON: u8 = 0xa5;

/// Conditions of a dispatch.
pub(crate) struct Conditions<'a> {
    pub(crate) rng: &'a mut Pcg64Mcg,
    /// Number of the next workgroup, which no workgroup of an earlier dispatch has.
    pub(crate) next_workgroup: &'a mut u32,
    /// Whether workgroup memory starts with zeros. Otherwise, reads of what the workgroup has not written are mistakes.
    pub(crate) zeroed: bool,
    /// Number of steps, of all invocations together, after which a dispatch counts as one that does not end.
    pub(crate) steps: u64,
}

struct Workgroup {
    serial: u32,
    memory: Shared,
    epochs: [u32; 2],
    invocations: Vec<Invocation>,
    /// Positions of those that wait at a barrier, and the barrier.
    waiting: Vec<usize>,
    barrier: Barrier,
    ended: usize,
}

/// Runs a dispatch.
pub(crate) fn dispatch(
    program: &Program,
    bindings: &[Bound],
    buffers: &mut [Shared],
    groups: [u32; 3],
    conditions: &mut Conditions<'_>,
    report: &mut Report,
) {
    *report.dispatches.entry(program.label.clone()).or_default() += 1;
    let first = *conditions.next_workgroup;
    let count = groups.iter().product::<u32>();
    *conditions.next_workgroup += count;
    for buffer in buffers.iter_mut().filter(|buffer| buffer.writable) {
        let bytes = buffer.bytes.len();
        buffer.shadow.prepare(bytes, program.cell, first, false);
    }
    let mut waiting: Vec<u32> = (0..count).collect();
    let mut resident: Vec<Workgroup> = Vec::new();
    // Invocations that can run: the position of their workgroup among the resident ones, and their own.
    let mut ready: Vec<(usize, usize)> = Vec::new();
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut steps = conditions.steps;
    let places = 1 + below(conditions.rng, RESIDENT as usize);
    loop {
        while !waiting.is_empty() && resident.iter().filter(|group| !group.is_done()).count() < places {
            let next = waiting.swap_remove(below(conditions.rng, waiting.len()));
            let place = resident.iter().position(Workgroup::is_done);
            let group = Workgroup::new(program, groups, next, first + next, conditions.zeroed);
            let place = place.unwrap_or(resident.len());
            ready.extend((0..group.invocations.len()).map(|at| (place, at)));
            if place == resident.len() {
                resident.push(group);
            } else {
                resident[place] = group;
            }
        }
        if ready.is_empty() {
            break;
        }
        let pick = below(conditions.rng, ready.len());
        let (place, at) = ready[pick];
        let group = &mut resident[place];
        // Short and long stretches, so that orders differ in the small and in the large.
        let stretch = 1_u32 << below(conditions.rng, 12);
        let mut world = World {
            program,
            bindings,
            buffers,
            workgroup: &mut group.memory,
            serial: group.serial,
            epochs: group.epochs,
            rng: conditions.rng,
            spurious_failures: &mut report.spurious_failures,
            found: &mut found,
        };
        let (stop, taken) = group.invocations[at].run(&mut world, stretch);
        steps = steps.saturating_sub(u64::from(taken));
        if steps == 0 {
            let place = group.invocations[at].place(program);
            found.push((Mistake::NoProgress, place, format!("{} steps did not end it", conditions.steps)));
        }
        match stop {
            Stop::Paused => {}
            Stop::Barrier(barrier) => {
                ready.swap_remove(pick);
                group.waiting.push(at);
                group.barrier = barrier;
            }
            Stop::Ended | Stop::Failed => {
                ready.swap_remove(pick);
                group.ended += 1;
            }
        }
        if group.waiting.len() + group.ended == group.invocations.len() && !group.waiting.is_empty() {
            match group.stray(program) {
                None => ready.extend(group.release().into_iter().map(|at| (place, at))),
                Some(stray) => found.push(stray),
            }
        }
        let hopeless =
            |mistake| matches!(mistake, Mistake::NoProgress | Mistake::Unsupported | Mistake::StrayBarrier);
        let stop_now = found.iter().any(|(mistake, ..)| hopeless(*mistake));
        for (mistake, place, what) in found.drain(..) {
            if !known.insert((mistake, place)) {
                continue;
            }
            let (line, source) = program.line(place);
            let (kernel, source) = (program.label.clone(), source.to_owned());
            report.add(Finding { mistake, kernel, line, source, what });
        }
        if stop_now {
            return;
        }
    }
}

/// Returns a random position in a list of this length.
fn below(rng: &mut Pcg64Mcg, length: usize) -> usize {
    rng.next_u32() as usize % length.max(1)
}

impl Workgroup {
    fn new(program: &Program, groups: [u32; 3], number: u32, serial: u32, zeroed: bool) -> Self {
        let bytes = program.workgroup_bytes as usize;
        let fill = if zeroed { 0 } else { POISON };
        let mut memory = Shared { bytes: vec![fill; bytes], writable: true, ..Shared::default() };
        memory.shadow.prepare(bytes, program.cell, serial, !zeroed);
        let id = spread(number, groups);
        let size = program.workgroup_size;
        let each = size.iter().product::<u32>();
        let invocation = |local: u32| {
            let inputs = program.inputs.iter().map(|input| supply(input, groups, id, size, local));
            Invocation::new(program, number * each + local, inputs.collect())
        };
        Self {
            serial,
            memory,
            epochs: [0, 0],
            invocations: (0..each).map(invocation).collect(),
            waiting: Vec::new(),
            barrier: Barrier::empty(),
            ended: 0,
        }
    }

    fn is_done(&self) -> bool {
        self.ended == self.invocations.len()
    }

    /// Returns the mistake if not all invocations wait at the same barrier.
    fn stray(&self, program: &Program) -> Option<(Mistake, u32, String)> {
        let one = &self.invocations[*self.waiting.first()?];
        let here = one.position();
        let elsewhere = self.waiting.iter().find(|at| self.invocations[**at].position() != here);
        let what = if self.ended > 0 {
            format!("{} of {} invocations ended before this barrier", self.ended, self.invocations.len())
        } else if let Some(at) = elsewhere {
            let (line, _) = program.line(self.invocations[*at].place(program));
            format!("other invocations of the workgroup wait at the barrier of line {line}")
        } else {
            return None;
        };
        Some((Mistake::StrayBarrier, one.place(program), what))
    }

    /// Lets all invocations go on after a barrier, and returns their positions.
    fn release(&mut self) -> Vec<usize> {
        self.epochs[0] += u32::from(self.barrier.contains(Barrier::WORK_GROUP));
        self.epochs[1] += u32::from(self.barrier.contains(Barrier::STORAGE));
        std::mem::take(&mut self.waiting)
    }
}

/// Returns the position with this number in a box.
fn spread(number: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    [number % x, number / x % y, number / x / y]
}

fn supply(input: &Input, groups: [u32; 3], group: [u32; 3], size: [u32; 3], local: u32) -> Value {
    let within = spread(local, size);
    let one = |built_in: &BuiltIn| -> Value {
        let lanes = match built_in {
            BuiltIn::GlobalInvocationId => Lanes::u32s([0, 1, 2].map(|i| group[i] * size[i] + within[i])),
            BuiltIn::LocalInvocationId => Lanes::u32s(within),
            BuiltIn::WorkGroupId => Lanes::u32s(group),
            BuiltIn::NumWorkGroups => Lanes::u32s(groups),
            BuiltIn::LocalInvocationIndex => Lanes::scalar(Kind::U32, u64::from(local)),
            // An aggregate without parts: every use of it is reported as unsupported.
            _ => return Value::Parts(Vec::new()),
        };
        lanes.into()
    };
    match input {
        Input::BuiltIn(built_in) => one(built_in),
        Input::Struct(members) => Value::Parts(members.iter().map(one).collect()),
    }
}
