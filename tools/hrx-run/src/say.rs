//! What hrx-run itself says: on the standard error, and only where there is something to say.

use std::io::{self, Write};

/// One message, whose further lines are indented by their author. A standard error that is closed is no reason to fail.
pub fn say(message: &str) {
    let _ = writeln!(io::stderr(), "hrx-run: {message}");
}
