//! State that all devices of a checked run share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng as _;

use crate::Report;
use crate::buffer::Buffer;
use crate::code::Program;
use crate::dispatch::{Conditions, dispatch};
use crate::finding::{Finding, Mistake};
use crate::invocation::Bound;
use crate::memory::Shared;

/// A part of a buffer that is bound: its group, its number, the buffer, the offset and the size in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) group: u32,
    pub(crate) number: u32,
    pub(crate) buffer: Buffer,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Callback of an operation that is done once the device is polled.
pub(crate) type Done = Box<dyn FnOnce() + Send>;

pub(crate) struct Session {
    zeroed: bool,
    steps: u64,
    state: Mutex<State>,
}

struct State {
    rng: Pcg64Mcg,
    next_workgroup: u32,
    report: Report,
    /// Text, its replacement, and whether a kernel contained it.
    edits: Vec<(String, String, bool)>,
    done: Vec<Done>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(seed: u64, zeroed: bool, steps: u64, edits: Vec<(String, String)>) -> Self {
        let state = State {
            // Unlike `new`, this mixes the bits, so that consecutive seeds give unrelated numbers from the first on.
            rng: Pcg64Mcg::seed_from_u64(seed),
            next_workgroup: 1,
            report: Report::default(),
            edits: edits.into_iter().map(|(from, to)| (from, to, false)).collect(),
            done: Vec::new(),
        };
        Self { zeroed, steps, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the report and the texts of edits that fitted no kernel.
    pub(crate) fn finish(&self) -> (Report, Vec<String>) {
        let mut state = self.state();
        let unused = state.edits.iter().filter(|edit| !edit.2).map(|edit| edit.0.clone()).collect();
        (std::mem::take(&mut state.report), unused)
    }

    /// Applies the edits to a source.
    pub(crate) fn edit(&self, source: &str) -> String {
        let mut source = source.to_owned();
        for (from, to, used) in &mut self.state().edits {
            *used |= source.contains(from.as_str());
            source = source.replace(from.as_str(), to);
        }
        source
    }

    pub(crate) fn unsupported(&self, kernel: &str, what: String) {
        let (kernel, source) = (kernel.to_owned(), String::new());
        self.state().report.add(Finding { mistake: Mistake::Unsupported, kernel, line: 0, source, what });
    }

    /// Reports a dispatch that does not run, because its bindings do not fit.
    fn refuse(&self, program: &Program, what: String) {
        let (kernel, source) = (program.label.clone(), String::new());
        self.state().report.add(Finding { mistake: Mistake::OutOfBounds, kernel, line: 0, source, what });
    }

    /// Runs a callback at the next poll, as drivers do.
    pub(crate) fn later(&self, done: Done) {
        self.state().done.push(done);
    }

    pub(crate) fn poll(&self) {
        let done = std::mem::take(&mut self.state().done);
        for done in done {
            done();
        }
    }

    /// Runs a dispatch on the buffers that are bound.
    pub(crate) fn dispatch(&self, program: &Program, bindings: &[Binding], groups: [u32; 3]) {
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut bound = Vec::new();
        for slot in &program.slots {
            let fits = |b: &&Binding| (b.group, b.number) == (slot.group, slot.binding);
            let Some(binding) = bindings.iter().find(fits) else {
                self.refuse(program, format!("nothing is bound at {}", slot.binding));
                return;
            };
            if binding.bytes < u64::from(slot.least) {
                let (given, least) = (binding.bytes, slot.least);
                self.refuse(
                    program,
                    format!("{given} bytes at binding {}, which needs {least}", slot.binding),
                );
                return;
            }
            let known = buffers.iter().position(|buffer| buffer.is(&binding.buffer));
            let buffer = known.unwrap_or_else(|| {
                buffers.push(binding.buffer.clone());
                buffers.len() - 1
            });
            bound.push(Bound { buffer, offset: binding.offset as u32, bytes: binding.bytes as u32 });
        }
        let mut memory: Vec<Shared> =
            buffers.iter().map(|buffer| std::mem::take(&mut *buffer.memory())).collect();
        for (at, shared) in memory.iter_mut().enumerate() {
            shared.writable =
                bound.iter().zip(&program.slots).any(|(b, slot)| b.buffer == at && slot.writable);
        }
        let mut state = self.state();
        let State { rng, next_workgroup, report, .. } = &mut *state;
        let mut conditions = Conditions { rng, next_workgroup, zeroed: self.zeroed, steps: self.steps };
        dispatch(program, &bound, &mut memory, groups, &mut conditions, report);
        for (buffer, shared) in buffers.iter().zip(memory) {
            *buffer.memory() = shared;
        }
    }
}

/// Sessions are shared by all objects of a device.
pub(crate) type SharedSession = Arc<Session>;
