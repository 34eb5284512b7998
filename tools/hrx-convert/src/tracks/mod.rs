//! What viewers draw, and where: lanes and their sub-lanes, thread ids, arrows, copy rates, marks of the capture.
//!
//! May use `figures`, `text`, `input`, `output`.

pub mod by_lane;
pub mod copy_rates;
pub mod extras;
pub mod flows;
pub mod lanes;
pub mod marks;
pub mod mix;
pub mod names;
pub mod threads;
pub mod tids;
