//! Two threads that record as many events as they are told, and stop: see `crash::pair`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hrx_trace::{Event, Options, Recorder};
use hrx_trace_tests::crash::pair::{self, LAPPING, STALLED, word};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::{hand_over, here};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(path), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("usage: stepped_pair TRACE WORDS".into());
    };
    let words = SharedWords::map(&words, 2 * word::COUNT)?;
    let recorder = Options::new(pair::CAPACITY)
        .label_bytes(4096)
        .create(path)?;
    hand_over()?;
    std::thread::scope(|scope| {
        scope.spawn(|| take_turns(LAPPING, &recorder, &words));
        take_turns(STALLED, &recorder, &words);
    });
    Ok(())
}

/// Does as it is told until it is killed.
fn take_turns(thread: usize, recorder: &Recorder, words: &SharedWords) {
    let word = |word| words.get(thread * word::COUNT + word);
    let tell = |which, index: u64| word(which).store(index + 1, Ordering::SeqCst);
    let first = Instant::now();
    let mut index = 0;
    while here().is_ok() {
        for _ in 0..word(word::TURN).load(Ordering::SeqCst) {
            let id = pair::correlation_id(thread, index);
            let event = Event::new(thread)
                .correlation_id(id)
                .copied_bytes(pair::copied_bytes(id));
            if word(word::KIND).load(Ordering::SeqCst) == pair::KIND_REGION {
                let region = recorder.begin(event);
                tell(word::STARTED, index);
                region.finish();
            } else {
                tell(word::STARTED, index);
                recorder.record(
                    first + Duration::from_nanos(index),
                    Duration::from_nanos(id),
                    event,
                );
            }
            tell(word::RETURNED, index);
            index += 1;
        }
    }
}
