//! Small captures for tests, built with the format crate alone: what a writer would leave, and any departure from it.

use bytemuck::Zeroable;
use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::name::NAME_LABEL;
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Area, Checksum, Identity, Name, OpenRecord, Record, name};

use crate::account::Account;
use crate::event::Event;
use crate::report::Report;
use crate::rings::claimed::Evidence;
use crate::source::fake::{self, Fake};
use crate::source::{Lock, Source};
use crate::trace::Trace;

/// A capture in memory.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) identity: Identity,
    pub(crate) bytes: Vec<u8>,
}

impl Image {
    /// A capture that is being recorded, packed as tightly as the format allows, so that every offset differs from a real writer's.
    pub(crate) fn new(capacity: u64, ring_count: u32) -> Self {
        Self::from_identity(compact(capacity, ring_count))
    }

    pub(crate) fn from_identity(mut identity: Identity) -> Self {
        identity.salt = 0xC0FF_EE11;
        let identity = identity.sealed(&Checksum::new());
        let mut image = Self {
            identity,
            bytes: vec![0; identity.file_bytes as usize],
        };
        image.put(0, bytemuck::bytes_of(&identity));
        image.set_state(STATE_RECORDING);
        image
    }

    pub(crate) fn put(&mut self, offset: u64, bytes: &[u8]) {
        self.bytes[offset as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    pub(crate) fn set_state(&mut self, state: u64) {
        self.put(self.identity.counters_offset, &state.to_le_bytes());
    }

    pub(crate) fn finish(&mut self, finished_ns: u64) {
        self.set_state(STATE_FINISHED);
        self.put(
            self.identity.counters_offset + 8,
            &finished_ns.to_le_bytes(),
        );
    }

    pub(crate) fn claimed(&self, ring: u32) -> u64 {
        let at = self.identity.control_line(ring) as usize;
        u64::from_le_bytes(self.bytes[at..][..8].try_into().unwrap())
    }

    pub(crate) fn set_claimed(&mut self, ring: u32, claimed: u64) {
        self.put(self.identity.control_line(ring), &claimed.to_le_bytes());
    }

    /// Where the record of a ticket lies.
    pub(crate) fn offset_of(&self, ring: u32, sequence: u64) -> u64 {
        let slot = slot_of(sequence, self.identity.capacity).unwrap();
        self.identity.ring_slot(ring, slot)
    }

    /// Writes a record into the slot of its sequence, without counting it.
    pub(crate) fn put_record(&mut self, ring: u32, record: Record) {
        let salt = Area::Ring(ring).salt(self.identity.salt);
        let sealed = record.sealed(&Checksum::new(), salt);
        let offset = self.offset_of(ring, record.sequence);
        self.put(offset, bytemuck::bytes_of(&sealed));
    }

    /// Records as a writer does: takes a ticket, then writes the slot.
    pub(crate) fn record(&mut self, ring: u32, record: Record) -> u64 {
        let sequence = self.claimed(ring) + 1;
        self.set_claimed(ring, sequence);
        self.put_record(ring, Record { sequence, ..record });
        sequence
    }

    /// Records `count` regions of one microsecond each, one after the other.
    pub(crate) fn record_some(&mut self, ring: u32, count: u64) {
        for _ in 0..count {
            let next = self.claimed(ring) + 1;
            self.record(ring, region(next * 1000));
        }
    }

    pub(crate) fn tear(&mut self, ring: u32, sequence: u64) {
        let offset = self.offset_of(ring, sequence) as usize;
        self.bytes[offset + 20] ^= 0x40;
    }

    pub(crate) fn open(&mut self, slot: u32, open: OpenRecord) {
        let open = OpenRecord {
            sequence: sequence_of(open.claimed_at_begin, open.ring),
            open_slot: slot as u16 + 1,
            kind: KIND_OPEN,
            ..open
        };
        let salt = Area::OpenTable.salt(self.identity.salt);
        let sealed = open.sealed(&Checksum::new(), salt);
        self.put(self.identity.open_slot(slot), bytemuck::bytes_of(&sealed));
    }

    pub(crate) fn label(&mut self, label_id: u32, text: &str) {
        let offset = self.identity.name_offset as usize + (label_id as usize - 1) * 64;
        let blocks = &mut self.bytes[offset..][..name::blocks_of(text.len()) * 64];
        let salt = Area::NameTable.salt(self.identity.salt);
        name::encode(
            blocks,
            label_id,
            &Name::of(NAME_LABEL, text),
            &Checksum::new(),
            salt,
        )
        .unwrap();
    }

    pub(crate) fn trace(&self) -> Trace {
        Trace::from_bytes(self.bytes.clone()).unwrap()
    }

    pub(crate) fn read(&self) -> (Vec<Event>, Report) {
        read(&self.trace())
    }

    pub(crate) fn sequences(&self) -> Vec<u64> {
        sequences(&self.read().0)
    }
}

/// Reads everything, and asserts what must hold for any bytes.
pub(crate) fn read(trace: &Trace) -> (Vec<Event>, Report) {
    let mut events = trace.events();
    let all: Vec<Event> = events.by_ref().collect();
    let report = events.finish();
    assert!(report.account.balances(), "{report:?}");
    assert!(
        report.rings.iter().all(|ring| ring.balances()),
        "{report:?}"
    );
    assert_eq!(
        report.rings.iter().copied().sum::<Account>(),
        report.account
    );
    assert_eq!(report.account.recovered, all.len() as u64);
    assert_eq!(report.account.overwritten, trace.overwritten());
    (all, report)
}

pub(crate) fn sequences(events: &[Event]) -> Vec<u64> {
    events.iter().map(|event| event.sequence).collect()
}

/// A region of 900 ns that was complete at `end_ns`.
pub(crate) fn region(end_ns: u64) -> Record {
    Record {
        start_ns: end_ns.saturating_sub(900),
        duration_ns: end_ns.min(900),
        copied_bytes: end_ns * 3,
        correlation_id: end_ns + 7,
        lane: (end_ns % 5) as u32,
        thread_id: 42,
        ..Record::zeroed()
    }
}

/// A region that began in open slot 0, when ring 0 had given out `claimed_at_begin` tickets.
pub(crate) fn open_since(start_ns: u64, claimed_at_begin: u64) -> OpenRecord {
    OpenRecord {
        start_ns,
        claimed_at_begin,
        ..OpenRecord::zeroed()
    }
}

/// The completed record of a region that ran in open slot `slot`.
pub(crate) fn from_slot(slot: u16, start_ns: u64, end_ns: u64) -> Record {
    Record {
        start_ns,
        duration_ns: end_ns - start_ns,
        open_slot: slot + 1,
        ..Record::zeroed()
    }
}

/// A layout without spare room: two open slots, three label blocks.
pub(crate) fn compact(capacity: u64, ring_count: u32) -> Identity {
    let rings = u64::from(ring_count);
    let mut identity = hrx_trace_format::Geometry::new(capacity).layout().unwrap();
    identity.ring_count = ring_count;
    identity.open_slots = 2;
    identity.name_bytes = 3 * 64;
    identity.open_stride = 64;
    identity.counters_offset = 1024;
    identity.witness_offset = 1024 + 128;
    identity.control_offset = 1024 + 256;
    identity.control_stride = 64;
    identity.open_offset = identity.control_offset + 64 * rings;
    identity.name_offset = identity.open_offset + 2 * 64;
    // No header is shorter than 2048 bytes.
    identity.ring_offset = (identity.name_offset + identity.name_bytes).max(2048);
    identity.ring_stride = capacity * 64;
    identity.file_bytes = identity.ring_offset + identity.ring_stride * rings;
    identity
}

/// A capture whose writer lives, and works between the reader's reads.
///
/// `between` may change the image before each read. It is given the read's offset and length.
pub(crate) fn live(
    mut image: Image,
    mut between: impl FnMut(&mut Image, u64, usize) + Send + 'static,
) -> Trace {
    let length = image.bytes.len() as u64;
    let fake = Fake {
        length,
        lock: Lock::Held,
        read_at: fake::each(move |offset, buffer| {
            between(&mut image, offset, buffer.len());
            let there = image.bytes.get(offset as usize..).unwrap_or_default();
            let count = there.len().min(buffer.len());
            buffer[..count].copy_from_slice(&there[..count]);
            Ok(count)
        }),
    };
    Trace::from_source(Source::from(fake), Evidence::EveryRecord).unwrap()
}
