//! Text that is safe to print.

/// Escapes whatever would do more to a terminal than appear on it: control characters, and those that reorder text.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for char in text.chars() {
        let reorders = matches!(char, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        if char.is_control() || reorders {
            printable.extend(char.escape_default());
        } else {
            printable.push(char);
        }
    }
    printable
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
        assert_eq!(printable("größe 大 🚀"), "größe 大 🚀");
    }
}
