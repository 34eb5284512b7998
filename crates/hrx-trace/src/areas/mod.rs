//! The areas of the mapped file, as the recorder writes them: the counters, the open table, the label table and the rings. They know of memory and of the
//! slot protocol, and not of each other.

mod counters;
mod labels;
mod open_table;
mod ring;

pub use self::counters::{Counter, CountersLine};
pub use self::labels::Labels;
pub use self::open_table::OpenTable;
pub use self::ring::{OwnRing, Ring};
