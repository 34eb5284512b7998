//! Random choices that can be made again: each test prints its seed, and `HRX_TEST_SEED` repeats it.

use fastrand::Rng;

/// The random numbers of the test `name`; prints the seed that gives them again.
///
/// # Panics
/// If `HRX_TEST_SEED` is set and no number.
#[must_use]
pub fn rng(name: &str) -> Rng {
    let seed = match std::env::var("HRX_TEST_SEED") {
        Ok(seed) => seed.parse().expect("HRX_TEST_SEED is a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("{name}: HRX_TEST_SEED={seed}");
    Rng::with_seed(seed)
}
