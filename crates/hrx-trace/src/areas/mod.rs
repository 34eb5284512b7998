//! The areas of the mapped file, as the recorder writes them: the counters, the open table, the name table and the rings. They know of memory and of the
//! slot protocol, and not of each other.

mod control_lines;
mod counters;
mod names;
mod open_table;
mod ring;

pub use self::control_lines::ControlLines;
pub use self::counters::{Counter, CounterLines};
pub use self::names::{Group, Names, Refused};
pub use self::open_table::{LINES, OpenTable};
pub use self::ring::{OwnRing, Ring};
