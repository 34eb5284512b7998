//! Repeatable random choices: each test prints its seed, and setting `HRX_TEST_SEED` to it repeats the run.

use fastrand::Rng;

/// The random numbers of the test `name`; prints the seed that repeats them.
///
/// # Panics
/// If `HRX_TEST_SEED` is set to something other than a number.
#[must_use]
pub fn rng(name: &str) -> Rng {
    Rng::with_seed(seed(name))
}

/// The seed of the test `name`, printed: `HRX_TEST_SEED`, or a new one.
///
/// # Panics
/// If `HRX_TEST_SEED` is set to something other than a number.
#[must_use]
pub fn seed(name: &str) -> u64 {
    let seed = match std::env::var("HRX_TEST_SEED") {
        Ok(seed) => seed.parse().expect("HRX_TEST_SEED is a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("{name}: HRX_TEST_SEED={seed}");
    seed
}
