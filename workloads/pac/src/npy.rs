//! Arrays in files: the part of the format `.npy`, version 1.0, of `NumPy` that numbers of one type need.

use std::fs;
use std::io;
use std::path::Path;

const MAGIC: &[u8; 8] = b"\x93NUMPY\x01\x00";

/// An array in C order: the last axis varies fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T> {
    /// Length of every axis.
    pub shape: Vec<usize>,
    /// The numbers.
    pub values: Vec<T>,
}

/// A type of number that a file can hold, little-endian.
pub trait Number: Copy {
    /// Name in the header, e.g. `<f4`.
    const DESCR: &'static str;
    /// Size in bytes.
    const BYTES: usize;
    /// Reads one from exactly [`Self::BYTES`] bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Appends the bytes of the number.
    fn write(self, to: &mut Vec<u8>);
}

macro_rules! number {
    ($type:ty, $descr:literal) => {
        impl Number for $type {
            const DESCR: &'static str = $descr;
            const BYTES: usize = size_of::<Self>();
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
            fn write(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

number!(f32, "<f4");
number!(f64, "<f8");
number!(i32, "<i4");
number!(i64, "<i8");

/// Reads an array.
///
/// # Errors
/// Returns an error if the file cannot be read, has another format, or holds numbers of another type.
pub fn read<T: Number>(path: &Path) -> io::Result<Array<T>> {
    let bytes = fs::read(path)?;
    parse(&bytes)
        .map_err(|what| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display())))
}

/// Writes an array.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn write<T: Number>(path: &Path, array: &Array<T>) -> io::Result<()> {
    fs::write(path, format(array))
}

fn parse<T: Number>(bytes: &[u8]) -> Result<Array<T>, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is not a .npy file of version 1.0")?;
    let (length, rest) = rest.split_first_chunk().ok_or("its header is cut short")?;
    let (header, data) =
        rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or("its header is cut short")?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is not valid UTF-8")?;
    let value = |key: &str| {
        let (_, value) = header.split_once(&format!("'{key}':")).ok_or(format!("its header has no {key}"))?;
        Ok::<_, String>(value.trim_start())
    };
    if !value("descr")?.starts_with(&format!("'{}'", T::DESCR)) {
        return Err(format!("its numbers are not {}: {}", T::DESCR, header.trim_end()));
    }
    if !value("fortran_order")?.starts_with("False") {
        return Err("it is not in C order".into());
    }
    let axes = value("shape")?.trim_start_matches('(').split(')').next().unwrap_or_default();
    let axes = axes.split(',').map(str::trim).filter(|axis| !axis.is_empty());
    let shape: Vec<usize> = axes
        .map(|axis| axis.parse().map_err(|_| format!("`{axis}` is not the length of an axis")))
        .collect::<Result<_, _>>()?;
    let count = shape.iter().try_fold(1_usize, |count, axis| count.checked_mul(*axis));
    if count.and_then(|count| count.checked_mul(T::BYTES)) != Some(data.len()) {
        return Err(format!(
            "it holds {} bytes of numbers, which do not match its shape {shape:?}",
            data.len()
        ));
    }
    Ok(Array { shape, values: data.chunks_exact(T::BYTES).map(T::read).collect() })
}

fn format<T: Number>(array: &Array<T>) -> Vec<u8> {
    let axes: String = array.shape.iter().map(|axis| format!("{axis}, ")).collect();
    let mut header = format!("{{'descr': '{}', 'fortran_order': False, 'shape': ({axes}), }}", T::DESCR);
    // The numbers start at a multiple of 64 bytes; the header ends with a new line.
    let unpadded = MAGIC.len() + 2 + header.len() + 1;
    header.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    array.values.iter().for_each(|value| value.write(&mut bytes));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for shape in [vec![], vec![3], vec![2, 0], vec![2, 3, 1]] {
            let count = shape.iter().product::<usize>();
            let array = Array { shape, values: (0..count).map(|i| i as f64 / 3.0).collect() };
            let bytes = format(&array);
            assert!(bytes.len().is_multiple_of(8));
            assert_eq!(parse(&bytes), Ok(array));
        }
    }

    #[test]
    fn a_file_of_something_else_is_refused_with_what_is_wrong() {
        let bytes = format(&Array { shape: vec![2], values: vec![1.0_f32, 2.0] });
        for (bytes, what) in [
            (&b"text"[..], "not a .npy"),
            (&bytes[..9], "cut short"),
            (&bytes[..40], "cut short"),
            (&bytes[..bytes.len() - 1], "do not match"),
        ] {
            let error = parse::<f32>(bytes).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
        assert!(parse::<f64>(&bytes).unwrap_err().contains("<f8"));
    }
}
