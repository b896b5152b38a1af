//! Operators and conversions, as WGSL defines them.

use wgpu::naga::{BinaryOperator, RelationalFunction, ScalarKind, UnaryOperator};

use crate::value::{Kind, Lanes, Value};

/// Joins scalars and vectors to one vector.
pub(crate) fn join(parts: &[Value]) -> Result<Lanes, String> {
    let mut whole = Lanes { kind: Kind::U32, len: 0, bits: [0; 4] };
    for part in parts {
        let Value::Lanes(lanes) = part else { return Err("a vector of aggregates".into()) };
        whole.kind = lanes.kind;
        for bits in lanes.parts() {
            whole.bits[usize::from(whole.len)] = *bits;
            whole.len += 1;
        }
    }
    Ok(whole)
}

pub(crate) fn unary(op: UnaryOperator, value: Lanes) -> Lanes {
    let kind = value.kind;
    match op {
        UnaryOperator::Negate if kind.is_float() => value.map(kind, |bits| kind.round(-kind.float(bits))),
        UnaryOperator::Negate => value.map(kind, |bits| kind.wrap(bits.wrapping_neg())),
        UnaryOperator::LogicalNot => value.map(kind, |bits| bits ^ 1),
        UnaryOperator::BitwiseNot => value.map(kind, |bits| kind.wrap(!bits)),
    }
}

/// Applies an operator to two values; one of them may be a scalar or a matrix.
pub(crate) fn binary(op: BinaryOperator, left: &Value, right: &Value) -> Result<Value, String> {
    match (left, right) {
        (Value::Lanes(a), Value::Lanes(b)) => Ok(lanes(op, *a, *b).into()),
        (Value::Parts(columns), Value::Lanes(vector)) if op == BinaryOperator::Multiply && vector.len > 1 => {
            // A matrix times a vector: the sum of the columns, each times a component.
            let terms = columns
                .iter()
                .zip(vector.parts())
                .map(|(column, bits)| binary(op, column, &Lanes::scalar(vector.kind, *bits).into()));
            terms
                .reduce(|sum, term| binary(BinaryOperator::Add, &sum?, &term?))
                .unwrap_or_else(|| Err("an empty matrix".into()))
        }
        (Value::Parts(parts), Value::Lanes(scalar)) if scalar.len == 1 => {
            parts.iter().map(|part| binary(op, part, right)).collect::<Result<_, _>>().map(Value::Parts)
        }
        (Value::Lanes(scalar), Value::Parts(parts)) if scalar.len == 1 => {
            parts.iter().map(|part| binary(op, left, part)).collect::<Result<_, _>>().map(Value::Parts)
        }
        (Value::Parts(a), Value::Parts(b))
            if matches!(op, BinaryOperator::Add | BinaryOperator::Subtract) =>
        {
            a.iter().zip(b).map(|(a, b)| binary(op, a, b)).collect::<Result<_, _>>().map(Value::Parts)
        }
        (Value::Parts(_), Value::Parts(columns)) if op == BinaryOperator::Multiply => {
            columns.iter().map(|column| binary(op, left, column)).collect::<Result<_, _>>().map(Value::Parts)
        }
        _ => Err(format!("{op:?} of these types")),
    }
}

fn lanes(op: BinaryOperator, left: Lanes, right: Lanes) -> Lanes {
    use BinaryOperator as Op;
    let kind = left.kind;
    let compare = |test: fn(std::cmp::Ordering) -> bool| {
        left.zip(right, Kind::Bool, |a, b| u64::from(order(kind, a, b).is_some_and(test)))
    };
    match op {
        Op::Equal => compare(std::cmp::Ordering::is_eq),
        // The only comparison that holds for NaN.
        Op::NotEqual => left.zip(right, Kind::Bool, |a, b| {
            u64::from(!order(kind, a, b).is_some_and(std::cmp::Ordering::is_eq))
        }),
        Op::Less => compare(std::cmp::Ordering::is_lt),
        Op::LessEqual => compare(std::cmp::Ordering::is_le),
        Op::Greater => compare(std::cmp::Ordering::is_gt),
        Op::GreaterEqual => compare(std::cmp::Ordering::is_ge),
        Op::And | Op::LogicalAnd => left.zip(right, kind, |a, b| a & b),
        Op::InclusiveOr | Op::LogicalOr => left.zip(right, kind, |a, b| a | b),
        Op::ExclusiveOr => left.zip(right, kind, |a, b| a ^ b),
        // A shift takes the amount modulo the number of bits.
        Op::ShiftLeft => left.zip(right, kind, |a, b| kind.wrap(a << (b % u64::from(kind.bits())))),
        Op::ShiftRight if kind.is_signed() => {
            left.zip(right, kind, |a, b| ((a as i64) >> (b % u64::from(kind.bits()))) as u64)
        }
        Op::ShiftRight => left.zip(right, kind, |a, b| a >> (b % u64::from(kind.bits()))),
        _ if kind.is_float() => left.zip(right, kind, |a, b| {
            let (a, b) = (kind.float(a), kind.float(b));
            kind.round(match op {
                Op::Add => a + b,
                Op::Subtract => a - b,
                Op::Multiply => a * b,
                Op::Divide => a / b,
                _ => a % b,
            })
        }),
        Op::Add => left.zip(right, kind, |a, b| kind.wrap(a.wrapping_add(b))),
        Op::Subtract => left.zip(right, kind, |a, b| kind.wrap(a.wrapping_sub(b))),
        Op::Multiply => left.zip(right, kind, |a, b| kind.wrap(a.wrapping_mul(b))),
        Op::Divide => left.zip(right, kind, |a, b| quotient(kind, a, b).0),
        Op::Modulo => left.zip(right, kind, |a, b| quotient(kind, a, b).1),
    }
}

