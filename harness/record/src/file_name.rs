//! Names out of files that become names of files: ids, machine classes, commits. A path would lead elsewhere.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The most characters of a name that is part of a file's.
pub(super) const MOST_CHARS: usize = 200;

/// Names that Windows gives to devices, in every folder and with every extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Checks a run id, a machine class or a commit: 1 to 200 ASCII letters, digits, `-`, `_` and `.`, of which the first is a
/// letter or a digit, and not the name of a device.
///
/// # Errors
/// In words, when it is something else.
pub fn check_id(text: &str) -> Result<(), String> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let why = if text.is_empty() {
        "is empty"
    } else if text.chars().count() > MOST_CHARS {
        "has more than 200 characters"
    } else if !text.chars().all(is_known) {
        "has other characters than letters, digits, `-`, `_` and `.`"
    } else if !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        "does not begin with a letter or a digit"
    } else if is_device(text) {
        "is the name of a device on Windows"
    } else {
        return Ok(());
    };
    let shown: String = text.chars().take(60).collect();
    Err(format!("{shown:?} {why}, so that it cannot be part of a file name"))
}

/// Checks the name of a file that lies beside another one.
///
/// # Errors
/// In words, when it is a path, or no name of a file.
pub fn check_file_name(name: &str) -> Result<(), String> {
    let is_name = !matches!(name, "" | "." | "..")
        && name.len() <= 255
        && !name.contains(['/', '\\', ':'])
        && !name.chars().any(char::is_control)
        && !is_device(name);
    let shown: String = name.chars().take(60).collect();
    if is_name { Ok(()) } else { Err(format!("{shown:?} is not the name of a file in the same folder")) }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let numbered = |kind: &str| {
        let number = stem.strip_prefix(kind).unwrap_or_default();
        number.len() == 1 && number.chars().all(|c| c.is_ascii_digit())
    };
    DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt")
}

/// Reads an id; see [`check_id`].
///
/// # Errors
/// When its text is not an id.
pub fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, check_id)
}

/// Reads the name of a file; see [`check_file_name`].
///
/// # Errors
/// When its text is not the name of a file.
pub fn file_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked(deserializer, check_file_name)
}

/// Reads what a user calls a machine class, which may be any text that an id can be made of.
///
/// # Errors
/// When its text cannot become a class.
pub fn class_to_set<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let class = Option::<String>::deserialize(deserializer)?;
    if let Some(class) = &class {
        let checked = check_id(&slug(class));
        checked.map_err(|why| D::Error::custom(format!("the class {class:?} becomes {why}")))?;
    }
    Ok(class)
}

fn checked<'de, D: Deserializer<'de>>(
    deserializer: D,
    check: impl FnOnce(&str) -> Result<(), String>,
) -> Result<String, D::Error> {
    let text = Cow::<str>::deserialize(deserializer)?;
    check(&text).map_err(D::Error::custom)?;
    Ok(text.into_owned())
}

/// Lower-case letters, digits and single dashes: a key is a file name, too.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || c == '_' || c == '.' {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_no_path_and_no_device() {
        for id in [
            "20260101T000000Z-00042",
            "linux-x86_64-amd-epyc-9b14-16-2.6-2c",
            "r1",
            "0123abcd",
            "console",
            "com10",
        ] {
            assert_eq!(check_id(id), Ok(()));
        }
        let long = "x".repeat(201);
        for id in [
            "",
            ".",
            "..",
            "../../etc",
            "/etc",
            "a/b",
            "a\\b",
            "C:x",
            "~",
            "-rf",
            ".hidden",
            "a b",
            "ü",
            "a\0",
            "\n",
            "NUL",
            "con",
            "com1",
            "lpt9.json",
            &long,
        ] {
            let why = check_id(id).unwrap_err();
            assert!(why.contains("cannot be part of a file name"), "{id}: {why}");
        }
    }

    #[test]
    fn a_file_name_may_be_anything_but_a_path() {
        for name in ["run.samples.parquet", "größe 1.svg", "a..b", ".x", "-"] {
            assert_eq!(check_file_name(name), Ok(()));
        }
        for name in [
            "",
            ".",
            "..",
            "../x",
            "/x",
            "x/",
            "a\\b",
            "c:x",
            "a\u{1b}",
            "nul",
            "AUX.parquet",
            &"x".repeat(256),
        ] {
            assert!(check_file_name(name).is_err(), "{name}");
        }
    }
}
