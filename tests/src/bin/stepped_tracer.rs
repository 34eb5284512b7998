//! One thread records through a tracer, the other exchanges its captures; each stops after each turn: see `crash::exchange`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hrx_trace::Tracer;
use hrx_trace_tests::crash::exchange::{CAPACITY, word};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::{hand_over, here};

static TRACER: Tracer = Tracer::new();

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("usage: stepped_tracer FOLDER WORDS".into());
    };
    let words = SharedWords::map(&words, word::COUNT)?;
    let tell = |which, value| words.get(which).store(value, Ordering::SeqCst);
    let path = |number: u64| folder.join(format!("{number}.hrxt"));
    TRACER.start_at(path(0), CAPACITY)?;
    hand_over()?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1.. {
                here().expect("the parent traces this process");
                let start = Instant::now();
                tell(word::STARTED, number);
                TRACER.record(start, Duration::from_nanos(1), number as usize, 0, false);
                tell(word::RETURNED, number);
            }
        });
        for number in 1.. {
            here()?;
            TRACER.finish().ok_or("no capture ran")?;
            TRACER.start_at(path(number), CAPACITY)?;
            tell(word::EXCHANGED, number);
        }
        Ok(())
    })
}
