//! A program whose main thread leaves by `pthread_exit`, while captures with heartbeats run:
//!
//! ```text
//! main_leaves WORK_MILLISECONDS PERIOD_MILLISECONDS FILE…
//! ```
//!
//! It begins a capture in each file, and has another thread work for that long. It has no main function of Rust's, which `pthread_exit` must not leave.
#![no_main]

use std::thread;
use std::time::Duration;

use hrx_trace::Options;
use nix::libc;

unsafe extern "C-unwind" {
    fn pthread_exit(value: *mut libc::c_void) -> !;
}

/// Called by the C library.
// SAFETY: no other function has this name, and the C library calls it with arguments that a C function may leave unread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn main() -> libc::c_int {
    begin();
    // SAFETY: this frame and its callers have nothing to drop.
    unsafe { pthread_exit(std::ptr::null_mut()) }
}

fn begin() {
    let mut arguments = std::env::args().skip(1);
    let mut milliseconds = || {
        let number = arguments.next().and_then(|number| number.parse().ok());
        Duration::from_millis(number.expect("a number"))
    };
    let (work, period) = (milliseconds(), milliseconds());
    for path in arguments {
        let options = Options::new(16).heartbeat(period).finish_at_exit(true);
        let recorder = options.create(&path).expect("a capture");
        assert!(recorder.has_heartbeat());
        // It is left as it is.
        std::mem::forget(recorder);
    }
    thread::spawn(move || {
        println!("works");
        thread::sleep(work);
    });
}
