//! An invocation: its frames, and the steps that it takes.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;
use wgpu::naga::Barrier;

use crate::code::{AtomicFun, Id, Index, Limit, Node, Program, Step};
use crate::finding::Mistake;
use crate::memory::{self, Place, Pointer, Shape, Shared, Trouble};
use crate::operations::{binary, bitcast, convert, join, order, relational, select, unary};
use crate::race::{Access, Who};
use crate::value::{Kind, Lanes, Value};

/// A binding of a dispatch: a part of one of its buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Position in the list of buffers.
    pub(crate) buffer: usize,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

/// Everything that an invocation can reach beside its own memory.
pub(crate) struct World<'a> {
    pub(crate) program: &'a Program,
    pub(crate) bindings: &'a [Bound],
    pub(crate) buffers: &'a mut [Shared],
    pub(crate) workgroup: &'a mut Shared,
    /// Number of the workgroup, and of barriers that it has passed for workgroup memory and for storage.
    pub(crate) serial: u32,
    pub(crate) epochs: [u32; 2],
    pub(crate) rng: &'a mut Pcg64Mcg,
    pub(crate) spurious_failures: &'a mut u64,
    /// Mistakes: their kinds, places in the source and descriptions.
    pub(crate) found: &'a mut Vec<(Mistake, u32, String)>,
}

/// Reason why an invocation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has taken the steps that it was given.
    Paused,
    Barrier(Barrier),
    Ended,
    /// It met something that the interpreter lacks.
    Failed,
}

#[derive(Clone, Debug)]
struct Frame {
    function: usize,
    next: usize,
    values: Vec<Option<Value>>,
    arguments: Vec<Value>,
    memory: Vec<u8>,
    /// Expression of the caller that takes the result.
    result: Option<Id>,
}

/// An invocation of an entry point.
#[derive(Clone, Debug)]
pub(crate) struct Invocation {
    /// Number within the dispatch.
    pub(crate) number: u32,
    frames: Vec<Frame>,
    private: Vec<u8>,
}

type Outcome<T> = Result<T, String>;

impl Invocation {
    pub(crate) fn new(program: &Program, number: u32, inputs: Vec<Value>) -> Self {
        let mut private = vec![0; program.private_bytes as usize];
        for (at, shape, value) in &program.private_initial {
            memory::write(&mut private, *at, shape, value);
        }
        let mut invocation = Self { number, frames: Vec::new(), private };
        invocation.enter(program, program.functions.len() - 1, inputs, None);
        invocation
    }

    /// Returns the place of each call and of the step at which it stopped, to compare with those of others.
    pub(crate) fn position(&self) -> Vec<(usize, usize)> {
        self.frames.iter().map(|frame| (frame.function, frame.next)).collect()
    }

    /// Returns the place in the source of the step before the next one.
    pub(crate) fn place(&self, program: &Program) -> u32 {
        let at = |frame: &Frame| {
            program.functions[frame.function].places.get(frame.next.saturating_sub(1)).copied()
        };
        self.frames.last().and_then(at).unwrap_or(0)
    }

    fn enter(&mut self, program: &Program, function: usize, arguments: Vec<Value>, result: Option<Id>) {
        let code = &program.functions[function];
        let mut memory = vec![0; code.frame_bytes as usize];
        for (at, shape, id) in &code.initial {
            if let Node::Constant(value) = &code.nodes[*id] {
                memory::write(&mut memory, *at, shape, value);
            }
        }
        let values = vec![None; code.nodes.len()];
        self.frames.push(Frame { function, next: 0, values, arguments, memory, result });
    }

    /// Takes up to `steps` steps. Returns why it stopped, and the number of steps.
    pub(crate) fn run(&mut self, world: &mut World<'_>, steps: u32) -> (Stop, u32) {
        for taken in 1..=steps {
            match self.step(world) {
                Ok(None) => {}
                Ok(Some(stop)) => return (stop, taken),
                Err(what) => {
                    let place = self.place(world.program);
                    world.found.push((Mistake::Unsupported, place, what));
                    return (Stop::Failed, taken);
                }
            }
        }
        (Stop::Paused, steps)
    }

