//! Text for people: names of regions and lanes, quantities, sentences about captures, and lines and tables that a terminal shows safely.
//!
//! May use `input`, `output`. Within it, from the bottom up: `styles`, `printable`, `wrap`, `quantities` and `names`; `columns` and `words`.

pub mod columns;
pub mod names;
pub mod printable;
pub mod quantities;
pub mod styles;
pub mod words;
pub mod wrap;
