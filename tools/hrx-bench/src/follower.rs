//! A follower: a thread that reads a capture again and again while it is written.

use std::sync::atomic::{AtomicBool, Ordering};

use hrx_trace_reader::Trace;

/// Does `work` while another thread reads `trace` in a loop, without a pause.
pub fn followed<T>(trace: &mut Trace, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                trace.refresh();
                for _ in trace.events().take_while(|_| !over.load(Ordering::Relaxed)) {}
            }
        });
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}
