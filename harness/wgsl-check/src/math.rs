//! Built-in functions. Floats are computed in float64 and rounded once, which is more exact than any device.

use half::f16;
use wgpu::naga::MathFunction;

use crate::operations::order;
use crate::value::{Kind, Lanes};

/// Computes a built-in function of up to four arguments.
///
/// # Errors
/// Returns the name of a function that the interpreter lacks.
pub(crate) fn call(fun: MathFunction, arguments: &[Lanes]) -> Result<Lanes, String> {
    use MathFunction as Fun;
    let first = *arguments.first().ok_or("a function without arguments")?;
    let kind = first.kind;
    let at = |index: usize| arguments.get(index).copied().unwrap_or(first);
    let known = match fun {
        Fun::Min => Some(first.zip(at(1), kind, |a, b| least(kind, a, b))),
        Fun::Max => Some(first.zip(at(1), kind, |a, b| most(kind, a, b))),
        Fun::Clamp => {
            let low = first.zip(at(1), kind, |a, b| most(kind, a, b));
            Some(low.zip(at(2), kind, |a, b| least(kind, a, b)))
        }
        Fun::Dot => Some(dot(first, at(1))),
        Fun::Pack2x16float => {
            let [a, b] = [0, 1].map(|i| Kind::F16.round(kind.float(first.bits[i])));
            Some(Lanes::scalar(Kind::U32, a | b << 16))
        }
        Fun::Unpack2x16float => {
            let half = |bits: u64| u64::from(f16::from_bits(bits as u16).to_f32().to_bits());
            let bits = [half(first.bits[0]), half(first.bits[0] >> 16), 0, 0];
            Some(Lanes { kind: Kind::F32, len: 2, bits })
        }
        _ if kind.is_float() => floats(fun, kind, arguments),
        _ => integers(fun, kind, first),
    };
    known.ok_or_else(|| format!("the function {fun:?} of {kind:?}"))
}

fn least(kind: Kind, a: u64, b: u64) -> u64 {
    if order(kind, b, a).is_some_and(std::cmp::Ordering::is_lt) { b } else { a }
}

fn most(kind: Kind, a: u64, b: u64) -> u64 {
    if order(kind, a, b).is_some_and(std::cmp::Ordering::is_lt) { b } else { a }
}

fn dot(a: Lanes, b: Lanes) -> Lanes {
    let kind = a.kind;
    if kind.is_float() {
        let sum: f64 = a.floats().zip(b.floats()).map(|(a, b)| a * b).sum();
        return Lanes::scalar(kind, kind.round(sum));
    }
    let sum = a.parts().iter().zip(b.parts()).fold(0_u64, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)));
    Lanes::scalar(kind, kind.wrap(sum))
}

fn integers(fun: MathFunction, kind: Kind, value: Lanes) -> Option<Lanes> {
    use MathFunction as Fun;
    // The bits of the number alone, without the sign that extends them.
    let width = kind.bits();
    let plain = move |bits: u64| if width == 32 { u64::from(bits as u32) } else { bits };
    let unused = 64 - width;
    let number = |of: &dyn Fn(u64) -> u64| Some(value.map(kind, |bits| kind.wrap(of(bits))));
    match fun {
        Fun::Abs if kind.is_signed() => number(&|bits| (bits as i64).unsigned_abs()),
        Fun::Abs => Some(value),
        Fun::Sign => number(&|bits| (bits as i64).signum() as u64),
        Fun::CountLeadingZeros => number(&|bits| u64::from(plain(bits).leading_zeros() - unused)),
        Fun::CountTrailingZeros => number(&|bits| u64::from(plain(bits).trailing_zeros().min(width))),
        Fun::CountOneBits => number(&|bits| u64::from(plain(bits).count_ones())),
        Fun::ReverseBits => number(&|bits| plain(bits).reverse_bits() >> unused),
        Fun::FirstTrailingBit => {
            number(&|bits| if plain(bits) == 0 { u64::MAX } else { u64::from(bits.trailing_zeros()) })
        }
        Fun::FirstLeadingBit if !kind.is_signed() => {
            number(&|bits| bits.checked_ilog2().map_or(u64::MAX, u64::from))
        }
        _ => None,
    }
}

