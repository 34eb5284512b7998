//! Nothing at all: what the loop costs by itself, or with only the caller's two clock reads.

use std::hint::black_box;

use crate::measuring::contender::{Contender, Fields};

pub struct Nothing;

impl Contender for Nothing {
    type Thread<'a> = ();

    fn thread(&self, _: usize) {}

    #[inline]
    fn event(&self, (): &mut (), fields: &Fields) {
        black_box(fields);
    }
}
