//! Scatters numbers, so that ids which follow each other end up far apart.

/// SplitMix64's finalizer: a bijection, so two numbers never become one.
pub fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}
