//! Text that is safe to print: labels, names of files and programs, attributes and arguments come from others, and a terminal obeys what it is sent.
//!
//! Everything that is printed for people passes [`printable`], and JSON that is printed passes [`printable_json`].

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Escapes whatever would do more to a terminal than appear on it: control characters, and those that reorder text.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        if drives_terminals(char) {
            printable.extend(char.escape_default());
        } else {
            printable.push(char);
        }
    }
    printable
}

/// A path, safe to print.
pub fn printable_path(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// The same JSON, safe to print: serde_json escapes the control characters of ASCII, but neither those above nor what reorders text. `json` has
/// line ends only between its values.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    // Without a way out in between, this compares many bytes at once.
    let suspicious = |found, byte| found | (byte >= 0x7f);
    if !json.bytes().fold(false, suspicious) {
        return json.into();
    }
    let mut printable = String::with_capacity(json.len());
    for char in json.chars() {
        match char {
            char if char != '\n' && drives_terminals(char) => {
                let _ = write!(printable, "\\u{:04x}", u32::from(char));
            }
            char => printable.push(char),
        }
    }
    printable.into()
}

/// Control characters, those that reorder text, and those that end a line.
fn drives_terminals(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_label_cannot_drive_the_terminal() {
        assert_eq!(
            printable("a\u{1b}[2Jb\n\u{202e}c"),
            "a\\u{1b}[2Jb\\n\\u{202e}c"
        );
        assert_eq!(
            printable("\u{9b}2J\u{2028}\u{61c}"),
            "\\u{9b}2J\\u{2028}\\u{61c}"
        );
        assert_eq!(printable("größe 大 🚀"), "größe 大 🚀");
    }

    #[test]
    fn printable_json_is_the_same_json() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}\u{7f}\u{85}\u{2066}größe 大 🚀\n"});
        let json = serde_json::to_string_pretty(&value).expect("JSON");
        let safe = printable_json(&json);
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).ok(),
            Some(value)
        );
        assert!(!safe.replace('\n', "").contains(drives_terminals), "{safe}");
    }
}
