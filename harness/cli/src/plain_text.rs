//! Texts that others wrote: workers and record files. On a terminal, control characters in them would be obeyed.

use serde_json::Value;

/// The text with a mark in the place of each control character other than a line end or a tab, and of characters that
/// change the direction of writing.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_plain(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// Makes all texts of a JSON value plain.
pub(crate) fn make_plain(value: &mut Value) {
    match value {
        Value::String(text) if !text.chars().all(is_plain) => *text = plain(text),
        Value::Array(values) => values.iter_mut().for_each(make_plain),
        Value::Object(entries) => {
            if entries.keys().any(|key| !key.chars().all(is_plain)) {
                *entries =
                    std::mem::take(entries).into_iter().map(|(key, value)| (plain(&key), value)).collect();
            }
            entries.values_mut().for_each(make_plain);
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a character is shown and not obeyed.
pub(crate) fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        _ => !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_terminal_would_obey_is_replaced_and_all_else_is_kept() {
        for text in ["", "a\tb\nc", "<b>\"quoted\"</b>", "± µs × “ü”", "日本語"] {
            assert_eq!(plain(text), text);
        }
        assert_eq!(plain("\u{1b}[31mred\u{7}\r\u{8}\u{7f}\u{9b}1m\u{202e}x\0"), "�[31mred�����1m�x�");
    }

    #[test]
    fn every_text_of_a_value_is_made_plain() {
        let mut value = json!({"a\u{1b}": ["\u{1b}", {"b": "\r"}], "c": 1, "d": null});
        make_plain(&mut value);
        assert_eq!(value, json!({"a�": ["�", {"b": "�"}], "c": 1, "d": null}));
    }
}
