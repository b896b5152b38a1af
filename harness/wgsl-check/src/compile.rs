//! Translation of naga's representation of a kernel to steps.

use std::collections::HashMap;

use wgpu::naga::{self, Handle, Statement, TypeInner};

use crate::code::{AtomicFun, Function, Id, Input, Program, Slot, Step};
use crate::memory::{Place, Pointer, Shape};
use crate::nodes::{constant, node};
use crate::shapes::shape;

/// Parses and translates an entry point. `source` was accepted by wgpu's own front end.
///
/// # Errors
/// Returns naga's message, or the part of the language that the interpreter lacks.
pub(crate) fn compile(label: &str, source: &str, entry: &str) -> Result<Program, String> {
    let capabilities = naga::valid::Capabilities::all();
    let mut options = naga::front::wgsl::Options::new();
    options.capabilities = capabilities;
    let module = naga::front::wgsl::Frontend::new_with_options(options)
        .parse(source)
        .map_err(|error| error.emit_to_string(source))?;
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities)
        .validate(&module)
        .map_err(|error| error.emit_to_string(source))?;
    if !module.overrides.is_empty() {
        return Err("overrides".into());
    }
    let at = module.entry_points.iter().position(|point| point.name == entry);
    let at = at.ok_or_else(|| format!("the source has no entry point `{entry}`"))?;
    let point = &module.entry_points[at];
    let globals = Globals::new(&module, info.get_entry_point(at))?;
    let mut functions = Vec::new();
    for (handle, function) in module.functions.iter() {
        functions.push(Translator::run(&module, &info[handle], function, &globals.pointers)?);
    }
    functions.push(Translator::run(&module, info.get_entry_point(at), &point.function, &globals.pointers)?);
    let inputs = point.function.arguments.iter().map(|argument| input(&module, argument));
    Ok(Program {
        label: label.to_owned(),
        source: source.to_owned(),
        functions,
        inputs: inputs.collect::<Result<_, _>>()?,
        workgroup_size: point.workgroup_size,
        slots: globals.slots,
        workgroup_bytes: globals.workgroup_bytes,
        private_bytes: globals.private_bytes,
        private_initial: globals.private_initial,
        cell: globals.cell,
        slot_names: globals.slot_names,
        workgroup_names: globals.workgroup_names,
    })
}

fn input(module: &naga::Module, argument: &naga::FunctionArgument) -> Result<Input, String> {
    let built_in = |binding: &Option<naga::Binding>| match binding {
        Some(naga::Binding::BuiltIn(built_in)) => Ok(*built_in),
        other => Err(format!("the input {other:?}")),
    };
    match &module.types[argument.ty].inner {
        TypeInner::Struct { members, .. } => {
            Ok(Input::Struct(members.iter().map(|m| built_in(&m.binding)).collect::<Result<_, _>>()?))
        }
        _ => Ok(Input::BuiltIn(built_in(&argument.binding)?)),
    }
}

/// Global variables and their memory.
#[derive(Default)]
struct Globals {
    pointers: HashMap<Handle<naga::GlobalVariable>, Pointer>,
    slots: Vec<Slot>,
    slot_names: Vec<String>,
    workgroup_names: Vec<(u32, String)>,
    workgroup_bytes: u32,
    private_bytes: u32,
    private_initial: Vec<(u32, Shape, crate::value::Value)>,
    cell: u32,
}

impl Globals {
    fn new(module: &naga::Module, uses: &naga::valid::FunctionInfo) -> Result<Self, String> {
        let mut globals = Self { cell: 4, ..Self::default() };
        for (handle, variable) in module.global_variables.iter().filter(|(h, _)| !uses[*h].is_empty()) {
            let inner = &module.types[variable.ty].inner;
            let layout = shape(module, inner)?;
            let name = variable.name.clone().unwrap_or_default();
            // Every variable starts at a multiple of 16 bytes, the largest alignment of WGSL.
            let bytes = inner.size(module.to_ctx()).next_multiple_of(16);
            let pointer = match variable.space {
                naga::AddressSpace::WorkGroup => {
                    globals.cell = globals.cell.min(layout.finest());
                    globals.workgroup_names.push((globals.workgroup_bytes, name));
                    let at = globals.workgroup_bytes;
                    globals.workgroup_bytes += bytes;
                    Pointer { place: Place::Workgroup, at }
                }
                naga::AddressSpace::Private => {
                    let at = globals.private_bytes;
                    globals.private_bytes += bytes;
                    if let Some(init) = variable.init {
                        let value = constant(module, &module.global_expressions, init)?;
                        globals.private_initial.push((at, layout, value));
                    }
                    Pointer { place: Place::Private, at }
                }
                naga::AddressSpace::Storage { .. } | naga::AddressSpace::Uniform => {
                    globals.cell = globals.cell.min(layout.finest());
                    let binding = variable.binding.ok_or_else(|| format!("`{name}`, without a binding"))?;
                    let writable = matches!(variable.space, naga::AddressSpace::Storage { access }
                        if access.contains(naga::StorageAccess::STORE));
                    let place = Place::Binding(globals.slots.len());
                    let least = inner.size(module.to_ctx());
                    globals.slots.push(Slot {
                        group: binding.group,
                        binding: binding.binding,
                        writable,
                        least,
                    });
                    globals.slot_names.push(name);
                    Pointer { place, at: 0 }
                }
                other => return Err(format!("the address space {other:?}")),
            };
            globals.pointers.insert(handle, pointer);
        }
        Ok(globals)
    }
}

