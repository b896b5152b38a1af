//! Code of the interpreter: a function as a flat list of steps, so that an invocation can stop after any of them.

use wgpu::naga;

use crate::memory::Shape;
use crate::value::{Kind, Value};

/// Position of an expression within its function.
pub(crate) type Id = usize;

/// Limit of an index.
#[derive(Clone, Debug)]
pub(crate) enum Limit {
    Fixed(u32),
    /// The rest of the binding, from this offset on, holds the elements.
    Rest {
        offset: u32,
        stride: u32,
    },
}

/// An index of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Index {
    Fixed(u32),
    Value(Id),
}

/// An expression, with everything resolved that does not depend on values.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Constant(Value),
    Argument(usize),
    /// A global variable in the memory of a binding, the workgroup or the invocation.
    Global(crate::memory::Pointer),
    /// A variable of the function, at this offset in its frame.
    Local(u32),
    Element {
        base: Id,
        index: Index,
        limit: Limit,
        stride: u32,
    },
    Member {
        base: Id,
        offset: u32,
    },
    /// A component of a value.
    Part {
        base: Id,
        index: Index,
        count: u32,
    },
    Compose {
        parts: Vec<Id>,
        flat: bool,
    },
    Splat {
        len: u8,
        value: Id,
    },
    Swizzle {
        vector: Id,
        pattern: Vec<usize>,
    },
    Load {
        pointer: Id,
        shape: Shape,
        atomic: bool,
    },
    Unary {
        op: naga::UnaryOperator,
        value: Id,
    },
    Binary {
        op: naga::BinaryOperator,
        left: Id,
        right: Id,
    },
    Select {
        condition: Id,
        accept: Id,
        reject: Id,
    },
    Relational {
        fun: naga::RelationalFunction,
        value: Id,
    },
    Math {
        fun: naga::MathFunction,
        arguments: Vec<Id>,
    },
    Convert {
        value: Id,
        kind: Kind,
    },
    /// The same bits as another type.
    Bitcast {
        value: Id,
        kind: naga::ScalarKind,
    },
    Length {
        base: Id,
        limit: Limit,
    },
    /// Set by the step that computes it.
    Result,
    Unsupported(String),
}

/// A step.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Evaluate(Id),
    Store {
        pointer: Id,
        value: Id,
        shape: Shape,
        atomic: bool,
    },
    Atomic {
        pointer: Id,
        fun: AtomicFun,
        value: Id,
        result: Option<Id>,
        kind: Kind,
    },
    Jump(usize),
    JumpUnless {
        condition: Id,
        to: usize,
    },
    Switch {
        selector: Id,
        cases: Vec<(u64, usize)>,
        default: usize,
    },
    Barrier(naga::Barrier),
    /// A read of the same memory by all invocations, between two barriers.
    UniformLoad {
        pointer: Id,
        result: Id,
        shape: Shape,
    },
    Call {
        function: usize,
        arguments: Vec<Id>,
        result: Option<Id>,
    },
    Return(Option<Id>),
    Unsupported(String),
}

/// An atomic function, with the value to compare if it has one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtomicFun {
    Add,
    Subtract,
    And,
    ExclusiveOr,
    InclusiveOr,
    Min,
    Max,
    Exchange,
    /// A weak exchange, which may fail although the values are equal.
    CompareExchange {
        compare: Id,
    },
}

/// A function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) nodes: Vec<Node>,
    pub(crate) steps: Vec<Step>,
    /// Place of each step in the source.
    pub(crate) places: Vec<u32>,
    /// Size of its variables in bytes.
    pub(crate) frame_bytes: u32,
    /// Variables that do not start with zeros: offset, layout and value.
    pub(crate) initial: Vec<(u32, Shape, Id)>,
}

/// Input of an entry point.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    BuiltIn(naga::BuiltIn),
    /// A structure of them.
    Struct(Vec<naga::BuiltIn>),
}

/// A buffer that the entry point uses.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) group: u32,
    pub(crate) binding: u32,
    pub(crate) writable: bool,
    /// Smallest size of a binding in bytes: that of its type, with one element of an array without a size.
    pub(crate) least: u32,
}

/// An entry point with all functions that it calls. The last of `functions` is the entry point itself.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) label: String,
    pub(crate) source: String,
    pub(crate) functions: Vec<Function>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) workgroup_size: [u32; 3],
    pub(crate) slots: Vec<Slot>,
    /// Size of the memory of a workgroup in bytes, and of the private memory of an invocation.
    pub(crate) workgroup_bytes: u32,
    pub(crate) private_bytes: u32,
    /// Private variables that do not start with zeros.
    pub(crate) private_initial: Vec<(u32, Shape, Value)>,
    /// Size of the smallest number in shared memory, in bytes.
    pub(crate) cell: u32,
    /// Names of the variables in shared memory: those of bindings by slot, those of the workgroup by offset.
    pub(crate) slot_names: Vec<String>,
    pub(crate) workgroup_names: Vec<(u32, String)>,
}

impl Program {
    /// Returns the line of a place in the source, from 1, and its text.
    pub(crate) fn line(&self, place: u32) -> (u32, &str) {
        let before = self.source.get(..place as usize).unwrap_or_default();
        let line = before.matches('\n').count();
        (line as u32 + 1, self.source.lines().nth(line).unwrap_or_default())
    }
}
