//! Two threads that record as many events as they are told to, then stop: see `crash::pair`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hrx_trace::{Event, Options, Recorder};
use hrx_trace_tests::crash::pair::{self, LAPPING, STALLED, word};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::{hand_over, here};
use hrx_trace_tests::crash::way::Way;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(path), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("usage: stepped_pair TRACE WORDS".into());
    };
    let words = SharedWords::map(&words, 2 * word::COUNT)?;
    let recorder = Options::new(pair::CAPACITY)
        .writers(pair::WRITERS)
        .name_bytes(4096)
        .create(path)?;
    hand_over()?;
    std::thread::scope(|scope| {
        scope.spawn(|| take_turns(LAPPING, &recorder, &words));
        take_turns(STALLED, &recorder, &words);
    });
    Ok(())
}

/// Does what the parent asks for, until it is killed.
fn take_turns(thread: usize, recorder: &Recorder, words: &SharedWords) {
    let word = |word| words.get(thread * word::COUNT + word);
    let tell = |which, index: u64| word(which).store(index + 1, Ordering::SeqCst);
    let first = Instant::now();
    let mut writer = recorder.writer();
    let mut index = 0;
    while here().is_ok() {
        for _ in 0..word(word::TURN).load(Ordering::SeqCst) {
            let id = pair::correlation_id(thread, index);
            let event = Event::new(thread)
                .correlation_id(id)
                .copied_bytes(pair::copied_bytes(id));
            let (start, elapsed) = (
                first + Duration::from_nanos(index),
                Duration::from_nanos(id),
            );
            let started = || tell(word::STARTED, index);
            match word(word::KIND).load(Ordering::SeqCst) {
                pair::KIND_RECORD => record(recorder, start, elapsed, event, started),
                pair::KIND_REGION => region(recorder, event, started),
                pair::KIND_BETWEEN => between(recorder, event, started),
                pair::KIND_OWN_RECORD => record(&writer, start, elapsed, event, started),
                pair::KIND_OWN_REGION => region(&writer, event, started),
                pair::KIND_OWN_BETWEEN => between(&writer, event, started),
                _ => {
                    started();
                    drop(writer);
                    writer = recorder.writer();
                }
            }
            tell(word::RETURNED, index);
            index += 1;
        }
    }
}

fn record(way: &impl Way, start: Instant, elapsed: Duration, event: Event, started: impl Fn()) {
    started();
    way.record(start, elapsed, event);
}

fn between(way: &impl Way, event: Event, started: impl Fn()) {
    let start = way.now();
    let end = way.now();
    started();
    way.record_between(start, end, event);
}

fn region(way: &impl Way, event: Event, started: impl Fn()) {
    let region = way.begin(event);
    started();
    region.finish();
}
