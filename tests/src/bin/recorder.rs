//! A program that records where the environment says, and does what its arguments say, one after the other:
//!
//! - `begin=LABEL` begins a region that stays open, and `event=COUNT` records regions of a millisecond each;
//! - `sleep=MILLISECONDS` waits; `every=MILLISECONDS` records one event each time, until it is killed;
//! - `spawn=ARGUMENTS` starts another one and does not wait for it, `fork=ARGUMENTS` waits for it; their arguments are separated by commas;
//! - `leave-a-child=MILLISECONDS` forks a child that waits, with everything that this process has open, and then ends without a trace;
//! - `kill=NUMBER` kills itself by that signal, `exit=CODE` exits without having finished the capture.
//!
//! A line on the standard output, `recording`, says that its capture is there. At the end of its arguments it finishes the capture.

use std::env;
use std::error::Error;
use std::io::{Write, stdout};
use std::process::{self, Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hrx_trace::{Event, Tracer, lane};
use nix::libc;
use nix::sys::signal::{Signal, raise};
use nix::unistd::{ForkResult, fork};

fn main() -> Result<(), Box<dyn Error>> {
    let tracer = Tracer::default();
    tracer.start(1000)?;
    let recorder = tracer.recorder().ok_or("no recorder")?;
    println!("recording");
    stdout().flush()?;
    let mut open = Vec::new();
    for argument in env::args().skip(1) {
        let (step, value) = argument.split_once('=').ok_or("expected STEP=VALUE")?;
        match step {
            "begin" => {
                let label = recorder.label(value);
                open.push(recorder.begin(Event::new(lane::COMPUTE).label(label)));
            }
            "event" => {
                for _ in 0..value.parse()? {
                    record(&tracer);
                }
            }
            "sleep" => sleep(Duration::from_millis(value.parse()?)),
            "every" => loop {
                record(&tracer);
                sleep(Duration::from_millis(value.parse()?));
            },
            "spawn" => drop(start(value)?),
            "fork" => drop(start(value)?.wait()?),
            "leave-a-child" => leave_a_child(Duration::from_millis(value.parse()?))?,
            "kill" => raise(Signal::try_from(value.parse::<i32>()?)?)?,
            "exit" => process::exit(value.parse()?),
            _ => return Err(format!("unknown step {step}").into()),
        }
    }
    for region in open {
        region.finish();
    }
    tracer.finish();
    Ok(())
}

fn record(tracer: &Tracer) {
    const LENGTH: Duration = Duration::from_millis(1);
    let start = Instant::now();
    sleep(LENGTH);
    tracer.record(start, start.elapsed(), lane::UPLOAD, 4096, false);
}

fn leave_a_child(wait: Duration) -> Result<(), Box<dyn Error>> {
    // SAFETY: this process has one thread, so no other thread can leave the child's memory half-changed or a lock held.
    if let ForkResult::Child = unsafe { fork() }? {
        sleep(wait);
        // SAFETY: it ends this process.
        unsafe { libc::_exit(0) };
    }
    Ok(())
}

fn start(arguments: &str) -> Result<Child, Box<dyn Error>> {
    let mut command = Command::new(env::current_exe()?);
    command.args(arguments.split(','));
    // A pipe of the parent's would stay open.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.spawn()?)
}
