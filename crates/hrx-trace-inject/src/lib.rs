//! A listener for programs that announce their steps through NVTX, ITT or ROCTX: each step becomes a region of a capture that survives the crash.
//!
//! The interfaces load this library into a program that knows nothing of it. So the program comes first. Invariants:
//! - After a name's first time, an announcement takes no lock, allocates nothing and makes no system call, except that a thread's first one asks for its id.
//! - What can fail or take long runs with the thread's cancellation off and its `errno` kept (`guest`), and a signal handler that comes in between finds no lock.
//! - Nothing is ever unloaded, and no thread-local has a destructor: announcements may come from exit handlers, destructors and threads that end.
//! - Whatever goes wrong, the program runs on as if this library were not there.
//!
//! All times are host-observed: driver and scheduling overhead are in them, and they are never device timestamps.

// Each uses only those below it.
mod itt;
mod nvtx;
mod roctx;

mod chain;
mod event;
mod ranges;
mod stacks;

mod registry;
mod text;

mod thread;

mod capture;
mod names;

mod table;

mod guest;

mod allocator;

mod pages;

mod abi;

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator::new();
