//! Child processes that record, are stopped or killed, and leave a file to be judged.

pub mod exchange;
pub mod hot;
pub mod kinds;
pub mod pair;
pub mod script;
pub mod shared_words;
pub mod stepping;
pub mod storm;
pub mod tracee;
pub mod way;
