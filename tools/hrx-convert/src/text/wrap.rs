//! Fitting text to a width, counted in columns of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The text, shortened to that width, with an ellipsis in its middle: labels often differ only at their end. `columns` is at least 1.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    // Some characters are wider together than each by itself.
    (0..columns)
        .rev()
        .map(|kept| without_middle(text, kept))
        .find(|short| short.width() <= columns)
        .unwrap_or_else(|| "…".to_owned())
}

/// At most that many columns of the text, half of them from its end.
fn without_middle(text: &str, columns: usize) -> String {
    let fitting = |mut left: usize| {
        move |char: &char| {
            let width = char.width().unwrap_or_default();
            let fits = width <= left;
            left = left.saturating_sub(width);
            fits
        }
    };
    let tail_columns = columns / 2;
    let tail: usize = text
        .chars()
        .rev()
        .take_while(fitting(tail_columns))
        .map(char::len_utf8)
        .sum();
    let head = text.chars().take_while(fitting(columns - tail_columns));
    // What has no width belongs to the character before it.
    let is_part = |char: char| char.width() == Some(0);
    let tail = text[text.len() - tail..].trim_start_matches(is_part);
    head.chain(['…']).chain(tail.chars()).collect()
}

/// Breaks text into lines of at most that width: at spaces, and inside words that are wider than a line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in text.split_inclusive(' ') {
        if width > 0 && width + word.trim_end().width() > columns {
            lines.push(String::new());
            width = 0;
        }
        for char in word.chars() {
            let wide = char.width().unwrap_or_default();
            if width + wide > columns {
                if char == ' ' {
                    continue;
                }
                lines.push(String::new());
                width = 0;
            }
            width += wide;
            if let Some(line) = lines.last_mut() {
                line.push(char);
            }
        }
    }
    lines
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cutting() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("longer", 5), "lo…er");
        assert_eq!(cut("longer", 4), "lo…r");
        assert_eq!(cut("大大大", 5), "大…大");
        assert_eq!(cut("大大大大", 4), "大…");
        assert_eq!(cut("longer", 1), "…");
        assert_eq!(cut("gemm<128, float>", 10), "gemm<…oat>");
        // An accent of its own, and a heart that the next character makes wide.
        assert_eq!(cut("abcdxe\u{301}f", 5), "ab…e\u{301}f");
        assert_eq!(cut("ab\u{301}cdefg", 5), "ab\u{301}…fg");
        assert!(cut(&"\u{2764}\u{fe0f}".repeat(9), 6).width() <= 6);
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_nothing_but_spaces_is_lost(text in "[a-z 大]{0,300}") {
            let lines = wrap(&text, 20);
            prop_assert!(lines.iter().all(|line| line.width() <= 20), "{lines:?}");
            prop_assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }
}
