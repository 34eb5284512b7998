//! Goes through the sections of `crash::hot` while its parent counts its system calls, and says which it is in by a store, which is none.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hrx_trace::{Event, Options};
use hrx_trace_tests::crash::hot::{
    OPEN_REGIONS, SECTIONS, Section, hot_path, hot_path_of_writers, word,
};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::{hand_over, here};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(path), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("usage: hot_path_child TRACE WORDS".into());
    };
    let words = SharedWords::map(&words, word::COUNT)?;
    let recorder = Options::new(10_000)
        .writers(1)
        .open_regions(OPEN_REGIONS)
        .create(path)?;
    let label = recorder.label("gemm");
    hand_over()?;
    // Not the thread that created the recorder, so that a thread's first call is counted too.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            here().expect("the parent traces this process");
            let now = Instant::now();
            for (index, section) in SECTIONS.into_iter().enumerate() {
                words
                    .get(word::SECTION)
                    .store(index as u64 + 1, Ordering::SeqCst);
                match section {
                    Section::FirstCall => recorder.record(now, Duration::ZERO, Event::new(0)),
                    Section::HotPath => hot_path(&recorder, label),
                    Section::Writers => hot_path_of_writers(&recorder, label),
                    Section::Sync => recorder.sync().expect("it syncs"),
                }
                words.get(word::SECTION).store(0, Ordering::SeqCst);
            }
            here().expect("the parent traces this process");
        });
    });
    Ok(())
}
