//! Records from several threads until it is killed, and notes in shared words which calls have returned: see `crash::storm`.

use std::error::Error;
use std::hint::spin_loop;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hrx_trace::{Key, Label, Options, Recorder, Value};
use hrx_trace_reader::Trace;
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::storm::{
    DIE_EXIT, DIE_PANIC, KEYS, Kind, Load, NAMES, Operation, Plan, word,
};
use hrx_trace_tests::crash::way::Way;
use nix::sys::resource::{Resource, setrlimit};

/// What the threads share.
struct Child {
    plan: Plan,
    recorder: Arc<Recorder>,
    labels: [Label; 2],
    keys: [Key; 2],
    words: SharedWords,
    /// The trace, mapped.
    trace: SharedWords,
    /// For each shared ring, the word of the trace that counts its tickets.
    claimed: Vec<usize>,
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
    // Core dumps of thousands of children would take longer than everything else.
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    let words = SharedWords::map(&PathBuf::from(words), word::count(plan.authors()))?;
    let recorder = Options::new(plan.capacity)
        .rings(plan.rings)
        .writers(plan.writers)
        .name_bytes(4096)
        .populate(plan.populate)
        .open_regions(plan.open_regions)
        .heartbeat(Duration::from_micros(plan.heartbeat_us))
        .create(&path)?;
    let trace = Trace::open(&path)?;
    let claimed = (0..plan.rings).map(|ring| trace.identity().control_line(ring) as usize / 8);
    let child = Arc::new(Child {
        labels: NAMES.map(|name| recorder.label(name)),
        keys: KEYS.map(|key| recorder.key(key)),
        claimed: claimed.collect(),
        trace: SharedWords::of_file(Path::new(&path))?,
        plan,
        recorder: Arc::new(recorder),
        words,
        first: Instant::now(),
    });
    let (introduced, introduction) = mpsc::channel();
    let threads = (0..child.plan.threads)
        .map(|index| {
            let (child, introduced) = (Arc::clone(&child), introduced.clone());
            let thread = thread::spawn(move || {
                // One thread at a time: the recorder gives rings in the order in which threads first use it.
                drop(child.recorder.writer());
                introduced.send(()).expect("the main thread waits");
                child.run(index);
            });
            introduction.recv().map(|()| thread)
        })
        .collect::<Result<Vec<_>, _>>()?;
    child.words.get(word::READY).store(1, Ordering::SeqCst);
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")?;
    }
    Ok(())
}

impl Child {
    /// Records as thread `thread`, with the writers planned for it.
    fn run(&self, thread: usize) {
        while self.words.get(word::READY).load(Ordering::Acquire) == 0 {
            thread::yield_now();
        }
        if thread >= self.plan.writing {
            // By turns through regions that borrow the recorder, and through such as own a share of it.
            return match thread % 2 {
                0 => self.record(thread, &*self.recorder, u64::MAX),
                _ => self.record(thread, &self.recorder, u64::MAX),
            };
        }
        for tenure in 0..self.plan.tenures {
            let is_last = tenure + 1 == self.plan.tenures;
            let author = self.plan.author(thread, tenure);
            let writer = self.recorder.writer();
            self.tell(author, word::OWN_RING, u64::from(writer.has_own_ring()));
            let count = if is_last { u64::MAX } else { self.plan.tenure };
            self.record(author, &writer, count);
        }
    }

    fn tell(&self, author: usize, which: usize, value: u64) {
        let word = self.words.get(word::of(author, which));
        // SeqCst: must not move past the records that follow.
        word.store(value, Ordering::SeqCst);
    }

    /// Records `count` operations of `author`.
    fn record(&self, author: usize, way: &impl Way, count: u64) {
        let thread = self.plan.thread(author);
        let claimed_word = self.claimed[self.plan.shared_ring(author)];
        let claimed = || self.trace.get(claimed_word).load(Ordering::SeqCst);
        let tell = |which, value| self.tell(author, which, value);
        let mut tickets = 0;
        for index in 0..count {
            let operation = Operation::of(self.plan.seed, author, index);
            let event = operation.event(&self.labels);
            let entered_at = claimed();
            tell(word::ENTERED_AT, entered_at);
            tickets += operation.kind.tickets();
            tell(word::TICKETS, tickets);
            tell(word::STARTED, index + 1);
            let load = operation.load();
            let arguments: Vec<_> = load.iter().map(|load| self.argument(load)).collect();
            if operation.kind == Kind::Record {
                let start = self.first + operation.start;
                way.record(start, operation.elapsed, event);
            } else if operation.kind == Kind::Mark {
                way.mark_with(event, &arguments);
            } else if operation.kind == Kind::Value {
                way.value_with(event, operation.number(), &arguments);
            } else {
                let mut region = way.begin(event);
                tell(word::BEGUN, index + 1);
                for (key, value) in arguments {
                    region.argument(key, value);
                }
                if operation.kind == Kind::Changed {
                    region.set_label(self.labels[operation.other_name() - 1]);
                    region.waiting();
                }
                self.pause();
                if thread == 0 {
                    self.die_if_told(DIE_PANIC);
                }
                tell(word::ENDING, index + 1);
                match operation.kind {
                    Kind::Finish => {
                        region.finish_with(|event| event.copied_bytes(operation.finished_bytes));
                    }
                    Kind::Fail => region.fail(!operation.status),
                    Kind::Cancel => region.cancel(),
                    Kind::Changed | Kind::Laden => region.finish(),
                    _ => drop(region),
                }
            }
            tell(word::RETURNED, index + 1);
            let returned_at = claimed();
            if returned_at - entered_at >= self.plan.capacity {
                tell(word::LAPPED_AT, returned_at);
            }
            self.pause();
            if thread == 0 {
                self.die_if_told(DIE_EXIT);
            }
        }
        tell(word::ENTERED_AT, word::OVER);
    }

    fn argument<'load>(&self, load: &'load Load) -> (Key, Value<'load>) {
        let key = self.keys[load.key()];
        match load {
            Load::Number(number) => (key, Value::from(*number)),
            Load::Text(text) => (key, Value::from(text.as_str())),
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
        // What a program compiled with panic=abort does.
        std::panic::set_hook(Box::new(|_| std::process::abort()));
        panic!("the parent asked for it");
    }
}
