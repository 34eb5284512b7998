//! A program that traces itself and continues whatever becomes of its trace. The words of its command line are the steps that it takes:
//!
//!     host create t.hrxt 1000 record 5 pause record 5 finish
//!
//! It prints the outcome of each step that can fail, and "done" at the end. The tests in `tests/host_first.rs` drive it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::error::Error;
use std::iter::successors;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hrx_trace::{Event, Key, Label, Options, Recorder, Region, Tracer, Writer, lane};
use hrx_trace_reader::Trace;
use hrx_trace_tests::seccomp;
use nix::libc;
use nix::sys::pthread::{pthread_kill, pthread_self};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::wait::wait;
use nix::unistd::{ForkResult, Uid, fork, setuid};

static RECORDER: OnceLock<Recorder> = OnceLock::new();
static TRACER: OnceLock<Tracer> = OnceLock::new();

/// What the step `interrupt` did.
static INTERRUPTIONS: Mutex<Option<Receiver<()>>> = Mutex::new(None);

/// The one region of the steps `begin` and `end`.
static REGION: Mutex<Option<Region<&'static Recorder>>> = Mutex::new(None);

thread_local! {
    /// The one writer of the steps `write` and `give-back`.
    static WRITER: RefCell<Option<Writer<&'static Recorder>>> = const { RefCell::new(None) };
}

/// The words not yet used.
type Words = VecDeque<String>;

fn main() {
    run(std::env::args().skip(1).collect());
    println!("done");
}

fn run(mut words: Words) {
    while let Some(step) = words.pop_front() {
        perform(&step, &mut words);
    }
}

