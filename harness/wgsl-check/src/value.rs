//! Values of a shader: numbers and truth values, alone or as vectors, aggregates of them, and pointers.

use half::f16;
use wgpu::naga;

use crate::memory::Pointer;

/// Type of a number, or of a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

impl Kind {
    /// Returns the kind of a scalar; `None` for one that the interpreter lacks.
    pub(crate) fn of(scalar: naga::Scalar) -> Option<Self> {
        use naga::ScalarKind::{Bool, Float, Sint, Uint};
        Some(match (scalar.kind, scalar.width) {
            (Bool, _) => Self::Bool,
            (Sint, 4) => Self::I32,
            (Uint, 4) => Self::U32,
            (Sint, 8) => Self::I64,
            (Uint, 8) => Self::U64,
            (Float, 2) => Self::F16,
            (Float, 4) => Self::F32,
            (Float, 8) => Self::F64,
            _ => return None,
        })
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Self::I32 | Self::I64)
    }

    /// Returns the size in memory, in bytes.
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Self::Bool => 1,
            Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Returns the number of bits.
    pub(crate) fn bits(self) -> u32 {
        8 * self.bytes()
    }

    /// Wraps an integer to the range of this kind: the canonical form of its bits. Signed ones are extended by their sign.
    pub(crate) fn wrap(self, bits: u64) -> u64 {
        match self {
            Self::Bool => bits & 1,
            Self::I32 => i64::from(bits as i32) as u64,
            Self::U32 | Self::F32 => u64::from(bits as u32),
            Self::F16 => u64::from(bits as u16),
            Self::I64 | Self::U64 | Self::F64 => bits,
        }
    }

    /// Returns the number that these bits stand for. The three kinds of floats are subsets of float64.
    pub(crate) fn float(self, bits: u64) -> f64 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            Self::I32 | Self::I64 => bits as i64 as f64,
            Self::Bool | Self::U32 | Self::U64 => bits as f64,
        }
    }

    /// Rounds a number to a float of this kind.
    ///
    /// A sum, product, quotient or root of two floats is the same whether it is rounded once, or first to float64: that
    /// has more than twice the digits of float32 (Figueroa, "When is double rounding innocuous?", 1995).
    pub(crate) fn round(self, number: f64) -> u64 {
        match self {
            Self::F16 => u64::from(f16::from_f64(number).to_bits()),
            Self::F32 => u64::from((number as f32).to_bits()),
            _ => number.to_bits(),
        }
    }
}

/// A scalar, or a vector of up to four.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lanes {
    pub(crate) kind: Kind,
    /// Number of components.
    pub(crate) len: u8,
    /// Canonical bits of each component; 0 behind the last.
    pub(crate) bits: [u64; 4],
}

impl Lanes {
    pub(crate) fn scalar(kind: Kind, bits: u64) -> Self {
        Self { kind, len: 1, bits: [bits, 0, 0, 0] }
    }

    pub(crate) fn truth(value: bool) -> Self {
        Self::scalar(Kind::Bool, u64::from(value))
    }

    pub(crate) fn u32s(values: [u32; 3]) -> Self {
        let [x, y, z] = values.map(u64::from);
        Self { kind: Kind::U32, len: 3, bits: [x, y, z, 0] }
    }

    pub(crate) fn parts(&self) -> &[u64] {
        &self.bits[..usize::from(self.len)]
    }

    /// Returns the lanes with another kind and the results of a function.
    pub(crate) fn map(self, kind: Kind, of: impl Fn(u64) -> u64) -> Self {
        let mut bits = [0; 4];
        for (to, from) in bits.iter_mut().zip(self.parts()) {
            *to = of(*from);
        }
        Self { kind, len: self.len, bits }
    }

    /// Combines two values lane by lane; a scalar counts for every lane.
    pub(crate) fn zip(self, other: Self, kind: Kind, of: impl Fn(u64, u64) -> u64) -> Self {
        let (a, b, len) = (self.spread(), other.spread(), self.len.max(other.len));
        let mut bits = [0; 4];
        for at in 0..usize::from(len) {
            bits[at] = of(a[at], b[at]);
        }
        Self { kind, len, bits }
    }

    /// Returns the bits, with a scalar repeated.
    pub(crate) fn spread(&self) -> [u64; 4] {
        if self.len == 1 { [self.bits[0]; 4] } else { self.bits }
    }

    /// Returns the numbers of all lanes.
    pub(crate) fn floats(&self) -> impl Iterator<Item = f64> {
        self.parts().iter().map(|bits| self.kind.float(*bits))
    }
}

/// A value of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Lanes(Lanes),
    /// Columns of a matrix, elements of an array or members of a structure.
    Parts(Vec<Value>),
    Pointer(Pointer),
}

impl From<Lanes> for Value {
    fn from(lanes: Lanes) -> Self {
        Self::Lanes(lanes)
    }
}
