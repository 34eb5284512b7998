//! Damage that no slot's verdict covers: a bad page, a cut file, a counter or a name that contradicts the records.

/// Damage outside the records: where, what was found, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Damage {
    /// Its offset in the file, in bytes.
    pub offset: u64,
    /// What was found and what was expected, for people.
    pub what: String,
}
