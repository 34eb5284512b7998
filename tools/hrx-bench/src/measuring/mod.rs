//! How anything is measured, whatever it is: what a contender does, the loops around it, rounds of samples, and what is computed from those.

pub mod contender;
pub mod harness;
pub mod loops;
pub mod statistics;
