//! Translation of naga's expressions.

use std::collections::HashMap;

use wgpu::naga::{self, Expression, Handle, Literal, TypeInner};

use crate::code::{Index, Limit, Node};
use crate::memory::{Pointer, Shape};
use crate::shapes::{column_stride, shape};
use crate::value::{Kind, Lanes, Value};

/// Returns the layout of the memory that a pointer points to, and whether it is atomic.
pub(crate) fn pointee(
    module: &naga::Module,
    info: &naga::valid::FunctionInfo,
    pointer: Handle<Expression>,
) -> Result<(Shape, bool), String> {
    match info[pointer].ty.inner_with(&module.types) {
        TypeInner::Pointer { base, .. } => {
            let inner = &module.types[*base].inner;
            Ok((shape(module, inner)?, matches!(inner, TypeInner::Atomic(_))))
        }
        TypeInner::ValuePointer { size, scalar, .. } => {
            let inner =
                size.map_or(TypeInner::Scalar(*scalar), |size| TypeInner::Vector { size, scalar: *scalar });
            Ok((shape(module, &inner)?, false))
        }
        other => Err(format!("a pointer of the type {other:?}")),
    }
}

/// Translates an expression of a function.
pub(crate) fn node(
    module: &naga::Module,
    info: &naga::valid::FunctionInfo,
    function: &naga::Function,
    handle: Handle<Expression>,
    globals: &HashMap<Handle<naga::GlobalVariable>, Pointer>,
    locals: &HashMap<Handle<naga::LocalVariable>, u32>,
) -> Node {
    let context = Context { module, info, function };
    let built = match &function.expressions[handle] {
        Expression::Literal(_) | Expression::Constant(_) | Expression::ZeroValue(_) => {
            constant(module, &function.expressions, handle).map(Node::Constant)
        }
        Expression::FunctionArgument(at) => Ok(Node::Argument(*at as usize)),
        // A function that the entry point does not call may use others.
        Expression::GlobalVariable(variable) => Ok(globals
            .get(variable)
            .map_or_else(|| Node::Unsupported("a variable of another kernel".into()), |p| Node::Global(*p))),
        Expression::LocalVariable(variable) => Ok(Node::Local(locals[variable])),
        Expression::Access { base, index } => context.access(*base, Index::Value(index.index())),
        Expression::AccessIndex { base, index } => context.access(*base, Index::Fixed(*index)),
        Expression::ArrayLength(base) => context.array_length(*base),
        other => context.operation(handle, other),
    };
    built.unwrap_or_else(Node::Unsupported)
}

struct Context<'a> {
    module: &'a naga::Module,
    info: &'a naga::valid::FunctionInfo,
    function: &'a naga::Function,
}

impl Context<'_> {
    fn inner(&self, handle: Handle<Expression>) -> &TypeInner {
        self.info[handle].ty.inner_with(&self.module.types)
    }

    fn access(&self, base: Handle<Expression>, index: Index) -> Result<Node, String> {
        let to_pointer = match self.inner(base) {
            TypeInner::Pointer { base: ty, .. } => Some(&self.module.types[*ty].inner),
            TypeInner::ValuePointer { size: Some(size), scalar, .. } => {
                let stride = u32::from(scalar.width);
                let limit = Limit::Fixed(*size as u32);
                return Ok(Node::Element { base: base.index(), index, limit, stride });
            }
            _ => None,
        };
        let id = base.index();
        let Some(inner) = to_pointer else {
            return Ok(Node::Part { base: id, index, count: count(self.inner(base))? });
        };
        let (limit, stride) = match inner {
            TypeInner::Struct { members, .. } => {
                let Index::Fixed(at) = index else { return Err("a computed member".into()) };
                return Ok(Node::Member { base: id, offset: members[at as usize].offset });
            }
            TypeInner::Vector { scalar, .. } => (Limit::Fixed(count(inner)?), u32::from(scalar.width)),
            TypeInner::Matrix { rows, scalar, .. } => {
                (Limit::Fixed(count(inner)?), column_stride(*rows, *scalar))
            }
            TypeInner::Array { size: naga::ArraySize::Dynamic, stride, .. } => {
                (Limit::Rest { offset: self.offset(base), stride: *stride }, *stride)
            }
            TypeInner::Array { stride, .. } => (Limit::Fixed(count(inner)?), *stride),
            other => return Err(format!("an access to {other:?}")),
        };
        Ok(Node::Element { base: id, index, limit, stride })
    }

    /// Returns the offset of an array without a size: it is a binding, or the last member of one.
    fn offset(&self, pointer: Handle<Expression>) -> u32 {
        let Expression::AccessIndex { base, index } = self.function.expressions[pointer] else { return 0 };
        let TypeInner::Pointer { base: ty, .. } = self.inner(base) else { return 0 };
        match &self.module.types[*ty].inner {
            TypeInner::Struct { members, .. } => members[index as usize].offset,
            _ => 0,
        }
    }

    fn array_length(&self, base: Handle<Expression>) -> Result<Node, String> {
        let TypeInner::Pointer { base: ty, .. } = self.inner(base) else {
            return Err("the length of something that is not in memory".into());
        };
        let TypeInner::Array { stride, .. } = self.module.types[*ty].inner else {
            return Err("the length of something that is not an array".into());
        };
        Ok(Node::Length { base: base.index(), limit: Limit::Rest { offset: self.offset(base), stride } })
    }

    fn operation(&self, handle: Handle<Expression>, expression: &Expression) -> Result<Node, String> {
        Ok(match expression {
            Expression::Compose { components, .. } => Node::Compose {
                parts: components.iter().map(|component| component.index()).collect(),
                flat: matches!(self.inner(handle), TypeInner::Vector { .. }),
            },
            Expression::Splat { size, value } => Node::Splat { len: *size as u8, value: value.index() },
            Expression::Swizzle { size, vector, pattern } => Node::Swizzle {
                vector: vector.index(),
                pattern: pattern[..*size as usize].iter().map(|component| *component as usize).collect(),
            },
            Expression::Load { pointer } => {
                let (shape, atomic) = pointee(self.module, self.info, *pointer)?;
                Node::Load { pointer: pointer.index(), shape, atomic }
            }
            Expression::Unary { op, expr } => Node::Unary { op: *op, value: expr.index() },
            Expression::Binary { op, left, right } => {
                Node::Binary { op: *op, left: left.index(), right: right.index() }
            }
            Expression::Select { condition, accept, reject } => {
                Node::Select { condition: condition.index(), accept: accept.index(), reject: reject.index() }
            }
            Expression::Relational { fun, argument } => {
                Node::Relational { fun: *fun, value: argument.index() }
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => Node::Math {
                fun: *fun,
                arguments: [Some(*arg), *arg1, *arg2, *arg3]
                    .into_iter()
                    .flatten()
                    .map(Handle::index)
                    .collect(),
            },
            Expression::As { expr, kind, convert: Some(width) } => {
                let scalar = naga::Scalar { kind: *kind, width: *width };
                let kind = Kind::of(scalar).ok_or_else(|| format!("the type {scalar:?}"))?;
                Node::Convert { value: expr.index(), kind }
            }
            Expression::As { expr, kind, convert: None } => {
                Node::Bitcast { value: expr.index(), kind: *kind }
            }
            Expression::CallResult(_)
            | Expression::AtomicResult { .. }
            | Expression::WorkGroupUniformLoadResult { .. } => Node::Result,
            other => {
                let name = format!("{other:?}");
                let name = name.split([' ', '(']).next().unwrap_or_default();
                return Err(format!("the expression {name}"));
            }
        })
    }
}

