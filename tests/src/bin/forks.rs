//! Forks children while its threads record, and records in each:
//!
//! ```text
//! forks global|tracer|mute FOLDER CHILDREN
//! ```
//!
//! Child number i records ten marks with correlation id 1000 + i, begins a region with 2000 + i, and dies in it: by SIGKILL, by `_exit` or by `exit`, by turns.
//! A region with id 1 runs in the parent all the while.

use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use hrx_trace::{Event, OnFork, Options, Recorder, Tracer, lane, region, set_global};
use nix::libc;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};

static TRACER: Tracer = Tracer::new();

/// Marks that each child records.
const MARKS: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, folder, children] = &arguments[..] else {
        return Err("usage: forks global|tracer|mute FOLDER CHILDREN".into());
    };
    let options = Options::new(4096).finish_at_exit(true);
    let recorder = options.create_in(folder)?;
    match &mode[..] {
        "tracer" => {
            TRACER.on_fork(OnFork::Reopen);
            TRACER.start_with(recorder)?;
            parent(children.parse()?, begin_by_tracer, mark_by_tracer)
        }
        mode => {
            if mode == "global" {
                hrx_trace::on_fork(OnFork::Reopen);
            }
            set_global(recorder).map_err(|_| "there is a global recorder")?;
            parent(children.parse()?, begin_by_global, mark_by_global)
        }
    }
}

fn begin_by_tracer(id: u64) -> Box<dyn Send> {
    Box::new(TRACER.begin(Event::new(lane::COMPUTE).correlation_id(id)))
}

fn mark_by_tracer(id: u64) {
    let recorder: Option<Arc<Recorder>> = TRACER.recorder();
    mark(&recorder.expect("a capture runs"), id);
}

fn begin_by_global(id: u64) -> Box<dyn Send> {
    Box::new(region!("work", lane::COMPUTE, id = id))
}

fn mark_by_global(id: u64) {
    mark(hrx_trace::global(), id);
}

fn mark(recorder: &Recorder, id: u64) {
    let label = recorder.label(&format!("mark {}", id % 100));
    recorder.mark(Event::new(lane::HOST).label(label).correlation_id(id));
}

fn parent(
    children: u64,
    begin: fn(u64) -> Box<dyn Send>,
    mark: fn(u64),
) -> Result<(), Box<dyn Error>> {
    // It runs until the end.
    std::mem::forget(begin(1));
    let (begun, begins) = mpsc::channel();
    for _ in 0..3 {
        let begun = begun.clone();
        thread::spawn(move || {
            for id in 2.. {
                mark(id % 500);
                // What it does takes the locks that a child must not wait for.
                drop(begin(id % 500));
                if id == 2 {
                    let _ = begun.send(());
                }
            }
        });
    }
    begins.iter().take(3).count();
    let mut pids = Vec::new();
    for number in 0..children {
        // SAFETY: the child calls the recorder, which is what is tested, and leaves.
        match unsafe { fork() }? {
            ForkResult::Child => child(number, begin, mark),
            ForkResult::Parent { child } => pids.push(child),
        }
    }
    for pid in pids {
        waitpid(pid, None)?;
    }
    Ok(())
}

fn child(number: u64, begin: fn(u64) -> Box<dyn Send>, mark: fn(u64)) -> ! {
    for _ in 0..MARKS {
        mark(1000 + number);
    }
    let _running = begin(2000 + number);
    match number % 3 {
        0 => {
            let _ = raise(Signal::SIGKILL);
            unreachable!("it is dead")
        }
        // SAFETY: nothing of this process is needed any more.
        1 => unsafe { libc::_exit(0) },
        _ => std::process::exit(0),
    }
}
