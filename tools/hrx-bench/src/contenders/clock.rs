//! Nothing at all: what the loop costs by itself, and with the caller's two clock reads in it.

use std::hint::black_box;

use crate::contender::{Contender, Fields};

pub struct Nothing;

impl Contender for Nothing {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        black_box(fields);
    }
}
