//! Reads arbitrary bytes as a trace: they are refused or read truthfully, without a panic, a hang or unbounded memory.
#![no_main]

use hrx_trace_fuzz::{read, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // Checksums would keep the fuzzer out, so the same bytes are read again with the checksums that a writer would have written.
    read(&sealed(bytes));
});
