//! What the report needs to know of the events that have gone by.

use hrx_trace_format::Record;

use crate::capture::Capture;
use crate::tables::label_check::LabelCheck;
use crate::tables::running::Completions;

/// The sums kept while events go by.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The earliest start.
    pub(crate) first_ns: Option<u64>,
    /// The latest end.
    pub(crate) last_ns: u64,
    pub(crate) completions: Completions,
    pub(crate) labels: LabelCheck,
}

impl Tally {
    pub(crate) fn new(capture: &Capture) -> Self {
        let snapshot = &capture.snapshot;
        Self {
            first_ns: None,
            last_ns: 0,
            completions: Completions::new(snapshot.open.slots.len(), snapshot.claimed.len()),
            labels: LabelCheck::new(&snapshot.labels),
        }
    }

    #[inline]
    pub(crate) fn note(&mut self, capture: &Capture, ring: u32, record: &Record) {
        self.first_ns = Some(
            self.first_ns
                .map_or(record.start_ns, |first_ns| first_ns.min(record.start_ns)),
        );
        self.last_ns = self.last_ns.max(record.end_ns());
        self.labels
            .note(&capture.source, &capture.snapshot.labels, record.label_id);
        self.completions.note(ring, record);
    }
}
