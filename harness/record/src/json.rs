//! JSON that may be anybody's: read within limits, with no key twice, and without what a terminal would obey.
//!
//! Reading never takes more than a small multiple of the text. A tree of values in between would: in it an object with one
//! entry has 660 bytes, and seven in the text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};

use crate::plain_text::is_plain;

/// Limits of a document, which bound the memory that reading it takes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: u64,
    /// Values, with the keys of objects. An object counts as [`OBJECT`], because of what a map takes however little is in
    /// it.
    pub values: u64,
}

/// Values that an object counts as.
pub const OBJECT: u64 = 8;

/// Limits of a record, and of what lies beside it. A benchmark takes 2 to 17 kB of a record and up to 1,400 values, and each
/// reading of the machine half a kB and 40 values where four workers are alive; a run of a day has 17,280 readings.
pub const RECORD_LIMITS: Limits = Limits { bytes: 32 << 20, values: 2_500_000 };

/// Limits of a baseline, where a benchmark takes 6 kB.
pub const BASELINE_LIMITS: Limits = Limits { bytes: 16 << 20, values: 2_500_000 };

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// It is no JSON, is beyond a limit, or says something else than it should.
    #[error(transparent)]
    Broken(#[from] serde_json::Error),
    /// It has another version of its format; the text may say anything else.
    #[error("it has format {0}")]
    Version(u64),
}

/// Reads a document that says its version in the field `format`, where it says one.
///
/// # Errors
/// When it says another version than `known`, or cannot be read.
pub fn read<T: DeserializeOwned>(text: &str, limits: Limits, known: u32) -> Result<T, JsonError> {
    within(text, limits)?;
    let text = plain_json(text);
    // The version first: a later format may not parse otherwise.
    if let Some(found) = unique(&text, limits)?.filter(|found| *found != u64::from(known)) {
        return Err(JsonError::Version(found));
    }
    Ok(serde_json::from_str(&text)?)
}

/// Checks that a text is JSON without a key twice and within limits, and returns the number in its field `format`.
///
/// # Errors
/// When it is not.
pub fn check(text: &str, limits: Limits) -> Result<Option<u64>, serde_json::Error> {
    within(text, limits)?;
    unique(text, limits)
}

fn within(text: &str, limits: Limits) -> Result<(), serde_json::Error> {
    if text.len() as u64 > limits.bytes {
        return Err(serde_json::Error::custom(format!("it has more than {} bytes", limits.bytes)));
    }
    Ok(())
}

fn unique(text: &str, limits: Limits) -> Result<Option<u64>, serde_json::Error> {
    let mut state = State { left: limits.values, limits, format: None };
    let mut document = serde_json::Deserializer::from_str(text);
    Checked { state: &mut state, depth: 0 }.deserialize(&mut document)?;
    document.end()?;
    Ok(state.format)
}

struct State {
    left: u64,
    limits: Limits,
    format: Option<u64>,
}

impl State {
    fn count<E: serde::de::Error>(&mut self, values: u64) -> Result<(), E> {
        let too_many = || E::custom(format!("it has more than {} values", self.limits.values));
        self.left = self.left.checked_sub(values).ok_or_else(too_many)?;
        Ok(())
    }
}

