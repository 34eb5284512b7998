//! Proves: the layer allocates nothing that the bare registry does not, once a callsite and a thread have been there.
//!
//! How: the same program under the bare registry and under one with the layer, after a first turn of each; a global allocator counts by thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use hrx_trace::Options;
use tracing::{Dispatch, error, info, info_span};
use tracing_subscriber::prelude::*;

/// The system's allocator, counting its calls.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed to `System` unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's guarantees are those that `System` requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A program's turn: spans within spans, fields of all kinds, values that come later, events, failures, a span that is kept.
fn turn(kept: &mut Vec<tracing::Span>) {
    let later = tracing::field::Empty;
    let request = info_span!("request", method = "GET", path = %"/orders/7", size = 3, later);
    for _ in 0..3 {
        request.in_scope(|| {
            info_span!("query", sql = ?"SELECT 1", lane = 1, correlation_id = 7_u64).in_scope(
                || {
                    info!(rows = 3, share = 0.5, "found {} rows", 3);
                    error!(error = "broken", "no luck");
                },
            );
        });
        request.record("later", "now");
    }
    kept.push(request);
    if kept.len() == 100 {
        kept.clear();
    }
}

/// How many allocations 1,000 turns take under `dispatch`, after as many before.
fn allocations(dispatch: &Dispatch) -> u64 {
    tracing::dispatcher::with_default(dispatch, || {
        let mut kept = Vec::with_capacity(100);
        let mut turns = || (0..1_000).for_each(|_| turn(&mut kept));
        turns();
        let before = ALLOCATIONS.get();
        turns();
        ALLOCATIONS.get() - before
    })
}

#[test]
fn the_layer_allocates_nothing_more_than_the_registry() {
    let bare = allocations(&tracing_subscriber::registry().into());
    let folder = tempfile::tempdir().expect("a folder");
    for whole in [false, true] {
        let path = folder.path().join(format!("{whole}.hrxt"));
        let recorder = Arc::new(Options::new(10_000).create(path).expect("a capture"));
        let layer = hrx_trace_tracing::layer(Arc::clone(&recorder));
        let layer = if whole { layer.whole_spans() } else { layer };
        let with_layer = allocations(&tracing_subscriber::registry().with(layer).into());
        assert!(recorder.claimed() > 10_000);
        println!(
            "1,000 turns: {bare} allocations by the bare registry, {with_layer} with the layer"
        );
        assert!(with_layer <= bare);
    }
    let one = Cell::new(None);
    let before = ALLOCATIONS.get();
    one.set(Some(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1, "the allocator counts");
}
