//! What the tests of the whole project share. The tests themselves stand in `tests/`, one file an idea.

pub mod crash;