/// Translator of one function.
struct Translator<'a> {
    module: &'a naga::Module,
    info: &'a naga::valid::FunctionInfo,
    function: &'a naga::Function,
    out: Function,
    /// Jumps out of the innermost loop or switch, and to the end of the body of the innermost loop.
    breaks: Vec<Vec<usize>>,
    continues: Vec<Vec<usize>>,
    place: u32,
}

impl<'a> Translator<'a> {
    fn run(
        module: &'a naga::Module,
        info: &'a naga::valid::FunctionInfo,
        function: &'a naga::Function,
        globals: &HashMap<Handle<naga::GlobalVariable>, Pointer>,
    ) -> Result<Function, String> {
        let mut out = Function::default();
        let mut locals = HashMap::new();
        for (handle, variable) in function.local_variables.iter() {
            let inner = &module.types[variable.ty].inner;
            locals.insert(handle, out.frame_bytes);
            if let Some(init) = variable.init {
                out.initial.push((out.frame_bytes, shape(module, inner)?, init.index()));
            }
            out.frame_bytes += inner.size(module.to_ctx()).next_multiple_of(16);
        }
        for (handle, _) in function.expressions.iter() {
            let built = node(module, info, function, handle, globals, &locals);
            out.nodes.push(built);
        }
        let mut translator =
            Self { module, info, function, out, breaks: vec![], continues: vec![], place: 0 };
        translator.block(&function.body);
        translator.step(Step::Return(None));
        Ok(translator.out)
    }

    fn step(&mut self, step: Step) -> usize {
        self.out.steps.push(step);
        self.out.places.push(self.place);
        self.out.steps.len() - 1
    }

    fn here(&self) -> usize {
        self.out.steps.len()
    }

    /// Lets a jump that was added before lead to the next step.
    fn land(&mut self, at: usize) {
        let here = self.here();
        if let Step::Jump(to) | Step::JumpUnless { to, .. } = &mut self.out.steps[at] {
            *to = here;
        }
    }

