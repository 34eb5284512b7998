//! One capture: what its header says, and the moment at which it is read.

use std::borrow::Cow;
use std::path::Path;

use hrx_trace_format::header::PAGE_BYTES;
use hrx_trace_format::record::RECORD_BYTES;
use hrx_trace_format::{Area, Checksum, Identity, UNLABELLED, label};

use crate::ring::{Place, RingReader};
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::{Ending, Error, Events, Report};

/// Memory for the chunks of all rings together, but at least a page each.
const CHUNKS_BYTES: u64 = 1 << 20;

/// The name of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label<'trace> {
    /// It was recorded without one.
    None,
    /// Its name.
    Text(&'trace str),
    /// It has one that cannot be believed: damaged, or cut off.
    Unreadable,
}

/// One capture, as of the moment it was opened or [refreshed](Trace::refresh).
#[derive(Debug)]
pub struct Trace {
    source: Source,
    identity: Identity,
    checksum: Checksum,
    snapshot: Snapshot,
}

impl Trace {
    /// Opens the file `path`. Never maps it, never changes it.
    ///
    /// # Errors
    /// Only if the file cannot be read or has no usable header. Any other damage is counted in the [`Report`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::from_source(Source::open(path.as_ref())?)
    }

    /// Reads a capture that lies in memory. Nobody is asked whether its writer still runs.
    ///
    /// # Errors
    /// If the bytes have no usable header.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, Error> {
        Self::from_source(Source::from_bytes(bytes.into()))
    }

    pub(crate) fn from_source(source: Source) -> Result<Self, Error> {
        let mut page = [0; PAGE_BYTES as usize];
        let page = source.read_start(&mut page).map_err(|error| Error::Io {
            path: source.path().to_owned(),
            source: error,
        })?;
        let checksum = Checksum::new();
        let identity = Identity::parse(page, &checksum).map_err(|error| Error::Header {
            path: source.path().to_owned(),
            source: error,
        })?;
        let snapshot = Snapshot::take(&source, &identity, &checksum, chunk_records(&identity));
        Ok(Self {
            source,
            identity,
            checksum,
            snapshot,
        })
    }

    /// Takes the snapshot again: what has been recorded since, what runs now, whether the writer still lives.
    pub fn refresh(&mut self) {
        self.snapshot = Snapshot::take(
            &self.source,
            &self.identity,
            &self.checksum,
            chunk_records(&self.identity),
        );
    }

    /// Who recorded, when, and how the file is laid out.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// How the capture ended.
    #[must_use]
    pub fn ending(&self) -> Ending {
        self.snapshot.ending
    }

    /// How large the file is. [`Identity::file_bytes`] is how large it should be.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.snapshot.file_bytes
    }

    /// Events of all rings that newer ones overwrote: [`crate::Account::overwritten`], known before the first event is read.
    #[must_use]
    pub fn overwritten(&self) -> u64 {
        self.snapshot
            .claimed
            .iter()
            .map(|claimed| claimed.saturating_sub(self.identity.capacity))
            .fold(0, u64::saturating_add)
    }

    /// The label of an event or an open region.
    #[must_use]
    pub fn label(&self, label_id: u32) -> Label<'_> {
        if label_id == 0 {
            return Label::None;
        }
        let salt = Area::LabelTable.salt(self.identity.salt);
        match label::decode(&self.snapshot.labels, label_id, &self.checksum, salt) {
            Some(text) => Label::Text(text),
            None => Label::Unreadable,
        }
    }

    /// What to call an event or an open region of that label.
    #[must_use]
    pub fn name(&self, label_id: u32) -> Cow<'_, str> {
        match self.label(label_id) {
            Label::None => UNLABELLED.into(),
            Label::Text(text) => text.into(),
            Label::Unreadable => format!("label {label_id} (unreadable)").into(),
        }
    }

    /// All events that can be believed, in order of completion.
    #[must_use]
    pub fn events(&self) -> Events<'_> {
        Events::new(self)
    }

    /// Everything there is to say of the capture besides its events. Reads all of them.
    #[must_use]
    pub fn report(&self) -> Report {
        self.events().finish()
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// A reader for each ring.
    pub(crate) fn ring_readers(&self) -> Vec<RingReader> {
        (0..)
            .zip(&self.snapshot.claimed)
            .map(|(ring, claimed)| {
                let place = Place::new(
                    &self.identity,
                    ring,
                    self.snapshot.file_bytes,
                    &self.checksum,
                );
                let chunk_records = chunk_records(&self.identity);
                RingReader::new(place, *claimed, self.snapshot.live(), chunk_records)
            })
            .collect()
    }
}

/// How many records of one ring are held at a time.
fn chunk_records(identity: &Identity) -> usize {
    let bytes = CHUNKS_BYTES
        .checked_div(u64::from(identity.ring_count))
        .unwrap_or_default()
        .max(PAGE_BYTES);
    bytes.div_euclid(RECORD_BYTES as u64) as usize
}