/// Returns the quotient and the remainder. WGSL defines `x / 0` as `x` and `x % 0` as 0, and wraps the smallest number
/// divided by -1.
fn quotient(kind: Kind, a: u64, b: u64) -> (u64, u64) {
    if b == 0 {
        (a, 0)
    } else if kind.is_signed() {
        let (a, b) = (a as i64, b as i64);
        (kind.wrap(a.wrapping_div(b) as u64), kind.wrap(a.wrapping_rem(b) as u64))
    } else {
        (a / b, a % b)
    }
}

/// Compares two numbers; `None` if one of them is NaN.
pub(crate) fn order(kind: Kind, a: u64, b: u64) -> Option<std::cmp::Ordering> {
    if kind.is_float() {
        kind.float(a).partial_cmp(&kind.float(b))
    } else if kind.is_signed() {
        Some((a as i64).cmp(&(b as i64)))
    } else {
        Some(a.cmp(&b))
    }
}

pub(crate) fn relational(fun: RelationalFunction, value: Lanes) -> Lanes {
    match fun {
        RelationalFunction::All => Lanes::truth(value.parts().iter().all(|bits| *bits != 0)),
        RelationalFunction::Any => Lanes::truth(value.parts().iter().any(|bits| *bits != 0)),
        RelationalFunction::IsNan => value.map(Kind::Bool, |bits| u64::from(value.kind.float(bits).is_nan())),
        RelationalFunction::IsInf => {
            value.map(Kind::Bool, |bits| u64::from(value.kind.float(bits).is_infinite()))
        }
    }
}

/// Converts numbers. Floats that are too large for an integer become the nearest one.
pub(crate) fn convert(value: Lanes, kind: Kind) -> Lanes {
    let from = value.kind;
    value.map(kind, |bits| match kind {
        Kind::Bool if from.is_float() => u64::from(from.float(bits) != 0.0),
        Kind::Bool => u64::from(bits != 0),
        Kind::F16 | Kind::F32 | Kind::F64 => kind.round(from.float(bits)),
        _ if !from.is_float() => kind.wrap(bits),
        Kind::I32 => i64::from(from.float(bits) as i32) as u64,
        Kind::U32 => u64::from(from.float(bits) as u32),
        Kind::I64 => from.float(bits) as i64 as u64,
        Kind::U64 => from.float(bits) as u64,
    })
}

/// Reads the same bits as numbers of another kind and the same width.
pub(crate) fn bitcast(value: Lanes, kind: ScalarKind) -> Result<Lanes, String> {
    let to = match (kind, value.kind.bytes()) {
        (ScalarKind::Sint, 4) => Kind::I32,
        (ScalarKind::Uint, 4) => Kind::U32,
        (ScalarKind::Float, 4) => Kind::F32,
        (ScalarKind::Sint, 8) => Kind::I64,
        (ScalarKind::Uint, 8) => Kind::U64,
        (ScalarKind::Float, 8) => Kind::F64,
        (ScalarKind::Float, 2) => Kind::F16,
        (ScalarKind::Bool, 1) => Kind::Bool,
        _ => return Err(format!("a bitcast to {kind:?}")),
    };
    Ok(value.map(to, |bits| to.wrap(bits)))
}

/// Chooses lane by lane.
pub(crate) fn select(condition: Lanes, accept: Lanes, reject: Lanes) -> Lanes {
    let chosen = condition.spread();
    let (yes, no) = (accept.spread(), reject.spread());
    let mut bits = [0; 4];
    for at in 0..usize::from(accept.len) {
        bits[at] = if chosen[at] == 0 { no[at] } else { yes[at] };
    }
    Lanes { bits, ..accept }
}
