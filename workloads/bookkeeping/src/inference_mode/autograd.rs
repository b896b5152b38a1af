//! Tensors with the records of a framework that can differentiate.
//!
//! `PyTorch` keeps a version counter of each tensor, allocated with it, so that a backward pass notices a changed
//! operand; and a record of each view, so that a change reaches its base. `no_grad` keeps both.

use std::cell::Cell;
use std::hint::black_box;
use std::rc::Rc;

use super::Mode;
use super::chain::{Chain, axpy};

/// Record of a tensor, shared by all handles to it.
#[derive(Debug)]
struct Record {
    version: Cell<u64>,
    needs_gradient: bool,
}

/// Record of a view: the tensor that it is a part of, and that tensor's version at the time.
#[derive(Debug)]
struct ViewRecord {
    base: Rc<Record>,
    _version: u64,
}

/// A row of the weights.
#[derive(Debug)]
struct View<'a> {
    values: &'a [f32],
    record: Rc<ViewRecord>,
}

/// Result of an operation.
#[derive(Debug)]
struct Tensor {
    values: Vec<f32>,
    record: Rc<Record>,
    _node: Option<Rc<Node>>,
}

/// An operation on the tape: all that its gradient needs.
#[derive(Debug)]
struct Node {
    _scale: f32,
    _weights: Rc<ViewRecord>,
}

/// The state of a framework.
#[derive(Debug)]
struct Framework {
    /// Whether operations are recorded on the tape; off under `no_grad`.
    is_recording: bool,
    tape: Vec<Rc<Node>>,
    version_bumps: u64,
}

impl Framework {
    fn new(is_recording: bool) -> Self {
        Self { is_recording, tape: Vec::new(), version_bumps: 0 }
    }

    fn tensor(values: Vec<f32>, needs_gradient: bool, node: Option<Rc<Node>>) -> Tensor {
        Tensor { values, record: Rc::new(Record { version: Cell::new(0), needs_gradient }), _node: node }
    }

    fn view<'a>(values: &'a [f32], base: &Rc<Record>) -> View<'a> {
        let version = base.version.get();
        View { values, record: Rc::new(ViewRecord { base: Rc::clone(base), _version: version }) }
    }

    fn axpy(&mut self, scale: f32, x: &View<'_>, y: &Tensor) -> Tensor {
        // Opaque, because a framework finds the flag in its thread and not in a register.
        let is_tracked =
            black_box(self.is_recording) && (x.record.base.needs_gradient || y.record.needs_gradient);
        let node = is_tracked.then(|| {
            let node = Rc::new(Node { _scale: scale, _weights: Rc::clone(&x.record) });
            self.tape.push(Rc::clone(&node));
            node
        });
        let result = Self::tensor(axpy(scale, x.values, &y.values).collect(), is_tracked, node);
        result.record.version.set(result.record.version.get() + 1);
        self.version_bumps += 1;
        result
    }

    fn run(mut self, chain: &Chain, n: u64, result: &mut [f32]) -> u64 {
        let weights = Rc::new(Record { version: Cell::new(0), needs_gradient: true });
        let mut state = Self::tensor(chain.start.clone(), false, None);
        for operation in 0..n {
            let row = black_box(Self::view(chain.row(operation), &weights));
            state = black_box(self.axpy(chain.scale(operation), &row, &state));
        }
        result.copy_from_slice(&state.values);
        self.version_bumps
    }
}

/// Under `no_grad`.
#[derive(Debug)]
pub(super) struct NoGrad;

impl Mode for NoGrad {
    fn new(_width: usize) -> Self {
        Self
    }

    fn run(&mut self, chain: &Chain, n: u64, result: &mut [f32]) -> u64 {
        Framework::new(false).run(chain, n, result)
    }
}

/// With a tape, which is dropped at the end of an iteration.
#[derive(Debug)]
pub(super) struct Recording;

impl Mode for Recording {
    fn new(_width: usize) -> Self {
        Self
    }

    fn run(&mut self, chain: &Chain, n: u64, result: &mut [f32]) -> u64 {
        Framework::new(true).run(chain, n, result)
    }
}
