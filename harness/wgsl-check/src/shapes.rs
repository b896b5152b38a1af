//! Layouts of naga's types.

use wgpu::naga;

use crate::memory::Shape;
use crate::value::Kind;

/// Returns the layout of a type; an array without a size counts with no element. The error names what the interpreter
/// lacks.
pub(crate) fn shape(module: &naga::Module, inner: &naga::TypeInner) -> Result<Shape, String> {
    use naga::TypeInner;
    let lanes = |scalar: naga::Scalar, len: u8| {
        let kind = Kind::of(scalar).ok_or_else(|| format!("the type {scalar:?}"))?;
        Ok::<_, String>(Shape::Lanes { kind, len })
    };
    Ok(match inner {
        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => lanes(*scalar, 1)?,
        TypeInner::Vector { size, scalar } => lanes(*scalar, *size as u8)?,
        TypeInner::Matrix { columns, rows, scalar } => Shape::Array {
            of: Box::new(lanes(*scalar, *rows as u8)?),
            count: *columns as u32,
            stride: column_stride(*rows, *scalar),
        },
        TypeInner::Array { base, size, stride } => Shape::Array {
            of: Box::new(shape(module, &module.types[*base].inner)?),
            count: match size {
                naga::ArraySize::Constant(count) => count.get(),
                naga::ArraySize::Dynamic => 0,
                naga::ArraySize::Pending(_) => return Err("an array whose size is an override".into()),
            },
            stride: *stride,
        },
        TypeInner::Struct { members, .. } => {
            let member = |m: &naga::StructMember| Ok((m.offset, shape(module, &module.types[m.ty].inner)?));
            Shape::Struct(members.iter().map(member).collect::<Result<_, String>>()?)
        }
        other => return Err(format!("the type {other:?}")),
    })
}

/// Returns the distance between two columns of a matrix in bytes: a column of three takes the place of four.
pub(crate) fn column_stride(rows: naga::VectorSize, scalar: naga::Scalar) -> u32 {
    let places = if rows == naga::VectorSize::Bi { 2 } else { 4 };
    places * u32::from(scalar.width)
}
