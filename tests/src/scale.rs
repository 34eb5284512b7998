//! How often a test repeats what it does: `tests/run big` asks for more.

/// `usual`, or `big` where `HRX_TEST_BIG` is set.
#[must_use]
pub fn repetitions(usual: u32, big: u32) -> u32 {
    match std::env::var_os("HRX_TEST_BIG") {
        Some(_) => big,
        None => usual,
    }
}
