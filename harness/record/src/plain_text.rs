//! Texts that others wrote: workers, record files, builds, configurations. On a terminal, control characters in them would
//! be obeyed; in the log of a CI job, so would lines that look like commands to its runner.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// Stands in the place of what would be obeyed.
const MARK: char = char::REPLACEMENT_CHARACTER;

/// The styles that the renderers, their tables and the help use, as parameters of the escape sequence that ends with `m`.
/// Others are not kept: one of them hides text.
const STYLES: [&str; 10] = ["0", "1", "4", "31", "32", "33", "39", "38;5;9", "38;5;10", "38;5;11"];

/// Beginnings of a command to a runner, at any place of a line: those of GitHub, and of others that took them up.
const AFTER_HASHES: [&str; 3] = ["[", "vso[", "teamcity["];

/// The text with a mark in the place of each control character other than a line end or a tab, and of characters that
/// change the direction of writing.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_plain(c) { c } else { MARK }).collect()
}

/// The text as a terminal and the log of a job may have it: plain, and with no command to a runner in it.
pub fn unstyled(text: &str) -> String {
    uncommanded(&plain(text))
}

/// As [`unstyled`], for a text with styles of ours in it. What others wrote in it must be plain already, because nothing
/// tells their styles from ours.
pub fn styled(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let style = style_at(rest);
        if let Some(length) = style {
            out.push_str(&rest[..length]);
        } else {
            out.push(if is_plain(c) { c } else { MARK });
        }
        rest = &rest[style.unwrap_or(c.len_utf8())..];
    }
    uncommanded(&out)
}

/// JSON with escapes in its texts for what a terminal or a runner would obey, so that it means the same.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = '\0';
    for c in text.chars() {
        // Outside of its texts JSON has neither.
        if !is_plain(c) || (before == '#' && c == '#') {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Makes all texts of a JSON value plain.
pub fn make_plain(value: &mut Value) {
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

/// Whether nobody obeys this character.
pub fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        _ => !c.is_control(),
    }
}

/// The length of the style that the text begins with, if it is one of ours.
fn style_at(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let is_ours = parameters[end..].starts_with('m') && STYLES.contains(&&parameters[..end]);
    is_ours.then_some("\u{1b}[".len() + end + 1)
}

/// The text with a mark before or in whatever a runner would take for a command: a line that begins with `::`, and `##[`
/// anywhere. GitHub's runner trims lines, and compares by rules of language that pass over characters without a shape.
fn uncommanded(text: &str) -> String {
    text.split('\n').map(uncommanded_line).collect::<Vec<_>>().join("\n")
}

fn uncommanded_line(line: &str) -> Cow<'_, str> {
    let begins_one = begin(seen(line).map(|(_, c)| c).skip_while(|c| c.is_whitespace()), "::");
    // Nearly all lines are neither, and some texts have a million.
    if !begins_one && !line.contains('#') {
        return line.into();
    }
    let seen: Vec<(usize, char)> = seen(line).collect();
    let has = |at: usize, word: &str| begin(seen.iter().skip(at).map(|(_, c)| *c), word);
    let mut out = String::with_capacity(line.len() + MARK.len_utf8());
    let mut copied = 0;
    let mut mark = |at: usize| {
        out.push_str(&line[copied..at]);
        out.push(MARK);
        copied = at;
    };
    if begins_one {
        mark(0);
    }
    for (number, pair) in seen.windows(2).enumerate() {
        if has(number, "##") && AFTER_HASHES.iter().any(|word| has(number + 2, word)) {
            mark(pair[1].0);
        }
    }
    out.push_str(&line[copied..]);
    out.into()
}

/// Whether the characters begin with the word.
fn begin(characters: impl Iterator<Item = char>, word: &str) -> bool {
    characters.take(word.len()).eq(word.chars())
}

/// The characters of a line that can be a part of a command, with their offsets.
fn seen(line: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut behind_style = 0;
    line.char_indices().filter(move |(at, c)| {
        if let Some(length) = style_at(&line[*at..]) {
            behind_style = at + length;
        }
        *at >= behind_style && !is_shapeless(*c)
    })
}

/// The characters that Unicode lets programs ignore.
fn is_shapeless(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_replaced_and_all_else_is_kept() {
        for text in ["", "a\tb\nc", "<b>\"quoted\"</b>", "± µs × “ü”", "日本語"] {
            assert_eq!(plain(text), text);
            assert_eq!(unstyled(text), text);
            assert_eq!(styled(text), text);
        }
        assert_eq!(plain("\u{1b}[31mred\u{7}\r\u{8}\u{7f}\u{9b}1m\u{202e}x\0"), "�[31mred�����1m�x�");
    }

    #[test]
    fn every_text_of_a_value_is_made_plain() {
        let mut value = json!({"a\u{1b}": ["\u{1b}", {"b": "\r"}], "c": 1, "d": null});
        make_plain(&mut value);
        assert_eq!(value, json!({"a�": ["�", {"b": "�"}], "c": 1, "d": null}));
    }

    #[test]
    fn styles_of_ours_are_kept_and_no_other_sequence() {
        let style = anstyle::AnsiColor::Red.on_default().bold();
        let ours = format!("{style}x{style:#} \u{1b}[38;5;10mtable\u{1b}[39m");
        assert_eq!(styled(&ours), ours);
        let theirs = "\u{1b}[8mhidden \u{1b}[2J \u{1b}]0;title\u{7} \u{1b}[1 \u{1b}[1A\u{1b}";
        assert_eq!(styled(theirs), "�[8mhidden �[2J �]0;title� �[1 �[1A�");
        assert!(!unstyled(&ours).contains('\u{1b}'));
    }

    #[test]
    fn no_line_is_a_command_to_a_runner() {
        let table = [
            ("::error::x", "�::error::x"),
            ("fine\n \t ::error::x\nfine", "fine\n� \t ::error::x\nfine"),
            ("\u{a0}\u{2003}::set-env name=A::x", "�\u{a0}\u{2003}::set-env name=A::x"),
            // As the runner sees it: soft hyphens and joiners are not there.
            ("\u{ad}:\u{200d}:error::x", "�\u{ad}:\u{200d}:error::x"),
            ("text ##[add-mask]x", "text #�#[add-mask]x"),
            ("###[error]x ##vso[task.setvariable]y", "##�#[error]x #�#vso[task.setvariable]y"),
            ("##teamcity[x]", "#�#teamcity[x]"),
            ("#\u{200b}#\u{ad}[error]x", "#\u{200b}�#\u{ad}[error]x"),
        ];
        for (text, due) in table {
            assert_eq!(unstyled(text), due, "{text:?}");
        }
        assert_eq!(styled("\u{1b}[1m::error::x"), "�\u{1b}[1m::error::x");
        for text in
            ["std::io::Error", "a ::b", "## heading", "### ✖ perfharness", "C# # [1]", ": :x", "##", "#"]
        {
            assert_eq!(unstyled(text), text);
        }
    }

    #[test]
    fn json_means_the_same_and_has_nothing_that_is_obeyed() {
        let value = json!({"a": "\u{9b}1m \u{7f} \u{202e} ##[error]x ###", "\u{85}": "::error::y\n::z"});
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(text, unstyled(&text));
        assert!(!text.contains("##"));
    }
}
