//! Integers in JSON that no reader rounds.

use serde::{Serialize, Serializer};

/// An integer that every reader of JSON gets exactly: a number up to 2^53, a string above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exact(pub u64);

impl Exact {
    /// Doubles hold every integer up to this one.
    pub const NUMBER_MAX: u64 = 1 << 53;

    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl Serialize for Exact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value @ ..=Self::NUMBER_MAX => serializer.serialize_u64(value),
            value => serializer.collect_str(&value),
        }
    }
}

/// A sum as [`Exact`]; [`u64::MAX`] stands for anything larger.
pub fn saturated(sum: u128) -> Exact {
    Exact(u64::try_from(sum).unwrap_or(u64::MAX))
}
