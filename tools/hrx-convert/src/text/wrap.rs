//! Fitting text to a width, counted in columns of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of a line of text for people.
pub const LINE_COLUMNS_MAX: usize = 100;

/// The beginning of the text that fits, with an ellipsis if there is more. `columns` is at least 1.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut left = columns - 1;
    let kept = text.chars().take_while(|char| {
        let width = char.width().unwrap_or_default();
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    });
    kept.chain(['…']).collect()
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
        assert_eq!(cut("longer", 5), "long…");
        assert_eq!(cut("大大大", 5), "大大…");
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