fn perform(step: &str, words: &mut Words) {
    if step == "fork" {
        return fork_off(words);
    }
    let mut word = || words.pop_front().expect("a step with all its words");
    match step {
        "create" => create(&word(), Options::new(number(&word()))),
        "create-for-writer" => create(&word(), Options::new(number(&word())).writers(1)),
        "create-noticing-exit" => {
            create(&word(), Options::new(number(&word())).finish_at_exit(true))
        }
        "create-beating" => {
            let (path, capacity) = (word(), number(&word()));
            let period = Duration::from_millis(number(&word()));
            create(&path, Options::new(capacity).heartbeat(period));
        }
        "trace" => trace(|tracer| tracer.start_at(word(), number(&word()))),
        "create-keeping" => create(&word(), Options::new(number(&word())).keep(number(&word()))),
        "expand" => match hrx_trace::expand_path(word()) {
            Ok(path) => println!("path {}", path.display()),
            Err(error) => println!("no path: {error}"),
        },
        "remove-oldest" => {
            let removed = hrx_trace::remove_oldest(word(), &word(), number(&word()));
            println!("removed {:?}", removed.expect("the folder can be listed"));
        }
        "fallback" => {
            let recorder = TRACER.get().and_then(Tracer::recorder);
            let recorder = recorder.expect("a `trace` before");
            println!("fallback {:?}", recorder.fallback());
        }
        "trace-anywhere" => trace(|tracer| tracer.start(number(&word()))),
        "untrace" => untrace(),
        "record" => (0..number(&word())).for_each(record),
        "write" => (0..number(&word())).for_each(write),
        "give-back" => WRITER.set(None),
        "begin" => *region() = begin(),
        // They are never ended.
        "hold" => (0..number(&word())).for_each(|_: u64| std::mem::forget(begin())),
        "regions" => {
            (0..number(&word())).for_each(|_: u64| begin().into_iter().for_each(Region::finish))
        }
        "end" => region().take().into_iter().for_each(Region::finish),
        "label" => println!(
            "label {:?}",
            RECORDER.get().map(|recorder| recorder.label("gemm"))
        ),
        "name" => println!("names {:?}", RECORDER.get().map(name)),
        "sync" => println!("sync {:?}", RECORDER.get().map(Recorder::sync)),
        "alive" => {
            RECORDER.get().into_iter().for_each(Recorder::alive);
            TRACER.get().into_iter().for_each(Tracer::alive);
        }
        "beats" => println!("beats {:?}", RECORDER.get().map(Recorder::has_heartbeat)),
        "finish" => RECORDER.get().into_iter().for_each(Recorder::finish),
        "pause" => pause(),
        "report" => report(&word()),
        "ask" => ask(&word()),
        "limit-file-size" => {
            let limit = number(&word());
            setrlimit(Resource::RLIMIT_FSIZE, limit, limit).expect("the limit can be lowered");
        }
        "refuse" => seccomp::refuse(&word(), number(&word())),
        "interrupt" => {
            let answers = seccomp::interrupt(&word(), number(&word()));
            *INTERRUPTIONS.lock().expect("no step panics") = Some(answers);
        }
        "interruptions" => {
            let answers = INTERRUPTIONS.lock().expect("no step panics");
            let count = answers.iter().flat_map(Receiver::try_iter).count();
            println!("interrupted {count}");
        }
        "interrupt-reservations-above" => seccomp::interrupt_reservations_above(number(&word())),
        "limit-memory" => {
            let limit = number(&word());
            setrlimit(Resource::RLIMIT_AS, limit, limit).expect("the limit can be lowered");
        }
        "no-descriptors" => {
            setrlimit(Resource::RLIMIT_NOFILE, 0, 0).expect("the limit can be lowered");
        }
        "chdir" => std::env::set_current_dir(word()).expect("the folder is there"),
        "chroot" => std::os::unix::fs::chroot(word()).expect("root may"),
        "setuid" => setuid(Uid::from_raw(number(&word()))).expect("root may"),
        "exec" => {
            let rest = words.drain(..);
            panic!("no exec: {}", this_program().args(rest).exec());
        }
        "sh" => println!(
            "sh {}",
            Command::new("sh")
                .args(["-c", &word()])
                .status()
                .expect("a shell")
        ),
        "wait" => println!("{:?}", wait().expect("a child")),
        "linger" => thread::sleep(Duration::from_secs(600)),
        "spawn-sleep" => println!(
            "child {}",
            sleeper().spawn().expect("sleep is installed").id()
        ),
        "exec-sleep" => panic!("no sleep: {}", sleeper().exec()),
        "signals" => signals(number(&word())),
        "threads" => threads(number(&word())),
        "thread-exits" => thread_exits(number(&word())),
        "at-exit" => at_exit(record_at_exit),
        "crash-at-exit" => at_exit(crash_at_exit),
        "exit" => std::process::exit(number(&word())),
        // SAFETY: the only thread, which does nothing else.
        "quick-exit" => unsafe { quick_exit(number(&word())) },
        // SAFETY: as above; no handlers run.
        "_exit" => unsafe { libc::_exit(number(&word())) },
        "abort" => std::process::abort(),
        "extremes" => extremes(),
        other => panic!("no step is called {other:?}"),
    }
}

fn number<N: FromStr>(word: &str) -> N {
    word.parse()
        .ok()
        .unwrap_or_else(|| panic!("{word:?} is not a number, or out of range"))
}

/// Begins a region, if there is a recorder.
fn begin() -> Option<Region<&'static Recorder>> {
    let recorder = RECORDER.get()?;
    Some(recorder.begin(Event::new(lane::NPU)))
}

/// Names something of each kind. What it returns shows whether each got its name.
fn name(recorder: &Recorder) -> (Label, usize, Key) {
    recorder.name_thread("named by itself");
    let lane = recorder.lane_in("NPU 0", "stream 0");
    (
        recorder.label_in("blas", "gemm"),
        lane,
        recorder.key("shape"),
    )
}

fn region() -> MutexGuard<'static, Option<Region<&'static Recorder>>> {
    REGION
        .lock()
        .expect("no step panics while it holds the lock")
}

