//! Figures: statistics of regions, when lanes were busy, the facts of a capture, and the documents that hold them.
//!
//! May use `text`, `input`, `output`. Within it, from the bottom up: `exact`, `largest` and `spill`; `arguments` and `sweep`; `distribution`, `durations` and
//! `measures`; `groups`, `moments`, `slowest` and `statistics`; `facts` and `metadata`; `digest` and `digest_builder`; `expect`; `verdict`.

pub mod arguments;
pub mod digest;
pub mod digest_builder;
pub mod distribution;
pub mod durations;
pub mod exact;
pub mod expect;
pub mod facts;
pub mod groups;
pub mod largest;
pub mod measures;
pub mod metadata;
pub mod moments;
pub mod slowest;
pub mod spill;
pub mod statistics;
pub mod sweep;
pub mod verdict;