fn floats(fun: MathFunction, kind: Kind, arguments: &[Lanes]) -> Option<Lanes> {
    use MathFunction as Fun;
    let first = arguments[0];
    let one = |of: fn(f64) -> f64| Some(first.map(kind, |bits| kind.round(of(kind.float(bits)))));
    let lanes = |at: usize| arguments.get(at).copied();
    let two = |of: fn(f64, f64) -> f64| {
        Some(first.zip(lanes(1)?, kind, |a, b| kind.round(of(kind.float(a), kind.float(b)))))
    };
    let three = |of: fn(f64, f64, f64) -> f64| {
        let (b, c) = (lanes(1)?.spread(), lanes(2)?.spread());
        let mut whole = first;
        for (at, bits) in whole.bits[..usize::from(first.len)].iter_mut().enumerate() {
            *bits = kind.round(of(kind.float(*bits), kind.float(b[at]), kind.float(c[at])));
        }
        Some(whole)
    };
    let length = |value: Lanes| value.floats().map(|x| x * x).sum::<f64>().sqrt();
    match fun {
        Fun::Abs => one(f64::abs),
        Fun::Saturate => one(|x| x.clamp(0.0, 1.0)),
        Fun::Cos => one(f64::cos),
        Fun::Cosh => one(f64::cosh),
        Fun::Sin => one(f64::sin),
        Fun::Sinh => one(f64::sinh),
        Fun::Tan => one(f64::tan),
        Fun::Tanh => one(f64::tanh),
        Fun::Acos => one(f64::acos),
        Fun::Asin => one(f64::asin),
        Fun::Atan => one(f64::atan),
        Fun::Atan2 => two(f64::atan2),
        Fun::Asinh => one(f64::asinh),
        Fun::Acosh => one(f64::acosh),
        Fun::Atanh => one(f64::atanh),
        Fun::Radians => one(f64::to_radians),
        Fun::Degrees => one(f64::to_degrees),
        Fun::Ceil => one(f64::ceil),
        Fun::Floor => one(f64::floor),
        Fun::Round => one(f64::round_ties_even),
        Fun::Fract => one(|x| x - x.floor()),
        Fun::Trunc => one(f64::trunc),
        Fun::Exp => one(f64::exp),
        Fun::Exp2 => one(f64::exp2),
        Fun::Log => one(f64::ln),
        Fun::Log2 => one(f64::log2),
        Fun::Pow => two(f64::powf),
        Fun::Sign => one(|x| if x == 0.0 { 0.0 } else { x.signum() }),
        Fun::Sqrt => one(f64::sqrt),
        Fun::InverseSqrt => one(|x| 1.0 / x.sqrt()),
        Fun::Step => two(|edge, x| if edge <= x { 1.0 } else { 0.0 }),
        Fun::Fma => three(|a, b, c| a * b + c),
        Fun::Mix => three(|a, b, t| a * (1.0 - t) + b * t),
        Fun::SmoothStep => three(|low, high, x| {
            let t = ((x - low) / (high - low)).clamp(0.0, 1.0);
            t * t * (3.0 - 2.0 * t)
        }),
        Fun::Length => Some(Lanes::scalar(kind, kind.round(length(first)))),
        Fun::Distance => {
            let other = lanes(1)?;
            let squares = first.floats().zip(other.floats()).map(|(a, b)| (a - b) * (a - b));
            Some(Lanes::scalar(kind, kind.round(squares.sum::<f64>().sqrt())))
        }
        Fun::Normalize => {
            let whole = length(first);
            Some(first.map(kind, |bits| kind.round(kind.float(bits) / whole)))
        }
        _ => None,
    }
}
