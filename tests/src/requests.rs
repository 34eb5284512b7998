//! What the server `requests` and the test that kills it have to agree on.

/// Requests in flight, besides the one that blocks.
pub const IN_FLIGHT: usize = 5_000;
/// Threads that serve them.
pub const THREADS: usize = 2;
/// The number of the request that blocks: its correlation id.
pub const BLOCKED: u64 = 777_777_777;

/// The words that both map.
pub mod word {
    /// Regions whose `begin` was called.
    pub const BEGINNING: usize = 0;
    /// Regions whose `begin` has returned.
    pub const BEGUN: usize = 1;
    /// Regions whose `finish` was called.
    pub const ENDING: usize = 2;
    /// Regions whose `finish` has returned.
    pub const ENDED: usize = 3;
    /// 1: the request that blocks has begun.
    pub const BLOCKED: usize = 4;
    /// How many words there are.
    pub const COUNT: usize = 5;
}
