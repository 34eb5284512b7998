//! Text for people: names of regions and lanes, quantities, sentences about captures, and lines and tables that fit a terminal.
//!
//! May use `input`, `output`. Within it, from the bottom up: `styles`, `wrap`, `quantities` and `names`; `columns` and `words`.

pub mod columns;
pub mod names;
pub mod quantities;
pub mod styles;
pub mod words;
pub mod wrap;