/// Returns the number of components of a vector, matrix, array or structure.
fn count(inner: &TypeInner) -> Result<u32, String> {
    match inner {
        TypeInner::Vector { size, .. } => Ok(*size as u32),
        TypeInner::Matrix { columns, .. } => Ok(*columns as u32),
        TypeInner::Array { size: naga::ArraySize::Constant(count), .. } => Ok(count.get()),
        TypeInner::Struct { members, .. } => Ok(members.len() as u32),
        other => Err(format!("an access to {other:?}")),
    }
}

/// Returns the value of a constant expression.
pub(crate) fn constant(
    module: &naga::Module,
    expressions: &naga::Arena<Expression>,
    handle: Handle<Expression>,
) -> Result<Value, String> {
    match &expressions[handle] {
        Expression::Literal(value) => literal(*value).map(Value::Lanes),
        Expression::Constant(constant_) => {
            constant(module, &module.global_expressions, module.constants[*constant_].init)
        }
        Expression::ZeroValue(ty) => Ok(shape(module, &module.types[*ty].inner)?.zero()),
        Expression::Splat { size, value } => match constant(module, expressions, *value)? {
            Value::Lanes(lanes) => {
                let (len, from) = (*size as u8, lanes.bits[0]);
                let whole = Lanes { kind: lanes.kind, len, bits: [0; 4] };
                Ok(whole.map(lanes.kind, |_| from).into())
            }
            _ => Err("a vector of aggregates".into()),
        },
        Expression::Compose { ty, components } => {
            let parts: Vec<Value> =
                components.iter().map(|c| constant(module, expressions, *c)).collect::<Result<_, _>>()?;
            match module.types[*ty].inner {
                TypeInner::Vector { .. } => crate::operations::join(&parts).map(Value::Lanes),
                _ => Ok(Value::Parts(parts)),
            }
        }
        other => Err(format!("the constant {other:?}")),
    }
}

fn literal(literal: Literal) -> Result<Lanes, String> {
    let (kind, bits) = match literal {
        Literal::F64(value) => (Kind::F64, value.to_bits()),
        Literal::F32(value) => (Kind::F32, u64::from(value.to_bits())),
        Literal::F16(value) => (Kind::F16, u64::from(value.to_bits())),
        Literal::U32(value) => (Kind::U32, u64::from(value)),
        Literal::I32(value) => (Kind::I32, i64::from(value) as u64),
        Literal::U64(value) => (Kind::U64, value),
        Literal::I64(value) => (Kind::I64, value as u64),
        Literal::Bool(value) => (Kind::Bool, u64::from(value)),
        other => return Err(format!("the literal {other:?}")),
    };
    Ok(Lanes::scalar(kind, bits))
}