    fn step(&mut self, world: &mut World<'_>) -> Outcome<Option<Stop>> {
        let Some(frame) = self.frames.last_mut() else { return Ok(Some(Stop::Ended)) };
        let code = &world.program.functions[frame.function];
        let at = frame.next;
        frame.next += 1;
        match &code.steps[at] {
            Step::Evaluate(id) => {
                let value = self.evaluate(world, &code.nodes[*id])?;
                self.set(*id, value);
            }
            Step::Store { pointer, value, shape, atomic } => {
                let (pointer, value) = (self.pointer(world, *pointer)?, self.value(world, *value)?);
                let access = if *atomic { Access::AtomicStore } else { Access::Write };
                self.store(world, pointer, shape, &value, access);
            }
            Step::Atomic { pointer, fun, value, result, kind } => {
                let outcome = self.atomic(world, *pointer, *fun, *value, *kind)?;
                if let Some(result) = result {
                    self.set(*result, outcome);
                }
            }
            Step::Jump(to) => self.jump(*to),
            Step::JumpUnless { condition, to } => {
                if self.scalar(world, *condition)? == 0 {
                    self.jump(*to);
                }
            }
            Step::Switch { selector, cases, default } => {
                let selected = self.scalar(world, *selector)?;
                let case = cases.iter().find(|(value, _)| *value == selected);
                self.jump(case.map_or(*default, |(_, to)| *to));
            }
            Step::Barrier(barrier) => return Ok(Some(Stop::Barrier(*barrier))),
            Step::UniformLoad { pointer, result, shape } => {
                let pointer = self.pointer(world, *pointer)?;
                let value = self.load(world, pointer, shape, Access::Read);
                self.set(*result, value);
            }
            Step::Call { function, arguments, result } => {
                let arguments = arguments.iter().map(|id| self.value(world, *id)).collect::<Outcome<_>>()?;
                self.enter(world.program, *function, arguments, *result);
            }
            Step::Return(value) => {
                let value = value.map(|id| self.value(world, id)).transpose()?;
                let result = self.frames.pop().and_then(|frame| frame.result);
                if let (Some(result), Some(value)) = (result, value) {
                    self.set(result, value);
                }
                if self.frames.is_empty() {
                    return Ok(Some(Stop::Ended));
                }
            }
            Step::Unsupported(what) => return Err(what.clone()),
        }
        Ok(None)
    }

