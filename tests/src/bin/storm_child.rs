//! Records from several threads until it is killed, and tells through shared words what has returned: see `crash::storm`.

use std::error::Error;
use std::hint::spin_loop;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use hrx_trace::{Label, Options, Recorder};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::storm::{DIE_EXIT, DIE_PANIC, Kind, NAMES, Operation, Plan, word};
use nix::sys::resource::{Resource, setrlimit};

/// What the threads share.
struct Child {
    plan: Plan,
    recorder: Recorder,
    labels: [Label; 2],
    words: SharedWords,
    first: Instant,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(words), Some(plan)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("usage: storm_child TRACE WORDS PLAN".into());
    };
    let plan: Plan = plan.parse()?;
    // A core dump of each would take longer than all the rest.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let words = SharedWords::map(&PathBuf::from(words), word::count(plan.threads))?;
    let recorder = Options::new(plan.capacity)
        .rings(plan.rings)
        .label_bytes(4096)
        .populate(plan.populate)
        .create(path)?;
    let child = Arc::new(Child {
        labels: NAMES.map(|name| recorder.label(name)),
        plan,
        recorder,
        words,
        first: Instant::now(),
    });
    child.words.get(word::READY).store(1, Ordering::SeqCst);
    let threads: Vec<_> = (0..child.plan.threads)
        .map(|index| {
            let child = Arc::clone(&child);
            thread::spawn(move || child.record(index))
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")?;
    }
    Ok(())
}

impl Child {
    fn record(&self, thread: usize) {
        let tell = |which, value| {
            let word = self.words.get(word::of(thread, which));
            // Not to be moved behind what is recorded next.
            word.store(value, Ordering::SeqCst);
        };
        for index in 0.. {
            let operation = Operation::of(self.plan.seed, thread, index);
            let event = operation.event(&self.labels);
            let entered_at = self.recorder.claimed();
            tell(word::ENTERED_AT, entered_at);
            tell(word::STARTED, index + 1);
            if operation.kind == Kind::Record {
                let start = self.first + operation.start;
                self.recorder.record(start, operation.elapsed, event);
            } else {
                let mut region = self.recorder.begin(event);
                tell(word::BEGUN, index + 1);
                self.pause();
                if thread == 0 {
                    self.die_if_told(DIE_PANIC);
                }
                tell(word::ENDING, index + 1);
                match operation.kind {
                    Kind::Finish => {
                        region.set_copied_bytes(operation.finished_bytes);
                        region.finish();
                    }
                    Kind::Fail => region.fail(!operation.status),
                    _ => drop(region),
                }
            }
            tell(word::RETURNED, index + 1);
            let returned_at = self.recorder.claimed();
            if returned_at - entered_at >= self.plan.capacity {
                tell(word::LAPPED_AT, returned_at);
            }
            self.pause();
            if thread == 0 {
                self.die_if_told(DIE_EXIT);
            }
        }
    }

    fn pause(&self) {
        for _ in 0..self.plan.pause {
            spin_loop();
        }
    }

    fn die_if_told(&self, how: u64) {
        if self.words.get(word::DIE).load(Ordering::Relaxed) != how {
            return;
        }
        if how == DIE_EXIT {
            std::process::exit(0);
        }
        // What the runtime does where panics abort.
        std::panic::set_hook(Box::new(|_| std::process::abort()));
        panic!("told to");
    }
}
