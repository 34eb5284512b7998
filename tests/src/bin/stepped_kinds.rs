//! Makes the calls of `crash::kinds` while its parent steps through it, and notes in shared words before and after each how far it got.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hrx_trace::{Key, Label, Options, Region};
use hrx_trace_tests::crash::kinds::{self, Call, NAMES, SCRIPT, TEXT};
use hrx_trace_tests::crash::shared_words::SharedWords;
use hrx_trace_tests::crash::stepping::word;
use hrx_trace_tests::crash::tracee::hand_over;
use hrx_trace_tests::crash::way::Way;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(path), Some(words)) = (arguments.next(), arguments.next()) else {
        return Err("usage: stepped_kinds TRACE WORDS".into());
    };
    let recorder = Options::new(kinds::CAPACITY)
        .writers(1)
        .open_regions(4)
        .name_bytes(4096)
        .create(path)?;
    let recorder = Arc::new(recorder);
    let stepped = Stepped {
        labels: NAMES.map(|name| recorder.label(name)),
        words: SharedWords::map(&words, word::COUNT)?,
    };
    hand_over()?;
    let take = SCRIPT.iter().position(|call| *call == Call::Take);
    let take = take.ok_or("the script takes a writer")?;
    stepped.calls(&recorder, 0..take)?;
    stepped.tell(word::STARTED, take + 1);
    let writer = recorder.writer();
    stepped.tell(word::RETURNED, take + 1);
    stepped.calls(&writer, take + 1..SCRIPT.len())
}

struct Stepped {
    labels: [Label; 2],
    words: SharedWords,
}

impl Stepped {
    fn tell(&self, word: usize, value: usize) {
        self.words.get(word).store(value as u64, Ordering::SeqCst);
    }

    fn calls<W: Way>(&self, way: &W, calls: std::ops::Range<usize>) -> Result<(), Box<dyn Error>> {
        let [label, other_label] = self.labels;
        let mut running: Option<Region<W::Held<'_>>> = None;
        for index in calls {
            let event = kinds::event(index, label);
            let number = index as u64;
            let arguments = [(Key::NONE, number.into()), (Key::NONE, TEXT.into())];
            self.tell(word::STARTED, index + 1);
            match (SCRIPT[index], running.take()) {
                (Call::Finish, Some(region)) => region.finish(),
                (Call::Fail, Some(region)) => region.fail(index as u32),
                (Call::Cancel, Some(region)) => region.cancel(),
                (Call::Drop, Some(region)) => drop(region),
                (Call::Withdraw, Some(region)) => region.withdraw(),
                (Call::Begin, None) => running = Some(way.begin(event)),
                (call, mut region) => {
                    match (call, &mut region) {
                        (Call::Mark, _) => way.mark(event),
                        (Call::MarkWith, _) => way.mark_with(event, &arguments),
                        (Call::Value, _) => way.value(label, number as f64),
                        (Call::ValueWith, _) => {
                            way.value_with(event, number as f64, &arguments[..1]);
                        }
                        (Call::BetweenWith, _) => {
                            way.record_between_with(way.now(), way.now(), event, &arguments);
                        }
                        (Call::Number, Some(region)) => region.argument(Key::NONE, number),
                        (Call::Text, Some(region)) => region.argument(Key::NONE, TEXT),
                        (Call::Label, Some(region)) => region.set_label(other_label),
                        (Call::Status, Some(region)) => region.set_status(index as u32),
                        (Call::CopiedBytes, Some(region)) => region.set_copied_bytes(number),
                        (Call::CorrelationId, Some(region)) => {
                            region.set_correlation_id(1000 + number);
                        }
                        (Call::Wait, Some(region)) => region.waiting(),
                        (Call::Run, Some(region)) => region.running(),
                        (Call::Suspend, Some(region)) => {
                            region.suspend(
                                |over| over.status(index as u32),
                                event,
                                |waits| waits.argument(Key::NONE, number),
                            );
                        }
                        (Call::Resume, Some(region)) => {
                            region.resume(event, |runs| runs.argument(Key::NONE, number));
                        }
                        (call, _) => return Err(format!("{call:?}: no such region").into()),
                    }
                    running = region;
                }
            }
            self.tell(word::RETURNED, index + 1);
        }
        Ok(())
    }
}