fn create(path: &str, options: Options) {
    match options.create(path) {
        Ok(recorder) => {
            println!("created");
            if RECORDER.set(recorder).is_err() {
                println!("a recorder exists already");
            }
        }
        Err(error) => println!("no trace: {}", with_causes(&error)),
    }
}

/// The error's message and its causes', in one line.
fn with_causes(error: &dyn Error) -> String {
    let causes = successors(Some(error), |&error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

fn trace(start: impl FnOnce(&Tracer) -> hrx_trace::Result<()>) {
    let tracer = TRACER.get_or_init(Tracer::default);
    match start(tracer) {
        Ok(()) => println!("tracing {}", tracer.path().expect("it runs").display()),
        Err(error) => println!("no trace: {}", with_causes(&error)),
    }
}

fn untrace() {
    match TRACER.get().and_then(Tracer::finish) {
        Some(trace) => println!(
            "traced {} events, {} dropped",
            trace.events.len(),
            trace.dropped
        ),
        None => println!("traced nothing"),
    }
}

/// Records one event with each recorder and tracer that runs.
fn record(number: u64) {
    let start = Instant::now();
    if let Some(recorder) = RECORDER.get() {
        recorder.record(
            start,
            start.elapsed(),
            Event::new(lane::COMPUTE).correlation_id(number),
        );
    }
    if let Some(tracer) = TRACER.get() {
        tracer.record(start, start.elapsed(), lane::COMPUTE, 0, false);
    }
}

/// Records one event and one region with this thread's writer.
fn write(number: u64) {
    WRITER.with_borrow_mut(|writer| {
        let recorder = RECORDER.get().expect("a `create` before the first `write`");
        let writer = writer.get_or_insert_with(|| recorder.writer());
        let event = Event::new(lane::COMPUTE).correlation_id(number);
        writer.record(Instant::now(), Duration::ZERO, event);
        writer.begin(event).finish();
    });
}

/// Waits for a line, or for the end of the test.
fn pause() {
    println!("paused");
    let _ = std::io::stdin().read_line(&mut String::new());
}

/// Prints what a reader in this process finds in a file.
fn report(path: &str) {
    match Trace::open(path) {
        Ok(trace) => {
            let report = trace.report();
            println!(
                "{:?}: {} claimed, {} recovered, {} torn, {} open",
                report.ending,
                report.account.claimed,
                report.account.recovered,
                report.account.torn,
                report.open_regions.len(),
            );
        }
        Err(error) => println!(
            "no report: {error}: {:?}",
            std::error::Error::source(&error).map(ToString::to_string)
        ),
    }
}

/// Prints what a reader in another process finds in a file.
fn ask(path: &str) {
    let asked = this_program()
        .args(["report", path])
        .status()
        .expect("it can be run");
    assert!(asked.success());
}

fn this_program() -> Command {
    Command::new(std::env::current_exe().expect("this program"))
}

fn sleeper() -> Command {
    let mut sleep = Command::new("sleep");
    sleep.arg("600").stdin(Stdio::null()).stdout(Stdio::null());
    sleep
}

/// The child takes the steps up to the word `parent`; the parent continues after it.
fn fork_off(words: &mut Words) {
    let end = words
        .iter()
        .position(|word| word == "parent")
        .expect("the word `parent` after `fork`");
    let parents = words.split_off(end + 1);
    let mut child_words = std::mem::replace(words, parents);
    child_words.pop_back();
    // SAFETY: this process has one thread, so no other thread can leave the child's memory half-changed or a lock held.
    match unsafe { fork() }.expect("a fork") {
        ForkResult::Parent { child } => println!("forked {child}"),
        ForkResult::Child => {
            run(child_words);
            std::process::exit(0);
        }
    }
}

/// Number of runs of the signal handler.
static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn record_in_handler(_: libc::c_int) {
    record(HANDLED.fetch_add(1, Ordering::Relaxed));
    if let Some(recorder) = RECORDER.get() {
        recorder.begin(Event::new(lane::HOST)).finish();
    }
}

/// Records without pause while signals interrupt it at random instants, until the handler has recorded `count` times.
fn signals(count: u64) {
    let action = SigAction::new(
        SigHandler::Handler(record_in_handler),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    // SAFETY: the handler uses atomics and the recorder only, and the recorder promises to be async-signal-safe: that is under test.
    unsafe { sigaction(Signal::SIGUSR1, &action) }.expect("a handler");
    let main = pthread_self();
    let over = AtomicBool::new(false);
    let mut recorded = 0u64;
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                pthread_kill(main, Signal::SIGUSR1).expect("a signal");
                // Long enough for a few records in between, and never the same length.
                thread::sleep(Duration::from_micros(1));
            }
        });
        while HANDLED.load(Ordering::Relaxed) < count {
            record(recorded);
            if let Some(recorder) = RECORDER.get() {
                recorder.begin(Event::new(lane::HOST)).finish();
            }
            recorded += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    println!(
        "recorded {recorded} handled {}",
        HANDLED.load(Ordering::Relaxed)
    );
}

/// Records one event and one region on each of many threads.
fn threads(count: u64) {
    for index in 0..count {
        let short = move || {
            record(index);
            if let Some(recorder) = RECORDER.get() {
                recorder.begin(Event::new(lane::HOST)).finish();
            }
        };
        // One to three at a time.
        let threads: Vec<_> = (0..=index % 3).map(|_| thread::spawn(short)).collect();
        for thread in threads {
            thread.join().expect("the thread does not panic");
        }
    }
}

/// When the thread's variables are destroyed, records an event and drops a running region.
struct Last(Option<Region<&'static Recorder>>);

impl Drop for Last {
    fn drop(&mut self) {
        record(u64::MAX);
        self.0.take().into_iter().for_each(drop);
    }
}

thread_local! {
    static LAST: RefCell<Last> = const { RefCell::new(Last(None)) };
}

/// Threads that record only while they end, in a destructor registered before those of the recorder's and arc-swap's own variables.
fn thread_exits(count: u64) {
    for _ in 0..count {
        let thread = thread::spawn(|| {
            LAST.with_borrow_mut(|last| {
                last.0 = RECORDER
                    .get()
                    .map(|recorder| recorder.begin(Event::new(lane::HOST)));
            });
        });
        thread.join().expect("the thread does not panic");
    }
}

extern "C" fn record_at_exit() {
    record(u64::MAX);
    region().take().into_iter().for_each(Region::finish);
}

extern "C" fn crash_at_exit() {
    std::process::abort();
}

unsafe extern "C" {
    fn at_quick_exit(handler: extern "C" fn()) -> libc::c_int;
    fn quick_exit(code: libc::c_int) -> !;
}

/// Has the program do that as it exits.
fn at_exit(handler: extern "C" fn()) {
    // SAFETY: the handlers make calls that are allowed at any time, and do not unwind.
    let refused = unsafe { libc::atexit(handler) };
    assert_eq!(refused, 0);
    // SAFETY: as above.
    let refused = unsafe { at_quick_exit(handler) };
    assert_eq!(refused, 0);
}

/// Values that do not fit, and starts before the capture or in the future.
fn extremes() {
    let Some(recorder) = RECORDER.get() else {
        return;
    };
    let now = Instant::now();
    let long_ago = now - Duration::from_secs(1000);
    let far_off = now + Duration::from_secs(1 << 60);
    recorder.record(
        now,
        Duration::MAX,
        Event::new(usize::MAX)
            .copied_bytes(u64::MAX)
            .status(u32::MAX),
    );
    recorder.record(far_off, Duration::MAX, Event::new(0));
    recorder.record(long_ago, Duration::MAX, Event::new(0));
    recorder.record(long_ago, Duration::ZERO, Event::new(usize::MAX));
    recorder.begin(Event::new(usize::MAX)).fail(u32::MAX);
}
