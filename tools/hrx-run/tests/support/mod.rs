//! What the tests of the command share.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod terminal;
pub mod ways;
