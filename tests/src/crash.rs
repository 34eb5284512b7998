//! Child processes that record, are stopped or killed, and leave a file to be judged.

pub mod hot;
pub mod pair;
pub mod script;
pub mod shared_words;
pub mod storm;
pub mod tracee;
pub mod way;
