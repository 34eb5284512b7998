//! Makes the calls of `crash::script` while its parent steps through it, and says before and after each how far it is.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hrx_trace::{Options, Region};
use hrx_trace_tests::crash::script::{self, Call, Described, NAMES, SCRIPT, word};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::tracee::hand_over;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(path), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("usage: stepped TRACE WORDS".into());
    };
    let words = SharedWords::map(&words, word::COUNT)?;
    let tell = |word, value| words.get(word).store(value, Ordering::SeqCst);
    set_hook(Box::new(|_| {}));
    hand_over()?;

    let recorder = Options::new(script::CAPACITY)
        .label_bytes(4096)
        .create(path)?;
    tell(word::CREATED, 1);
    let mut labels = vec![recorder.label(NAMES[0])];
    let first = Instant::now();
    let mut regions: [Option<Region<'_>>; 3] = [None, None, None];
    for (index, call) in SCRIPT.iter().enumerate() {
        let event = Described::of(index).event(&labels);
        tell(word::STARTED, index as u64 + 1);
        match *call {
            Call::Record => {
                recorder.record(first + script::start(index), script::elapsed(index), event);
            }
            Call::Begin(region) => regions[region] = Some(recorder.begin(event)),
            Call::Finish(region) => {
                let mut region = regions[region].take().ok_or("not begun")?;
                region.set_copied_bytes(script::finished_bytes(index));
                region.finish();
            }
            Call::Fail(region) => regions[region]
                .take()
                .ok_or("not begun")?
                .fail(index as u32),
            Call::Drop(region) => drop(regions[region].take()),
            Call::Panic => {
                let unwound = catch_unwind(AssertUnwindSafe(|| {
                    let _region = recorder.begin(event);
                    panic!("in the middle of a region");
                }));
                assert!(unwound.is_err());
            }
            Call::Label => labels.push(recorder.label(NAMES[labels.len()])),
            Call::End => recorder.finish(),
        }
        tell(word::RETURNED, index as u64 + 1);
    }
    Ok(())
}
