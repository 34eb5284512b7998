//! What the report needs to know of the events that have gone by.

use crate::argument::Argument;
use crate::capture::Capture;
use crate::clock::LastSign;
use crate::event::Event;
use crate::tables::name_check::NameCheck;

/// The sums kept while events go by.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The earliest start.
    pub(crate) first_ns: Option<u64>,
    /// By the ends of events alone.
    pub(crate) last: LastSign,
    pub(crate) names: NameCheck,
}

impl Tally {
    pub(crate) fn new(capture: &Capture) -> Self {
        Self {
            first_ns: None,
            last: LastSign::new(&capture.identity, capture.snapshot.limit_ns()),
            names: NameCheck::new(&capture.snapshot.names),
        }
    }

    #[inline]
    pub(crate) fn note(&mut self, capture: &Capture, event: &Event) {
        self.first_ns = Some(
            self.first_ns
                .map_or(event.start_ns, |first_ns| first_ns.min(event.start_ns)),
        );
        self.last.note(event.end_ns());
        self.note_names(capture, event.label_id, &event.arguments);
    }

    /// Takes note of the names of an event or an open region.
    #[inline]
    pub(crate) fn note_names(&mut self, capture: &Capture, label_id: u32, arguments: &[Argument]) {
        let (source, table) = (&capture.source, &capture.snapshot.names);
        self.names.label(source, table, label_id);
        for argument in arguments {
            self.names.key(source, table, argument.key);
        }
    }
}
