//! Any bytes whatever, read as a trace: refused, or told truly, but never with a panic, a hang, or more memory than a bound.
#![no_main]

use hrx_trace_fuzz::{read, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // A checksum stops the fuzzer at the door: the same bytes again, with those checksums made right that a writer would have made.
    read(&sealed(bytes));
});
