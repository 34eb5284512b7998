//! Child processes that record, are stopped or killed, and leave a file to be judged.

pub mod hot;
pub mod pair;
pub mod script;
pub mod shared_words;
pub mod storm;
pub mod tracee;
pub mod way;

/// The seed of all random choices: HRX_TEST_SEED, or a fresh one. Printed so that a failure can be repeated.
///
/// # Panics
/// If HRX_TEST_SEED is not a number.
#[must_use]
pub fn seed() -> u64 {
    let seed = match std::env::var("HRX_TEST_SEED") {
        Ok(seed) => seed.parse().expect("HRX_TEST_SEED is a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("HRX_TEST_SEED={seed}");
    seed
}
