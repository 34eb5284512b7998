//! A progress bar for long work: on the standard error, if that is a terminal, and only after a second.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Events between two looks at the clock.
const STRIDE: u64 = 1 << 16;

/// Passes an iterator's items on and shows its progress.
pub struct WithProgress<Items> {
    items: Items,
    seen: u64,
    began: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl<Items: Iterator> WithProgress<Items> {
    /// `began` is the start of the work, of which this may be a part; `quiet` suppresses the bar.
    pub fn new(items: Items, began: Instant, quiet: bool) -> Self {
        Self {
            items,
            seen: 0,
            began,
            wanted: !quiet && io::stderr().is_terminal(),
            bar: None,
        }
    }

    #[cold]
    fn update(&mut self) {
        if self.bar.is_none() && self.began.elapsed() >= PATIENCE {
            let left = self.items.size_hint().1.unwrap_or_default() as u64;
            let bar = ProgressBar::new(self.seen + left);
            let style = "{wide_bar} {human_pos} of {human_len} events, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style);
            }
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.seen);
        }
    }
}

impl<Items: Iterator> Iterator for WithProgress<Items> {
    type Item = Items::Item;

    #[inline]
    fn next(&mut self) -> Option<Items::Item> {
        self.seen += 1;
        if self.wanted && self.seen.is_multiple_of(STRIDE) {
            self.update();
        }
        self.items.next()
    }
}

impl<Items> Drop for WithProgress<Items> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