    fn jump(&mut self, to: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.next = to;
        }
    }

    fn set(&mut self, id: Id, value: Value) {
        if let Some(frame) = self.frames.last_mut() {
            frame.values[id] = Some(value);
        }
    }

    fn value(&mut self, world: &mut World<'_>, id: Id) -> Outcome<Value> {
        let frame = self.frames.last().ok_or("a value after the end")?;
        if let Some(value) = &frame.values[id] {
            return Ok(value.clone());
        }
        self.evaluate(world, &world.program.functions[frame.function].nodes[id])
    }

    fn lanes(&mut self, world: &mut World<'_>, id: Id) -> Outcome<Lanes> {
        match self.value(world, id)? {
            Value::Lanes(lanes) => Ok(lanes),
            _ => Err("a number where an aggregate is".into()),
        }
    }

    fn scalar(&mut self, world: &mut World<'_>, id: Id) -> Outcome<u64> {
        Ok(self.lanes(world, id)?.bits[0])
    }

    fn pointer(&mut self, world: &mut World<'_>, id: Id) -> Outcome<Pointer> {
        match self.value(world, id)? {
            Value::Pointer(pointer) => Ok(pointer),
            _ => Err("a value where a pointer is needed".into()),
        }
    }

    fn evaluate(&mut self, world: &mut World<'_>, node: &Node) -> Outcome<Value> {
        Ok(match node {
            Node::Constant(value) => value.clone(),
            Node::Argument(at) => {
                let frame = self.frames.last().ok_or("an argument after the end")?;
                frame.arguments.get(*at).cloned().ok_or("an argument that was not given")?
            }
            Node::Global(pointer) => Value::Pointer(*pointer),
            Node::Local(at) => {
                Value::Pointer(Pointer { place: Place::Frame(self.frames.len() - 1), at: *at })
            }
            Node::Element { base, index, limit, stride } => {
                let base = self.pointer(world, *base)?;
                let index = self.index(world, *index)?;
                let limit = elements(world, base, limit);
                Value::Pointer(self.element(world, base, index, limit, *stride))
            }
            Node::Member { base, offset } => {
                let base = self.pointer(world, *base)?;
                Value::Pointer(Pointer { at: base.at + offset, ..base })
            }
            Node::Part { base, index, count } => {
                let index = self.index(world, *index)?;
                let base = self.value(world, *base)?;
                let inside = u32::try_from(index).ok().filter(|index| index < count);
                let at = inside.unwrap_or_else(|| {
                    self.outside(world, index, *count);
                    0
                });
                match base {
                    Value::Lanes(lanes) => Lanes::scalar(lanes.kind, lanes.bits[at as usize]).into(),
                    Value::Parts(mut parts) => parts.swap_remove(at as usize),
                    Value::Pointer(_) => return Err("a part of a pointer".into()),
                }
            }
            Node::Compose { parts, flat } => {
                let parts: Vec<Value> =
                    parts.iter().map(|id| self.value(world, *id)).collect::<Outcome<_>>()?;
                if *flat { join(&parts)?.into() } else { Value::Parts(parts) }
            }
            Node::Splat { len, value } => {
                let lanes = self.lanes(world, *value)?;
                let whole = Lanes { kind: lanes.kind, len: *len, bits: [0; 4] };
                whole.map(lanes.kind, |_| lanes.bits[0]).into()
            }
            Node::Swizzle { vector, pattern } => {
                let from = self.lanes(world, *vector)?;
                let mut bits = [0; 4];
                bits.iter_mut().zip(pattern).for_each(|(to, at)| *to = from.bits[*at]);
                Lanes { kind: from.kind, len: pattern.len() as u8, bits }.into()
            }
            Node::Load { pointer, shape, atomic } => {
                let pointer = self.pointer(world, *pointer)?;
                let access = if *atomic { Access::Atomic } else { Access::Read };
                self.load(world, pointer, shape, access)
            }
            Node::Unary { op, value } => unary(*op, self.lanes(world, *value)?).into(),
            Node::Binary { op, left, right } => {
                let (left, right) = (self.value(world, *left)?, self.value(world, *right)?);
                binary(*op, &left, &right)?
            }
            Node::Select { condition, accept, reject } => {
                let condition = self.lanes(world, *condition)?;
                match (self.value(world, *accept)?, self.value(world, *reject)?) {
                    (Value::Lanes(accept), Value::Lanes(reject)) => select(condition, accept, reject).into(),
                    (accept, reject) => {
                        if condition.bits[0] == 0 {
                            reject
                        } else {
                            accept
                        }
                    }
                }
            }
            Node::Relational { fun, value } => relational(*fun, self.lanes(world, *value)?).into(),
            Node::Math { fun, arguments } => {
                let arguments: Vec<Lanes> =
                    arguments.iter().map(|id| self.lanes(world, *id)).collect::<Outcome<_>>()?;
                crate::math::call(*fun, &arguments)?.into()
            }
            Node::Convert { value, kind } => match self.value(world, *value)? {
                Value::Lanes(lanes) => convert(lanes, *kind).into(),
                _ => return Err("a conversion of an aggregate".into()),
            },
            Node::Bitcast { value, kind } => bitcast(self.lanes(world, *value)?, *kind)?.into(),
            Node::Length { base, limit } => {
                let base = self.pointer(world, *base)?;
                Lanes::scalar(Kind::U32, u64::from(elements(world, base, limit))).into()
            }
            Node::Result => return Err("a result before its step".into()),
            Node::Unsupported(what) => return Err(what.clone()),
        })
    }

    fn index(&mut self, world: &mut World<'_>, index: Index) -> Outcome<i64> {
        match index {
            Index::Fixed(at) => Ok(i64::from(at)),
            Index::Value(id) => Ok(self.scalar(world, id)? as i64),
        }
    }

    fn element(&self, world: &mut World<'_>, base: Pointer, index: i64, count: u32, stride: u32) -> Pointer {
        if base.place == Place::Nowhere {
            return base;
        }
        if let Some(index) = u32::try_from(index).ok().filter(|index| *index < count) {
            return Pointer { at: base.at + index * stride, ..base };
        }
        self.outside(world, index, count);
        Pointer { place: Place::Nowhere, at: 0 }
    }

    fn outside(&self, world: &mut World<'_>, index: i64, count: u32) {
        let what = format!("index {index} of {count} elements, in invocation {}", self.number);
        world.found.push((Mistake::OutOfBounds, self.place(world.program), what));
    }

    fn load(&mut self, world: &mut World<'_>, from: Pointer, shape: &Shape, access: Access) -> Value {
        self.record(world, from, shape, access);
        match from.place {
            Place::Binding(slot) => {
                let bound = world.bindings[slot];
                memory::read(&world.buffers[bound.buffer].bytes, bound.offset + from.at, shape)
            }
            Place::Workgroup => memory::read(&world.workgroup.bytes, from.at, shape),
            Place::Private => memory::read(&self.private, from.at, shape),
            Place::Frame(depth) => memory::read(&self.frames[depth].memory, from.at, shape),
            Place::Nowhere => shape.zero(),
        }
    }

    fn store(&mut self, world: &mut World<'_>, to: Pointer, shape: &Shape, value: &Value, access: Access) {
        self.record(world, to, shape, access);
        match to.place {
            Place::Binding(slot) => {
                let bound = world.bindings[slot];
                memory::write(&mut world.buffers[bound.buffer].bytes, bound.offset + to.at, shape, value);
            }
            Place::Workgroup => memory::write(&mut world.workgroup.bytes, to.at, shape, value),
            Place::Private => memory::write(&mut self.private, to.at, shape, value),
            Place::Frame(depth) => memory::write(&mut self.frames[depth].memory, to.at, shape, value),
            Place::Nowhere => {}
        }
    }

    /// Records an access to shared memory, and reports what is wrong with it.
    fn record(&self, world: &mut World<'_>, pointer: Pointer, shape: &Shape, access: Access) {
        let place = self.place(world.program);
        let [workgroup, storage] = world.epochs;
        let who = Who { workgroup: world.serial, invocation: self.number, epoch: workgroup, place };
        let (trouble, name) = match pointer.place {
            Place::Workgroup => {
                let names = &world.program.workgroup_names;
                let name = names.iter().rev().find(|(start, _)| *start <= pointer.at);
                (world.workgroup.access(pointer.at, shape, access, who), name.map(|(_, name)| name))
            }
            Place::Binding(slot) => {
                let bound = world.bindings[slot];
                let who = Who { epoch: storage, ..who };
                let buffer = &mut world.buffers[bound.buffer];
                let trouble = buffer.access(bound.offset + pointer.at, shape, access, who);
                (trouble, world.program.slot_names.get(slot))
            }
            Place::Private | Place::Frame(_) | Place::Nowhere => return,
        };
        let Some(trouble) = trouble else { return };
        let name = name.map_or("", String::as_str);
        let me = self.number;
        let (mistake, what) = match trouble {
            Trouble::Race { other, there } => {
                let (line, _) = world.program.line(there);
                let what = format!(
                    "byte {} of `{name}`: {access:?} by invocation {me}, and an access by invocation {other} at line \
                     {line} without a barrier in between",
                    pointer.at
                );
                (Mistake::Race, what)
            }
            Trouble::Unwritten => {
                let what =
                    format!("byte {} of `{name}` is read by invocation {me} before a write", pointer.at);
                (Mistake::Unwritten, what)
            }
        };
        world.found.push((mistake, place, what));
    }

    fn atomic(
        &mut self,
        world: &mut World<'_>,
        pointer: Id,
        fun: AtomicFun,
        value: Id,
        kind: Kind,
    ) -> Outcome<Value> {
        let pointer = self.pointer(world, pointer)?;
        let operand = self.scalar(world, value)?;
        let shape = Shape::Lanes { kind, len: 1 };
        let Value::Lanes(old) = self.load(world, pointer, &shape, Access::Atomic) else {
            return Err("an atomic aggregate".into());
        };
        let old = old.bits[0];
        let less = |a, b| order(kind, a, b).is_some_and(std::cmp::Ordering::is_lt);
        let add = |a: u64, b: u64| match kind {
            Kind::F32 => kind.round(kind.float(a) + kind.float(b)),
            _ => kind.wrap(a.wrapping_add(b)),
        };
        let new = match fun {
            AtomicFun::Add => add(old, operand),
            AtomicFun::Subtract => kind.wrap(old.wrapping_sub(operand)),
            AtomicFun::And => old & operand,
            AtomicFun::ExclusiveOr => old ^ operand,
            AtomicFun::InclusiveOr => old | operand,
            AtomicFun::Min => {
                if less(operand, old) {
                    operand
                } else {
                    old
                }
            }
            AtomicFun::Max => {
                if less(old, operand) {
                    operand
                } else {
                    old
                }
            }
            AtomicFun::Exchange => operand,
            AtomicFun::CompareExchange { compare } => {
                let equal = self.scalar(world, compare)? == old;
                // Every fourth exchange that could succeed fails, as the language allows.
                let fails = equal && world.rng.next_u32().is_multiple_of(4);
                *world.spurious_failures += u64::from(fails);
                let exchanged = equal && !fails;
                if exchanged {
                    self.store(
                        world,
                        pointer,
                        &shape,
                        &Lanes::scalar(kind, operand).into(),
                        Access::AtomicStore,
                    );
                }
                let old = Lanes::scalar(kind, old).into();
                return Ok(Value::Parts(vec![old, Lanes::truth(exchanged).into()]));
            }
        };
        self.store(world, pointer, &shape, &Lanes::scalar(kind, new).into(), Access::AtomicStore);
        Ok(Lanes::scalar(kind, old).into())
    }
}

/// Returns the number of elements of an array.
fn elements(world: &World<'_>, base: Pointer, limit: &Limit) -> u32 {
    match (limit, base.place) {
        (Limit::Fixed(count), _) => *count,
        (Limit::Rest { offset, stride }, Place::Binding(slot)) => {
            world.bindings[slot].bytes.saturating_sub(*offset) / stride
        }
        (Limit::Rest { .. }, _) => 0,
    }
}
