//! The loops around what is timed. They are the same for all contenders.

use std::hint::black_box;
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use crate::measuring::contender::{Contender, Fields, INPUTS, inputs};
use crate::measuring::harness::Sample;

/// What happens between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Nothing: all fields are given, and no clock is read.
    Bare,
    /// The caller's two clock reads, for start and duration.
    Clocked,
    /// A region of 10 µs that dirties the caches. A random half of the regions is recorded; the cost is the typical time of a record and the first microsecond
    /// of the next region, minus the typical time of such a microsecond alone.
    Cold(Dirt),
}

/// How a region dirties 32 MiB, 10 µs at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dirt {
    /// Line after line, as a copy does: it fills the caches.
    Caches,
    /// One line of each page, in an order that no prefetcher guesses: it also evicts the processor's page translations.
    CachesAndPages,
}

/// `threads` threads record `events` events each, at once; the sample is their mean.
pub fn run<C: Contender>(contender: &C, load: Load, threads: usize, events: u64) -> Sample {
    let barrier = Barrier::new(threads);
    let samples: Vec<Sample> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|index| {
                let barrier = &barrier;
                scope.spawn(move || {
                    let mut thread = contender.thread(index);
                    match load {
                        Load::Bare => bare(contender, &mut thread, barrier, events),
                        Load::Clocked => clocked(contender, &mut thread, barrier, events),
                        Load::Cold(dirt) => cold(contender, &mut thread, barrier, events, dirt),
                    }
                })
            })
            .collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("a contender panicked"))
            .collect()
    });
    contender.settle();
    Sample {
        event_ns: samples.iter().map(|sample| sample.event_ns).sum::<f64>() / threads as f64,
        took: samples.iter().map(|sample| sample.took).sum::<Duration>() / threads as u32,
    }
}

/// The sample of a loop whose time is all its events'.
fn evenly(took: Duration, events: u64) -> Sample {
    Sample {
        event_ns: took.as_nanos() as f64 / events as f64,
        took,
    }
}

fn bare<C: Contender>(
    contender: &C,
    thread: &mut C::Thread<'_>,
    barrier: &Barrier,
    events: u64,
) -> Sample {
    let inputs = black_box(inputs());
    barrier.wait();
    let start = Instant::now();
    for event in 0..events {
        contender.event(thread, &inputs[event as usize % INPUTS]);
    }
    evenly(start.elapsed(), events)
}

fn clocked<C: Contender>(
    contender: &C,
    thread: &mut C::Thread<'_>,
    barrier: &Barrier,
    events: u64,
) -> Sample {
    let inputs = black_box(inputs());
    barrier.wait();
    let first = Instant::now();
    for event in 0..events {
        let start = Instant::now();
        let elapsed = start.elapsed();
        let fields = Fields {
            start,
            elapsed,
            ..inputs[event as usize % INPUTS]
        };
        contender.event(thread, &fields);
    }
    evenly(first.elapsed(), events)
}

/// Times the beginning of the next region too, so that the figure includes what the record leaves behind: evicted lines, stores still under way.
/// Only the beginning, because the variation of a whole region is larger than the cost of a record.
fn cold<C: Contender>(
    contender: &C,
    thread: &mut C::Thread<'_>,
    barrier: &Barrier,
    events: u64,
    dirt: Dirt,
) -> Sample {
    let inputs = inputs();
    let mut work = Work::new(dirt);
    let mut timed_ns = [Vec::new(), Vec::new()];
    barrier.wait();
    let first = Instant::now();
    let mut previous = inputs[0];
    // Recording every other region would beat with the period of what the regions touch.
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for region in 0..events * 2 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let recorded = random as usize % 2;
        let start = Instant::now();
        if recorded == 1 {
            contender.event(thread, &previous);
        }
        work.touch(work.lines / 10);
        timed_ns[recorded].push(start.elapsed().as_nanos() as u32);
        work.touch(work.lines - work.lines / 10);
        let elapsed = start.elapsed();
        previous = Fields {
            start,
            elapsed,
            ..inputs[region as usize % INPUTS]
        };
    }
    let took = first.elapsed();
    let [without, with] = timed_ns.map(middle);
    Sample {
        event_ns: with - without,
        took,
    }
}

/// The mean of the middle half: as robust as the median, with a finer resolution than the clock's.
fn middle(mut values: Vec<u32>) -> f64 {
    values.sort_unstable();
    let quarter = values.len() / 4;
    let half = &values[quarter..values.len() - quarter];
    half.iter().copied().map(f64::from).sum::<f64>() / half.len() as f64
}

/// What a region does to the caches: it writes to lines of a buffer much larger than a core's own caches.
struct Work {
    words: Vec<u64>,
    at: usize,
    stride_lines: usize,
    /// How many lines take 10 µs.
    lines: usize,
}

impl Work {
    const REGION: Duration = Duration::from_micros(10);
    const WORDS: usize = 1 << 22;

    fn new(dirt: Dirt) -> Self {
        // Measured once per run, so that all contenders have the same.
        static REGION_LINES: [OnceLock<usize>; 2] = [const { OnceLock::new() }; 2];
        let (lines, stride_lines) = match dirt {
            Dirt::Caches => (&REGION_LINES[0], 1),
            // Odd, so that every line is touched.
            Dirt::CachesAndPages => (&REGION_LINES[1], 8_191),
        };
        let mut work = Self {
            words: vec![1; Self::WORDS],
            at: 0,
            stride_lines,
            lines: 0,
        };
        work.lines = *lines.get_or_init(|| {
            const TRIAL_LINES: usize = 1 << 16;
            let line_ns = (0..10).map(|_| {
                let start = Instant::now();
                work.touch(TRIAL_LINES);
                start.elapsed().as_nanos() as f64 / TRIAL_LINES as f64
            });
            (Self::REGION.as_nanos() as f64 / line_ns.fold(f64::INFINITY, f64::min)) as usize
        });
        work
    }

    fn touch(&mut self, lines: usize) {
        for _ in 0..lines {
            self.at = (self.at + self.stride_lines * 8) % Self::WORDS;
            self.words[self.at] = self.words[self.at].wrapping_mul(3);
        }
        black_box(&mut self.words);
    }
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn the_middle_half_ignores_outliers_on_both_sides() {
        assert_eq!(middle(vec![1_000_000, 10, 11, 10, 11, 0, 10, 11]), 10.5);
        assert_eq!(middle(vec![7]), 7.0);
    }
}
