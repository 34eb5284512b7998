//! Makes the calls of `crash::script` while its parent steps through it, and notes in shared words before and after each how far it got.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hrx_trace::{Label, Options, Recorder, Region};
use hrx_trace_tests::crash::script::{self, Call, Described, NAMES, SCRIPT, WRITERS};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::stepping::word;
use hrx_trace_tests::crash::tracee::hand_over;
use hrx_trace_tests::crash::way::Way;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(path), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("usage: stepped TRACE WORDS".into());
    };
    let words = SharedWords::map(&words, word::COUNT)?;
    set_hook(Box::new(|_| {}));
    hand_over()?;

    let recorder = Options::new(script::CAPACITY)
        .writers(WRITERS)
        // The script has three regions at once; a small file is read faster after each instruction.
        .open_regions(8)
        .name_bytes(4096)
        .create(path)?;
    words.get(word::CREATED).store(1, Ordering::SeqCst);
    let mut stepped = Stepped {
        recorder: &recorder,
        words,
        labels: vec![recorder.label(NAMES[0])],
        first: Instant::now(),
        next: 0,
    };
    stepped.calls(&recorder)
}

struct Stepped<'recorder> {
    recorder: &'recorder Recorder,
    words: SharedWords,
    labels: Vec<Label>,
    first: Instant,
    /// The call to make next.
    next: usize,
}

impl Stepped<'_> {
    fn tell(&self, word: usize, value: usize) {
        self.words.get(word).store(value as u64, Ordering::SeqCst);
    }

    /// Makes the script's calls on `way`, until it is to be given back or the script ends.
    fn calls<W: Way>(&mut self, way: &W) -> Result<(), Box<dyn Error>> {
        let mut regions: [Option<Region<W::Held<'_>>>; 3] = [None, None, None];
        while let Some(call) = SCRIPT.get(self.next) {
            let index = self.next;
            let event = Described::of(index).event(&self.labels);
            self.next += 1;
            self.tell(word::STARTED, self.next);
            match *call {
                Call::Record => way.record(
                    self.first + script::start(index),
                    script::elapsed(index),
                    event,
                ),
                Call::Between => {
                    let start = way.now();
                    way.record_between(start, way.now(), event);
                }
                Call::Begin(region) => regions[region] = Some(way.begin(event)),
                Call::Finish(region) => {
                    let region = regions[region].take().ok_or("the region has not begun")?;
                    let copied_bytes = script::finished_bytes(index);
                    region.finish_with(|event| event.copied_bytes(copied_bytes));
                }
                Call::Fail(region) => regions[region]
                    .take()
                    .ok_or("the region has not begun")?
                    .fail(index as u32),
                Call::Drop(region) => drop(regions[region].take()),
                Call::Panic => {
                    let unwound = catch_unwind(AssertUnwindSafe(|| {
                        let _region = way.begin(event);
                        panic!("in the middle of a region");
                    }));
                    assert!(unwound.is_err());
                }
                Call::Label => {
                    let name = NAMES[self.labels.len()];
                    self.labels.push(self.recorder.label(name));
                }
                Call::Take => {
                    let writer = self.recorder.writer();
                    self.tell(word::RETURNED, self.next);
                    self.calls(&writer)?;
                    // This is its `GiveBack`, which returns below.
                    drop(writer);
                }
                Call::GiveBack => return Ok(()),
                Call::End => self.recorder.finish(),
            }
            self.tell(word::RETURNED, self.next);
        }
        Ok(())
    }
}
