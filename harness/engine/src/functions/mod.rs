//! Machine code by function: which functions of a program differ from those of another build.
//!
//! A linked program is of no use for that, because every address in it follows from what lies before. The objects that it was
//! linked from have each address as a relocation, with the name of its target.

mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use perfharness_record::file::write_atomically;

/// Start of a file without digests; the reason follows.
const NONE: &str = "none: ";

/// Digests of the functions of a program, by the names that the linker knows. Several objects may have a function of one
/// name, and the linker takes one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionDigests {
    of: BTreeMap<String, BTreeSet<String>>,
}

impl FunctionDigests {
    /// Reads the functions of a linked program from the objects and archives that it was linked from.
    ///
    /// # Errors
    /// When a file cannot be read, with the reason as a clause.
    pub fn of(program: &Path, inputs: &[PathBuf]) -> Result<Self, String> {
        Ok(Self { of: objects::digests(program, inputs)? })
    }

    /// Reads what [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// When the file cannot be read, or has the reason why there are none; as a clause.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("the digests of its functions cannot be read: {error}"))?;
        if let Some(reason) = text.strip_prefix(NONE) {
            return Err(reason.trim_end().to_owned());
        }
        let mut of: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for line in text.lines() {
            let Some((digest, name)) = line.split_once(' ') else { continue };
            of.entry(name.to_owned()).or_default().insert(digest.to_owned());
        }
        Ok(Self { of })
    }

    /// Writes a line for each function, with its digest and its name; or the reason why there are none.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(found: &Result<Self, String>, path: &Path) -> io::Result<()> {
        let text = match found {
            Ok(Self { of }) => of
                .iter()
                .flat_map(|(name, digests)| digests.iter().map(move |digest| format!("{digest} {name}\n")))
                .collect(),
            Err(reason) => format!("{NONE}{reason}\n"),
        };
        write_atomically(path, text.as_bytes())
    }

    /// Compares a function with that of another build; `None` if neither has it.
    pub(crate) fn differs(&self, other: &Self, name: &str) -> Option<bool> {
        match (self.of.get(name), other.of.get(name)) {
            (None, None) => None,
            (own, others) => Some(own != others),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_were_written_and_a_function_that_one_build_lacks_differs() {
        let of = |all: &[(&str, &[&str])]| {
            let set = |digests: &[&str]| digests.iter().map(|digest| (*digest).to_owned()).collect();
            let of = all.iter().map(|(name, digests)| ((*name).to_owned(), set(digests))).collect();
            FunctionDigests { of }
        };
        let base = of(&[("f", &["1a"]), ("two words", &["2b", "3c"]), ("gone", &["4d"])]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("functions");
        FunctionDigests::write(&Ok(base.clone()), &path).unwrap();
        assert_eq!(FunctionDigests::read(&path), Ok(base.clone()));
        let stripped = Err("its program is stripped".to_owned());
        FunctionDigests::write(&stripped, &path).unwrap();
        assert_eq!(FunctionDigests::read(&path), stripped);
        let head = of(&[("f", &["1a"]), ("two words", &["2b"]), ("new", &["5e"])]);
        let differs = |name| base.differs(&head, name);
        assert_eq!([differs("f"), differs("two words")], [Some(false), Some(true)]);
        assert_eq!([differs("gone"), differs("new"), differs("elsewhere")], [Some(true), Some(true), None]);
        assert!(FunctionDigests::read(&folder.path().join("none")).is_err());
    }
}