/// A value that is looked at and forgotten, but for the number that it is.
struct Checked<'s> {
    state: &'s mut State,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Checked<'_> {
    type Value = Option<u64>;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Option<u64>, D::Error> {
        self.state.count(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Checked<'_> {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Option<u64>, E> {
        Ok(Some(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Option<u64>, A::Error> {
        let depth = self.depth + 1;
        while values.next_element_seed(Checked { state: self.state, depth })?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Option<u64>, A::Error> {
        self.state.count(OBJECT)?;
        let mut keys = HashSet::new();
        let depth = self.depth + 1;
        while let Some(key) = entries.next_key::<String>()? {
            self.state.count(1)?;
            let value_of_format = depth == 1 && key == "format";
            if keys.contains(&key) {
                return Err(A::Error::custom(format!("the key {key:?} is there twice")));
            }
            keys.insert(key);
            let number = entries.next_value_seed(Checked { state: self.state, depth })?;
            if value_of_format {
                self.state.format = number;
            }
        }
        Ok(None)
    }
}

/// A JSON text that says the same but for what [`plain`](crate::plain_text::plain) replaces in texts and keys.
fn plain_json(text: &str) -> Cow<'_, str> {
    let (mut plain, mut copied) = (String::new(), 0);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        // A backslash is nowhere but in texts, and a raw control character is an error there and white space elsewhere.
        let end = match c {
            '\\' => match chars.next() {
                Some((_, 'b' | 'f' | 'r')) => at + 2,
                Some((_, 'u')) if !escaped(text, at + 2).is_none_or(is_plain) => at + 6,
                _ => continue,
            },
            c if c < ' ' || is_plain(c) => continue,
            c => at + c.len_utf8(),
        };
        if plain.is_empty() {
            plain.reserve(text.len());
        }
        plain.push_str(&text[copied..at]);
        plain.push(char::REPLACEMENT_CHARACTER);
        copied = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    plain.push_str(&text[copied..]);
    Cow::Owned(plain)
}

/// The character of four hexadecimal digits; none where there are no such digits, or half a pair.
fn escaped(text: &str, at: usize) -> Option<char> {
    let digits = text.get(at..at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::plain_text::make_plain;

    const LIMITS: Limits = Limits { bytes: 1_000, values: 40 };

    fn refused(text: &str) -> String {
        read::<Value>(text, LIMITS, 1).unwrap_err().to_string()
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_wherever_it_is() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"b":[{"c":{"a":1,"b":2,"a":3}}]}"#,
            r#"{"a":1,"\u0061":2}"#,
            // What is no key of its own once it is plain.
            r#"{"\u001b":1,"\u001c":2}"#,
        ] {
            let error = refused(text);
            assert!(error.contains("twice"), "{text}: {error}");
        }
        assert!(read::<Value>(r#"{"a":{"b":{"a":1}},"b":[{"a":1}]}"#, RECORD_LIMITS, 1).is_ok());
    }

    #[test]
    fn more_than_the_limits_is_refused() {
        assert!(refused(&format!("[\"{}\"]", "x".repeat(1_000))).contains("1000 bytes"));
        assert!(refused(&format!("[0{}]", ",0".repeat(40))).contains("40 values"));
        assert!(refused("[{},{},{},{},{}]").contains("40 values"));
        assert!(read::<Value>(&format!("[0{}]", ",0".repeat(38)), LIMITS, 1).is_ok());
        assert!(read::<Value>("[{},{},{},{}]", LIMITS, 1).is_ok());
        let deep = Limits { bytes: 1 << 20, values: 1 << 20 };
        let error = read::<Value>(&"[".repeat(100_000), deep, 1).unwrap_err().to_string();
        assert!(error.contains("recursion"), "{error}");
    }

    #[test]
    fn a_version_comes_before_whatever_else_is_wrong() {
        let of = |text: &str| read::<BTreeMap<String, u64>>(text, LIMITS, 1);
        assert!(matches!(of(r#"{"x":"no number","format":2}"#), Err(JsonError::Version(2))));
        assert!(matches!(of(r#"{"x":"no number","format":1}"#), Err(JsonError::Broken(_))));
        assert!(matches!(of(r#"{"x":{"format":2}}"#), Err(JsonError::Broken(_))));
        assert_eq!(of(r#"{"format":1}"#).unwrap()["format"], 1);
    }

    proptest! {
        #[test]
        fn texts_are_made_plain_as_those_of_a_tree_are(
            texts in proptest::collection::vec("[ -~\\x00-\\x20\\x7f-\\u{a5}\\u{2020}-\\u{2070}\\u{1f4a5}\"\\\\]{0,12}", 0..6),
            escape in any::<bool>(),
        ) {
            let quoted = |text: &String| {
                let quoted = serde_json::to_string(text).unwrap();
                let escaped = |c: char| match u32::from(c) {
                    code @ 0x7f..=0xffff if escape => format!("\\u{code:04X}"),
                    _ => c.to_string(),
                };
                quoted.chars().map(escaped).collect::<String>()
            };
            let document = format!("[\r\n{}]", texts.iter().map(quoted).collect::<Vec<_>>().join(",\t"));
            let mut due: Value = serde_json::from_str(&document).unwrap();
            make_plain(&mut due);
            let found: Value = serde_json::from_str(&plain_json(&document)).unwrap();
            prop_assert_eq!(found, due);
        }

        #[test]
        fn what_is_no_json_does_not_become_some(text in "[\\[\\]{}\",:0-9ux+b\\\\\\x1b\\x7f\\u{85}]{0,20}") {
            if serde_json::from_str::<Value>(&text).is_err() {
                prop_assert!(serde_json::from_str::<Value>(&plain_json(&text)).is_err());
            }
        }
    }
}
