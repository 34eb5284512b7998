//! A server under load: thousands of requests in flight on a tokio runtime of two threads, of which one blocks its thread for ever.
//!
//! ```text
//! requests OPEN_REGIONS WORDS FILE
//! ```
//!
//! Each request is a region: it waits, as a task does that is not being polled, runs again, and ends; then the next one takes its place. After a while the request
//! [`BLOCKED`] stops in the middle of its work. The words say how many began and ended, so that the test knows how many were in flight when it killed the process.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hrx_trace::{Event, Label, Options, Recorder, lane};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::requests::{BLOCKED, IN_FLIGHT, THREADS, word};

/// What all requests share. It lives as long as the process.
struct Server {
    recorder: Recorder,
    words: SharedWords,
    request: Label,
    /// The next request's number.
    next: AtomicU64,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut argument = || arguments.next().expect("an argument");
    let open_regions = argument().parse().expect("a number of open regions");
    let words = SharedWords::map(argument().as_ref(), word::COUNT).expect("the words");
    let options = Options::new(100_000).open_regions(open_regions);
    let recorder = options.create(argument()).expect("a capture");
    let server: &'static Server = Box::leak(Box::new(Server {
        request: recorder.label_in("server", "request"),
        recorder,
        words,
        next: AtomicU64::new(1),
    }));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_time()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for _ in 0..IN_FLIGHT {
            tokio::spawn(server.requests());
        }
        server.blocked().await;
    });
}

impl Server {
    /// Serves one request after the other.
    async fn requests(&self) {
        let mut random = fastrand::Rng::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            self.add(word::BEGINNING);
            let event = Event::new(lane::HOST).label(self.request);
            let mut region = self.recorder.begin(event.correlation_id(number));
            self.add(word::BEGUN);
            region.waiting();
            tokio::time::sleep(Duration::from_millis(random.u64(1..400))).await;
            region.running();
            self.add(word::ENDING);
            region.finish();
            self.add(word::ENDED);
        }
    }

    /// The request that hangs, once all others are in flight. It is on a thread of its own, as a blocking call is, so that the others go on.
    async fn blocked(&'static self) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let thread = std::thread::spawn(|| {
            self.add(word::BEGINNING);
            let event = Event::new(lane::HOST).label(self.request);
            let region = self.recorder.begin(event.correlation_id(BLOCKED));
            self.add(word::BEGUN);
            self.add(word::BLOCKED);
            std::thread::sleep(Duration::from_secs(1_000));
            region.finish();
        });
        while !thread.is_finished() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    fn add(&self, word: usize) {
        self.words.get(word).fetch_add(1, Ordering::SeqCst);
    }
}
