//! Tests that cannot run here say why, and fail in CI.

use std::io::Write;

/// Says why a test is skipped. Written to stderr directly, because the test runner hides what a passing test prints.
///
/// # Panics
/// Where CI is set: everything is to be tested there.
pub fn skip(reason: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    assert!(
        std::env::var_os("CI").is_none(),
        "skipped where CI is set: {reason}"
    );
    // A closed stderr leaves no place to say it.
    let _ = writeln!(std::io::stderr(), "skipped {name}: {reason}");
}