    fn block(&mut self, block: &naga::Block) {
        for (statement, span) in block.span_iter() {
            self.place = span.to_range().map_or(self.place, |range| range.start as u32);
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Emit(range) => {
                let whole = self.place;
                for handle in range.clone() {
                    let span = self.function.expressions.get_span(handle).to_range();
                    self.place = span.map_or(whole, |range| range.start as u32);
                    self.step(Step::Evaluate(handle.index()));
                }
                self.place = whole;
            }
            Statement::Block(block) => self.block(block),
            Statement::If { condition, accept, reject } => {
                let skip = self.step(Step::JumpUnless { condition: condition.index(), to: 0 });
                self.block(accept);
                let end = self.step(Step::Jump(0));
                self.land(skip);
                self.block(reject);
                self.land(end);
            }
            Statement::Switch { selector, cases } => self.switch(selector.index(), cases),
            Statement::Loop { body, continuing, break_if } => {
                self.breaks.push(vec![]);
                self.continues.push(vec![]);
                let start = self.here();
                self.block(body);
                for jump in self.continues.pop().unwrap_or_default() {
                    self.land(jump);
                }
                self.block(continuing);
                match break_if {
                    Some(condition) => {
                        self.step(Step::JumpUnless { condition: condition.index(), to: start });
                    }
                    None => {
                        self.step(Step::Jump(start));
                    }
                }
                for jump in self.breaks.pop().unwrap_or_default() {
                    self.land(jump);
                }
            }
            Statement::Break => {
                let jump = self.step(Step::Jump(0));
                self.breaks.last_mut().into_iter().for_each(|jumps| jumps.push(jump));
            }
            Statement::Continue => {
                let jump = self.step(Step::Jump(0));
                self.continues.last_mut().into_iter().for_each(|jumps| jumps.push(jump));
            }
            Statement::Return { value } => {
                self.step(Step::Return(value.map(Handle::index)));
            }
            Statement::ControlBarrier(barrier) => {
                self.step(Step::Barrier(*barrier));
            }
            Statement::Store { pointer, value } => {
                let step = self.accessed(*pointer).map(|(shape, atomic)| Step::Store {
                    pointer: pointer.index(),
                    value: value.index(),
                    shape,
                    atomic,
                });
                self.step(step.unwrap_or_else(Step::Unsupported));
            }
            Statement::Atomic { pointer, fun, value, result } => {
                let step = self.atomic(*pointer, *fun, value.index(), result.map(Handle::index));
                self.step(step.unwrap_or_else(Step::Unsupported));
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                let step = self.accessed(*pointer).map(|(shape, _)| Step::UniformLoad {
                    pointer: pointer.index(),
                    result: result.index(),
                    shape,
                });
                self.step(Step::Barrier(naga::Barrier::WORK_GROUP));
                self.step(step.unwrap_or_else(Step::Unsupported));
                self.step(Step::Barrier(naga::Barrier::WORK_GROUP));
            }
            Statement::Call { function, arguments, result } => {
                self.step(Step::Call {
                    function: function.index(),
                    arguments: arguments.iter().map(|argument| argument.index()).collect(),
                    result: result.map(Handle::index),
                });
            }
            other => {
                let name = format!("{other:?}");
                let name = name.split([' ', '(']).next().unwrap_or_default().to_owned();
                self.step(Step::Unsupported(format!("the statement {name}")));
            }
        }
    }

    fn switch(&mut self, selector: Id, cases: &[naga::SwitchCase]) {
        let head = self.step(Step::Switch { selector, cases: vec![], default: 0 });
        self.breaks.push(vec![]);
        let (mut values, mut default_to) = (vec![], None);
        for case in cases {
            let here = self.here();
            match case.value {
                naga::SwitchValue::I32(value) => values.push((i64::from(value) as u64, here)),
                naga::SwitchValue::U32(value) => values.push((u64::from(value), here)),
                naga::SwitchValue::Default => default_to = Some(here),
            }
            self.block(&case.body);
            if !case.fall_through {
                let jump = self.step(Step::Jump(0));
                self.breaks.last_mut().into_iter().for_each(|jumps| jumps.push(jump));
            }
        }
        for jump in self.breaks.pop().unwrap_or_default() {
            self.land(jump);
        }
        let end = self.here();
        self.out.steps[head] = Step::Switch { selector, cases: values, default: default_to.unwrap_or(end) };
    }

    /// Returns the layout of the memory that a pointer points to, and whether it is atomic.
    fn accessed(&self, pointer: Handle<naga::Expression>) -> Result<(Shape, bool), String> {
        crate::nodes::pointee(self.module, self.info, pointer)
    }

    fn atomic(
        &self,
        pointer: Handle<naga::Expression>,
        fun: naga::AtomicFunction,
        value: Id,
        result: Option<Id>,
    ) -> Result<Step, String> {
        let (Shape::Lanes { kind, .. }, _) = self.accessed(pointer)? else {
            return Err("an atomic operation on an aggregate".into());
        };
        let fun = match fun {
            naga::AtomicFunction::Add => AtomicFun::Add,
            naga::AtomicFunction::Subtract => AtomicFun::Subtract,
            naga::AtomicFunction::And => AtomicFun::And,
            naga::AtomicFunction::ExclusiveOr => AtomicFun::ExclusiveOr,
            naga::AtomicFunction::InclusiveOr => AtomicFun::InclusiveOr,
            naga::AtomicFunction::Min => AtomicFun::Min,
            naga::AtomicFunction::Max => AtomicFun::Max,
            naga::AtomicFunction::Exchange { compare: None } => AtomicFun::Exchange,
            naga::AtomicFunction::Exchange { compare: Some(compare) } => {
                AtomicFun::CompareExchange { compare: compare.index() }
            }
        };
        Ok(Step::Atomic { pointer: pointer.index(), fun, value, result, kind })
    }
}
