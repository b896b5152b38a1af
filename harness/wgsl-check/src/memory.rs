//! Memory of a device, of a workgroup and of an invocation, and the accesses to it.

use crate::race::{Access, Shadow, Who};
use crate::value::{Kind, Lanes, Value};

/// Place in memory. It is only valid within the invocation that made it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    pub(crate) place: Place,
    /// Position in bytes.
    pub(crate) at: u32,
}

/// Memory that a pointer points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A binding of the dispatch, by its position in the list.
    Binding(usize),
    Workgroup,
    Private,
    /// Variables of a function, by the depth of its call.
    Frame(usize),
    /// Nothing: an index was out of bounds. Reads give zeros, and writes are discarded.
    Nowhere,
}

/// Layout of a type in memory.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    Lanes { kind: Kind, len: u8 },
    Array { of: Box<Shape>, count: u32, stride: u32 },
    Struct(Vec<(u32, Shape)>),
}

/// Memory that several invocations share, with its shadow.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) bytes: Vec<u8>,
    pub(crate) shadow: Shadow,
    /// Whether an invocation may write it, so that accesses can race.
    pub(crate) writable: bool,
}

/// Result of an access to shared memory, if something is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The other invocation, and its place in the source.
    Race {
        other: u32,
        there: u32,
    },
    Unwritten,
}

impl Shape {
    /// Returns the value that has zeros everywhere.
    pub(crate) fn zero(&self) -> Value {
        match self {
            Self::Lanes { kind, len } => Lanes { kind: *kind, len: *len, bits: [0; 4] }.into(),
            Self::Array { of, count, .. } => Value::Parts(vec![of.zero(); *count as usize]),
            Self::Struct(members) => Value::Parts(members.iter().map(|(_, shape)| shape.zero()).collect()),
        }
    }

    /// Returns the smallest size of a number in this type, in bytes.
    pub(crate) fn finest(&self) -> u32 {
        match self {
            Self::Lanes { kind, .. } => kind.bytes(),
            Self::Array { of, .. } => of.finest(),
            Self::Struct(members) => members.iter().map(|(_, shape)| shape.finest()).min().unwrap_or(8),
        }
    }

    /// Calls a function with each vector or scalar of this type: its offset in bytes, kind and length.
    pub(crate) fn visit(&self, at: u32, each: &mut impl FnMut(u32, Kind, u8)) {
        match self {
            Self::Lanes { kind, len } => each(at, *kind, *len),
            Self::Array { of, count, stride } => (0..*count).for_each(|i| of.visit(at + i * stride, each)),
            Self::Struct(members) => {
                for (offset, shape) in members {
                    shape.visit(at + offset, each);
                }
            }
        }
    }
}

/// Reads a value.
pub(crate) fn read(bytes: &[u8], at: u32, shape: &Shape) -> Value {
    match shape {
        Shape::Lanes { kind, len } => {
            let mut bits = [0; 4];
            let each = kind.bytes();
            for (lane, to) in (0..u32::from(*len)).zip(&mut bits) {
                let start = (at + lane * each) as usize;
                let mut raw = [0; 8];
                if let Some(from) = bytes.get(start..start + each as usize) {
                    raw[..each as usize].copy_from_slice(from);
                }
                *to = kind.wrap(u64::from_le_bytes(raw));
            }
            Lanes { kind: *kind, len: *len, bits }.into()
        }
        Shape::Array { of, count, stride } => {
            Value::Parts((0..*count).map(|i| read(bytes, at + i * stride, of)).collect())
        }
        Shape::Struct(members) => {
            Value::Parts(members.iter().map(|(offset, shape)| read(bytes, at + offset, shape)).collect())
        }
    }
}

/// Writes a value.
pub(crate) fn write(bytes: &mut [u8], at: u32, shape: &Shape, value: &Value) {
    match (shape, value) {
        (Shape::Lanes { kind, .. }, Value::Lanes(lanes)) => {
            let each = kind.bytes();
            for (lane, bits) in (0..).zip(lanes.parts()) {
                let start = (at + lane * each) as usize;
                if let Some(to) = bytes.get_mut(start..start + each as usize) {
                    to.copy_from_slice(&bits.to_le_bytes()[..each as usize]);
                }
            }
        }
        (Shape::Array { of, stride, .. }, Value::Parts(parts)) => {
            (0..).zip(parts).for_each(|(i, part)| write(bytes, at + i * stride, of, part));
        }
        (Shape::Struct(members), Value::Parts(parts)) => {
            members.iter().zip(parts).for_each(|((offset, s), part)| write(bytes, at + offset, s, part));
        }
        // The validator has checked the types.
        _ => {}
    }
}

impl Shared {
    /// Records an access to a type at a place, and returns the first trouble.
    pub(crate) fn access(&mut self, at: u32, shape: &Shape, access: Access, who: Who) -> Option<Trouble> {
        if !self.writable {
            return None;
        }
        let mut trouble = None;
        shape.visit(at, &mut |at, kind, len| {
            let found = self.shadow.record(at, kind.bytes() * u32::from(len), access, who);
            trouble = trouble.or(found);
        });
        trouble
    }
}
