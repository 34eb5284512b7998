//! A file and the moment at which it is read: what every reading of a capture starts from.

use std::sync::Arc;

use hrx_trace_format::header::PAGE_BYTES;
use hrx_trace_format::record::RECORD_BYTES;
use hrx_trace_format::{Checksum, Identity};

use crate::error::Error;
use crate::reading::{CHUNKS_BYTES, Reading};
use crate::rings::claimed::Evidence;
use crate::rings::ring::Ring;
use crate::rings::since;
use crate::rings::window::Window;
use crate::snapshot::Snapshot;
use crate::source::Source;
use crate::tables::name::Name;
use crate::tables::names::Names;

/// Each ring's chunk is at least this large, however many rings there are.
const RING_CHUNK_BYTES_MIN: u64 = 1 << 10;
/// Memory for pending arguments: of a ring for each open slot, and of each ring however many rings there are.
const SLOT_PENDING_BYTES: u64 = 1 << 12;
const RING_PENDING_BYTES_MIN: u64 = 1 << 16;
/// What the search for a ring's newest record reads at once.
const SEARCH_RECORDS: usize = CHUNKS_BYTES as usize / RECORD_BYTES;

#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) source: Arc<Source>,
    pub(crate) identity: Identity,
    pub(crate) snapshot: Snapshot,
    checksum: Checksum,
    evidence: Evidence,
}

impl Capture {
    pub(crate) fn new(source: Source, evidence: Evidence) -> Result<Self, Error> {
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
        Ok(Self {
            snapshot: Snapshot::take(&source, &identity, &checksum, SEARCH_RECORDS, evidence),
            source: Arc::new(source),
            identity,
            checksum,
            evidence,
        })
    }

    pub(crate) fn close_between_reads(&mut self) {
        if let Some(closed) = self.source.closed() {
            self.source = Arc::new(closed);
        }
    }

    /// Takes the whole snapshot again.
    pub(crate) fn refresh(&mut self) {
        self.snapshot = Snapshot::take(
            &self.source,
            &self.identity,
            &self.checksum,
            SEARCH_RECORDS,
            self.evidence,
        );
    }

    /// Takes again only what new events change.
    pub(crate) fn advance(&mut self) {
        self.snapshot
            .advance(&self.source, &self.identity, &self.checksum);
    }

    /// The name with that id, if it is of that kind.
    pub(crate) fn name(&self, kind: u8, id: u32) -> Name {
        self.snapshot.names.read(&self.source, kind, id)
    }

    /// The names of lanes and threads.
    pub(crate) fn names(&self) -> Names {
        Names::read(&self.source, &self.snapshot.names)
    }

    /// Records of all rings that newer ones overwrote.
    pub(crate) fn overwritten(&self) -> u64 {
        let overwritten = |claimed: &u64| claimed.saturating_sub(self.identity.capacity);
        let by_ring = self.snapshot.claimed.iter().map(overwritten);
        by_ring.fold(0, u64::saturating_add)
    }

    /// The last moment known, as far as the newest events of each ring show.
    pub(crate) fn latest_ns(&self) -> u64 {
        let open_starts = self.snapshot.open.tenants.iter();
        let mut last = self.snapshot.last_sign(&self.identity);
        open_starts.for_each(|tenant| last.note(tenant.record.start_ns));
        for (ring, claimed) in self.rings() {
            since::newest_ends(&self.source, &ring, claimed, |end_ns| last.note(end_ns));
        }
        last.ns().max(self.snapshot.now_ns.unwrap_or_default())
    }

    /// Memory in bytes for the arguments of each ring whose event has not come.
    pub(crate) fn pending_bytes(&self, reading: Reading) -> usize {
        let of_slots = SLOT_PENDING_BYTES.saturating_mul(u64::from(self.identity.open_slots));
        let of_ring = reading
            .pending_bytes
            .checked_div(u64::from(self.identity.ring_count))
            .unwrap_or_default();
        of_ring.min(of_slots).max(RING_PENDING_BYTES_MIN) as usize
    }

    /// A window of each ring.
    pub(crate) fn windows(&self, reading: Reading) -> Vec<Window> {
        let chunk_bytes = reading
            .chunk_bytes
            .checked_div(u64::from(self.identity.ring_count))
            .unwrap_or_default()
            .max(RING_CHUNK_BYTES_MIN);
        let chunk_records = chunk_bytes.div_euclid(RECORD_BYTES as u64) as usize;
        let writer_runs = self.snapshot.writer_runs;
        self.rings()
            .map(|(ring, claimed)| {
                let first = since::first_ticket(&self.source, &ring, claimed, reading.since_ns);
                let mut window = Window::new(ring, claimed, writer_runs, chunk_records);
                window.begin_at(first);
                window
            })
            .collect()
    }

    /// Each ring, and the tickets it has given out.
    fn rings(&self) -> impl Iterator<Item = (Ring, u64)> {
        let file_bytes = self.snapshot.file_bytes;
        (0..)
            .zip(&self.snapshot.claimed)
            .map(move |(index, claimed)| {
                let ring = Ring::new(&self.identity, index, file_bytes, &self.checksum);
                (ring, *claimed)
            })
    }
}
