//! A file under construction, together with what a reader must make of it.
//!
//! The code that builds a file states the expectation; it is never computed by decoding the file.

use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::label::{BLOCK_BYTES, blocks_of, encode};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Area, Checksum, Counters, Geometry, Identity, OpenRecord, Record};
use hrx_trace_tests::document::{Document, Event, OpenRegion, Tickets};

/// The salt of all vectors except those that are about salts.
const SALT: u32 = 0x5EED_CAFE;

/// A file that a reader accepts.
pub struct Image {
    pub name: &'static str,
    /// What the file is for.
    pub purpose: &'static str,
    pub identity: Identity,
    pub bytes: Vec<u8>,
    pub expected: Document,
    counters: Counters,
}

/// The layout that this version writes, with a label table of one page.
pub fn usual(capacity: u64, ring_count: u32) -> Identity {
    let geometry = Geometry::new(capacity)
        .ring_count(ring_count)
        .label_bytes(4096);
    described(geometry.layout().expect("a geometry in range"))
}

/// The tightest layout that a reader must accept.
pub fn tight(capacity: u64, ring_count: u32, open_slots: u32, label_bytes: u64) -> Identity {
    let mut identity = usual(capacity, ring_count);
    identity.control_stride = 64;
    identity.control_offset = identity.counters_offset + 64;
    identity.open_slots = open_slots;
    identity.open_offset = identity.control_offset + 64 * u64::from(ring_count);
    identity.label_offset = identity.open_offset + 64 * u64::from(open_slots);
    identity.label_bytes = label_bytes;
    identity.ring_offset = identity.label_offset + label_bytes;
    identity.ring_stride = 64 * capacity;
    identity.file_bytes = identity.ring_offset + identity.ring_stride * u64::from(ring_count);
    identity
}

/// Fills in who recorded, the same in all vectors.
fn described(mut identity: Identity) -> Identity {
    let attributes = b"rank=3\nattempt=1\n";
    identity.salt = SALT;
    identity.epoch_monotonic_ns = 86_400_000_000_000;
    identity.epoch_realtime_ns = 1_796_083_200_000_000_000;
    identity.epoch_boottime_ns = 90_000_000_000_000;
    // No kernel draws this id: a random UUID has a 4 as its version. So no machine takes the vectors' process for one of its own.
    identity.boot_id = *b"boot of no host!";
    identity.capture_id = std::array::from_fn(|index| index as u8 * 0x11);
    identity.process_start_ticks = 8_640_000;
    identity.pid_namespace = 4_026_531_836;
    identity.process_id = 4242;
    identity.host_name[..5].copy_from_slice(b"node7");
    identity.program[..8].copy_from_slice(b"pipeline");
    identity.attributes[..attributes.len()].copy_from_slice(attributes);
    identity.attributes_bytes = attributes.len() as u32;
    identity
}

/// A typical region with ticket `sequence`. The fields have different values, so swapped fields show.
pub fn region(sequence: u64) -> Record {
    Record {
        sequence,
        start_ns: sequence * 1_000,
        duration_ns: 750 + sequence,
        copied_bytes: sequence * 4096,
        correlation_id: 100 + sequence,
        lane: (sequence % 5) as u32,
        label_id: 0,
        thread_id: 4243,
        status: 0,
        flags: 0,
        open_slot: 0,
        kind: 0,
        crc32: 0,
    }
}

/// A typical running region in slot `slot`.
pub fn running(slot: u32, claimed_at_begin: u64) -> OpenRecord {
    OpenRecord {
        sequence: 0,
        start_ns: 20_000 + u64::from(slot),
        claimed_at_begin,
        copied_bytes: 1 << 20,
        correlation_id: 500 + u64::from(slot),
        lane: 1,
        label_id: 0,
        thread_id: 4243 + slot,
        ring: 0,
        flags: 0,
        open_slot: slot as u8 + 1,
        kind: KIND_OPEN,
        crc32: 0,
    }
}

impl Image {
    /// A running capture in which nothing was recorded yet.
    pub fn new(name: &'static str, purpose: &'static str, identity: Identity) -> Self {
        let identity = identity.sealed(&Checksum::new());
        let mut image = Self {
            name,
            purpose,
            identity,
            bytes: vec![0; identity.file_bytes as usize],
            expected: Document::of(&identity),
            counters: Counters {
                state: STATE_RECORDING,
                ..bytemuck::Zeroable::zeroed()
            },
        };
        image.put(0, bytemuck::bytes_of(&identity));
        image.counters(|_| ());
        image
    }

    /// The same, but only the first `bytes` of the file are left.
    pub fn cut_short(
        name: &'static str,
        purpose: &'static str,
        mut identity: Identity,
        bytes: u64,
    ) -> Self {
        let file_bytes = std::mem::replace(&mut identity.file_bytes, bytes);
        let mut image = Self::new(name, purpose, identity);
        image.identity.file_bytes = file_bytes;
        image.identity = image.identity.sealed(&Checksum::new());
        let identity = image.identity;
        image.put(0, bytemuck::bytes_of(&identity));
        image.expect_damage(bytes);
        image
    }

    // What the file contains.

