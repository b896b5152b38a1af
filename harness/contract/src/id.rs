//! Names and the stable id of a benchmark.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Largest number of characters in a name; ids appear in tables, file names and terminal lines.
const MAX_NAME_CHARS: usize = 100;

/// Characters that separate ids or have a meaning in a pattern.
const RESERVED: &[char] = &['/', '*', '?', '[', ']', '{', '}', '!', '\\'];

/// The name of a workload, case, variant or metric: 1 to 100 printable characters without white space at the ends,
/// without a leading `-`, and without `/ * ? [ ] { } ! \`, which separate or select names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

/// Error of a text that is not a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("a name must not be empty")]
    Empty,
    /// The text is longer than 100 characters.
    #[error("the name {name:?} has more than {MAX_NAME_CHARS} characters")]
    TooLong {
        /// The given text.
        name: String,
    },
    /// The text contains a character that a name cannot have.
    #[error("the name {name:?} has the character {character:?}, which is not allowed there")]
    Character {
        /// The given text.
        name: String,
        /// The first invalid character.
        character: char,
    },
    /// The text is not `workload/case/variant`.
    #[error("{text:?} is not a benchmark id of the form workload/case/variant")]
    NotABenchmark {
        /// The given text.
        text: String,
    },
}

impl Name {
    /// Checks a text and converts it to a name.
    ///
    /// # Errors
    /// Returns an error if the text is empty, is too long or has a reserved character.
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let name = text.into();
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.chars().count() > MAX_NAME_CHARS {
            return Err(NameError::TooLong { name });
        }
        let edge = |c: Option<char>| c.filter(|c| c.is_whitespace());
        let bad = name
            .chars()
            .find(|c| c.is_control() || RESERVED.contains(c))
            .or_else(|| edge(name.chars().next()))
            .or_else(|| edge(name.chars().next_back()))
            .or_else(|| name.chars().next().filter(|c| *c == '-'));
        match bad {
            Some(character) => Err(NameError::Character { name, character }),
            None => Ok(Self(name)),
        }
    }

    /// Converts a name that is a literal in the source code.
    ///
    /// # Panics
    /// Panics if the name is not valid, which is a bug.
    pub(crate) fn literal(text: &str) -> Self {
        #[expect(clippy::expect_used, reason = "names in source code are literals; an invalid one is a bug")]
        Self::new(text).expect("a valid name")
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl FromStr for Name {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The stable id of a benchmark, written `workload/case/variant`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct BenchmarkId {
    /// The hot path.
    pub workload: Name,
    /// The input size.
    pub case: Name,
    /// The implementation.
    pub variant: Name,
}

impl fmt::Display for BenchmarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.workload, self.case, self.variant)
    }
}

impl FromStr for BenchmarkId {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        let parts: Vec<&str> = text.split('/').collect();
        let [workload, case, variant] = parts[..] else {
            return Err(NameError::NotABenchmark { text: text.into() });
        };
        Ok(Self { workload: Name::new(workload)?, case: Name::new(case)?, variant: Name::new(variant)? })
    }
}

impl TryFrom<String> for BenchmarkId {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        text.parse()
    }
}

impl From<BenchmarkId> for String {
    fn from(id: BenchmarkId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_separators_pattern_characters_or_edges_are_refused() {
        for text in ["", "a/b", "a*", "a?", "[a]", "{a}", "!a", "a\\b", " a", "a ", "-a", "a\nb", "a\0"] {
            assert!(Name::new(text).is_err(), "{text:?} was accepted");
        }
        assert!(Name::new("x".repeat(101)).is_err());
    }

    #[test]
    fn names_of_other_people_are_accepted_as_they_are() {
        for text in ["n1000", "label-remap", "batch 64", "größe", "\"><script>alert(1)", "v1.2_a"] {
            assert_eq!(Name::new(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn a_benchmark_id_survives_text_and_json() {
        let id: BenchmarkId = "json-logging/n1000/slow".parse().unwrap();
        assert_eq!(id.to_string(), "json-logging/n1000/slow");
        let json = serde_json::to_string(&id).unwrap();
        assert_eq!(serde_json::from_str::<BenchmarkId>(&json).unwrap(), id);
        assert!("a/b".parse::<BenchmarkId>().is_err());
        assert!("a/b/c/d".parse::<BenchmarkId>().is_err());
        assert!("a//c".parse::<BenchmarkId>().is_err());
    }
}
