//! The loop that writes whole captures: reads their events ahead, filters them, and hands them to a format.

use std::io;
use std::time::Instant;

use crate::input::captures::Captures;
use crate::input::filter::Filter;
use crate::input::format::Format;
use crate::input::merge::MergedEvents;
use crate::input::outcome::Outcome;
use crate::input::read_ahead::read_ahead;
use crate::input::selection::Selection;
use crate::input::sieve::Sieve;
use crate::output::progress::WithProgress;

/// Writes all captures from their first event to their last. `quiet` suppresses the progress bar.
///
/// # Errors
/// Those of the format. Damage in a capture is none: the outcomes count it.
pub fn write_all<F: Format>(
    captures: &Captures,
    filter: &mut Filter,
    mut format: F,
    quiet: bool,
) -> io::Result<Vec<Outcome>> {
    let began = Instant::now();
    let mut sieves = vec![Sieve::default(); captures.len()];
    let mut outcomes = Vec::with_capacity(captures.len());
    for part in captures.parts(F::ONE_BY_ONE) {
        let events = MergedEvents::new(part, filter.since_ns());
        let (written, events) = read_ahead(events, |ahead| {
            if let Some(events) = ahead.size_hint().1
                && filter.admits_what_is_read()
            {
                format.expect(events as u64);
            }
            WithProgress::new(ahead, began, quiet).try_for_each(|(index, event)| {
                sieves[index].pass(filter, &mut format, &captures[index], &event)
            })
        });
        written?;
        for (capture, report) in part.iter().zip(events.finish()) {
            let outcome = sieves[capture.index].outcome(filter, capture, report);
            format.ended(capture, &outcome)?;
            if F::ONE_BY_ONE {
                capture.forget_names();
            }
            outcomes.push(outcome);
        }
    }
    format.finish(captures, &mut outcomes)?;
    Ok(outcomes)
}

/// Writes the selected events of all captures, without a progress bar.
///
/// # Errors
/// Those of the format, and of [`Filter::new`].
pub fn write_selected(
    captures: &Captures,
    selection: &Selection,
    format: impl Format,
) -> io::Result<Vec<Outcome>> {
    let filter = Filter::new(selection, captures);
    let mut filter = filter.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    write_all(captures, &mut filter, format, true)
}

/// Writes all events of the captures.
#[cfg(test)]
pub fn write_everything(captures: &Captures, format: impl Format) -> Vec<Outcome> {
    write_selected(captures, &Selection::default(), format).expect("memory")
}
