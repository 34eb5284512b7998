//! The styles of text. Colour only repeats what the words say, so it can be stripped.

use anstyle::{AnsiColor, Style};

pub const HEADING: Style = Style::new().bold();
pub const QUIET: Style = Style::new().dimmed();
pub const BAD: Style = AnsiColor::Red.on_default();
pub const GOOD: Style = AnsiColor::Green.on_default();