    pub fn put(&mut self, offset: u64, bytes: &[u8]) {
        self.bytes[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    pub fn counters(&mut self, change: impl FnOnce(&mut Counters)) {
        change(&mut self.counters);
        let counters = self.counters;
        self.put(self.identity.counters_offset, bytemuck::bytes_of(&counters));
        self.expected.rejected = counters.rejected;
        self.expected.open_refused = counters.open_refused;
        self.expected.labels_refused = counters.labels_refused;
    }

    pub fn finished(&mut self, finished_ns: u64) {
        self.counters(|counters| {
            counters.state = STATE_FINISHED;
            counters.finished_ns = finished_ns;
        });
        self.expected.ending = "finished".to_owned();
        self.expected.last_ns = self.expected.last_ns.max(finished_ns);
    }

    pub fn claimed(&mut self, ring: u32, claimed: u64) {
        self.put(self.identity.control_line(ring), &claimed.to_le_bytes());
    }

    /// The offset of the record with ticket `sequence`.
    pub fn place(&self, ring: u32, sequence: u64) -> u64 {
        let slot = slot_of(sequence, self.identity.capacity).expect("a ticket from 1");
        self.identity.ring_slot(ring, slot)
    }

    /// The record as it is in the file, with its checksum.
    pub fn sealed(&self, ring: u32, record: Record) -> Record {
        record.sealed(&Checksum::new(), Area::Ring(ring).salt(self.identity.salt))
    }

    pub fn record(&mut self, ring: u32, record: Record) {
        let sealed = self.sealed(ring, record);
        self.put(
            self.place(ring, record.sequence),
            bytemuck::bytes_of(&sealed),
        );
    }

    pub fn open(&mut self, slot: u32, open: OpenRecord) {
        let sequence = sequence_of(open.start_ns);
        let salt = Area::OpenTable.salt(self.identity.salt);
        let sealed = OpenRecord { sequence, ..open }.sealed(&Checksum::new(), salt);
        self.put(self.identity.open_slot(slot), bytemuck::bytes_of(&sealed));
    }

    /// Writes a label and returns the id of the next one.
    pub fn label(&mut self, label_id: u32, text: &str) -> u32 {
        let blocks = blocks_of(text.len());
        let mut entry = vec![0; blocks * BLOCK_BYTES];
        let salt = Area::LabelTable.salt(self.identity.salt);
        encode(&mut entry, label_id, text, &Checksum::new(), salt).expect("a label in range");
        self.put(self.label_place(label_id), &entry);
        label_id + blocks as u32
    }

    pub fn label_place(&self, label_id: u32) -> u64 {
        self.identity.label_offset + u64::from(label_id - 1) * BLOCK_BYTES as u64
    }

    // What a reader must make of it.

    pub fn expect_ring(
        &mut self,
        ring: u32,
        [claimed, recovered, overwritten, torn, skipped]: [u64; 5],
    ) {
        let tickets = Tickets {
            claimed,
            recovered,
            overwritten,
            torn,
            skipped,
        };
        self.expected.rings[ring as usize] = tickets;
    }

    pub fn expect_event(&mut self, ring: u32, record: &Record) {
        self.expected.events.push(Event::of(ring, record));
        self.expected.last_ns = self.expected.last_ns.max(record.end_ns());
    }

    pub fn expect_open(&mut self, slot: u32, open: &OpenRecord) {
        self.expected.open_regions.push(OpenRegion::of(slot, open));
        self.expected.last_ns = self.expected.last_ns.max(open.start_ns);
    }

    pub fn expect_label(&mut self, label_id: u32, text: Option<&str>) {
        self.expected
            .labels
            .insert(label_id, text.map(str::to_owned));
    }

    pub fn expect_damage(&mut self, offset: u64) {
        self.expected.damages.push(offset);
    }

    // Both at once.

    /// Records tickets `tickets` of ring 0, all of which are recovered.
    pub fn regions(&mut self, tickets: std::ops::RangeInclusive<u64>) {
        for record in tickets.map(region) {
            self.record(0, record);
            self.expect_event(0, &record);
        }
    }

    /// Cuts the file short.
    pub fn cut(&mut self, file_bytes: u64) {
        self.bytes.truncate(file_bytes as usize);
        self.expect_damage(file_bytes);
    }

    /// The expectation, with the totals that follow from it.
    pub fn document(&self) -> Document {
        let mut document = self.expected.clone();
        document.damages.sort_unstable();
        for ring in &document.rings {
            document.account.claimed += ring.claimed;
            document.account.recovered += ring.recovered;
            document.account.overwritten += ring.overwritten;
            document.account.torn += ring.torn;
            document.account.skipped += ring.skipped;
        }
        let first_end_ns = |ring: u32| {
            let first = document.events.iter().find(|event| event.ring == ring);
            first.map_or(document.last_ns, |event| {
                event.start_ns.saturating_add(event.duration_ns)
            })
        };
        document.complete_since_ns = (0..)
            .zip(&document.rings)
            .filter(|(_, tickets)| tickets.overwritten > 0)
            .map(|(ring, _)| first_end_ns(ring))
            .max()
            .unwrap_or_default();
        document
    }
}
