//! Small captures for tests, built with the format crate alone: what a writer would leave, and any departure from it.

use bytemuck::{Pod, Zeroable};
use hrx_trace_format::header::{CLOCK_MONOTONIC, STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::name::NAME_LABEL;
use hrx_trace_format::open::{KIND_OPEN, OPEN_STRIDE, sequence_of};
use hrx_trace_format::record::{FLAG_ARGUMENTS, slot_of};
use hrx_trace_format::witness::{CAUSE_SIGNAL, WITNESS_WORD};
use hrx_trace_format::{
    Amendment, Area, ArgumentValue, ArgumentsOf, Checksum, Identity, Mark, Name, OpenRecord,
    Record, Witness, line, name,
};

use crate::account::Account;
use crate::event::Event;
use crate::os;
use crate::report::Report;
use crate::rings::claimed::Evidence;
use crate::source::fake::{self, Fake};
use crate::source::{Lock, Source};
use crate::trace::Trace;

/// A region that runs in a capture that is made here.
pub(crate) struct Running {
    pub(crate) slot: u32,
    pub(crate) open: OpenRecord,
    /// How many arguments it has.
    ordinal: u16,
    /// How many records they take.
    parts: u32,
}

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

    /// The same with slots of eight lines.
    pub(crate) fn with_lines(capacity: u64, ring_count: u32) -> Self {
        Self::from_identity(compact_with(capacity, ring_count, OPEN_STRIDE))
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

    /// Writes a record of any kind into the slot of its sequence, without counting it.
    pub(crate) fn put_record(&mut self, ring: u32, record: impl Pod) {
        let words: [u64; 8] = bytemuck::cast(record);
        let salt = Area::Ring(ring).salt(self.identity.salt);
        let sealed = Checksum::new().seal(salt, words);
        let offset = self.offset_of(ring, words[0]);
        self.put(offset, bytemuck::bytes_of(&sealed));
    }

    /// Records as a writer does: takes a ticket, then writes the slot.
    pub(crate) fn record(&mut self, ring: u32, record: impl Pod) -> u64 {
        let sequence = self.claimed(ring) + 1;
        let mut words: [u64; 8] = bytemuck::cast(record);
        words[0] = sequence;
        self.set_claimed(ring, sequence);
        self.put_record(ring, words);
        sequence
    }

    /// Writes a line of an open slot: a copy of the record with ticket `sequence` of `ring`.
    pub(crate) fn line(
        &mut self,
        slot: u32,
        number: u32,
        ring: u32,
        sequence: u64,
        copy: impl Pod,
    ) {
        let mut words: [u64; 8] = bytemuck::cast(copy);
        words[0] = line::word(ring, sequence);
        let salt = Area::OpenTable.salt(self.identity.salt);
        let sealed = Checksum::new().seal(salt, words);
        let offset = self.identity.open_line(slot, number);
        self.put(offset, bytemuck::bytes_of(&sealed));
    }

    /// Begins a region in an open slot, as a writer does.
    pub(crate) fn begin(&mut self, slot: u32, ring: u32, start_ns: u64) -> Running {
        let open = OpenRecord {
            start_ns,
            claimed_at_begin: self.claimed(ring),
            thread_id: 42,
            ring,
            ..OpenRecord::zeroed()
        };
        self.open(slot, open);
        Running {
            slot,
            open: OpenRecord {
                open_slot: slot as u16 + 1,
                ..open
            },
            ordinal: 0,
            parts: 0,
        }
    }

    /// Records an argument of a running region, as a writer does: first in the ring, then in a line. Returns its first ticket.
    pub(crate) fn argument(
        &mut self,
        running: &mut Running,
        key: u32,
        value: ArgumentValue<'_>,
    ) -> u64 {
        let first = self.claimed(running.open.ring) + 1;
        let parts = ArgumentsOf::region(&running.open).records(running.ordinal, key, value);
        for part in parts {
            let sequence = self.record(running.open.ring, part);
            let lines = self.identity.open_lines();
            if let Some(number) = line::of_argument(running.parts, lines) {
                self.line(running.slot, number, running.open.ring, sequence, part);
            }
            running.parts += 1;
        }
        running.ordinal += 1;
        first
    }

    /// Changes the label of a running region, as a writer does.
    pub(crate) fn relabel(&mut self, running: &Running, label_id: u32) -> u64 {
        let amendment = Amendment {
            label_id,
            ..Amendment::of(&running.open)
        };
        let sequence = self.record(running.open.ring, amendment);
        if self.identity.open_lines() > 1 {
            self.line(running.slot, 1, running.open.ring, sequence, amendment);
        }
        sequence
    }

    /// Records the end of a running region, but leaves its slot as it is: a writer clears it next.
    pub(crate) fn complete(&mut self, running: &Running, end_ns: u64) -> u64 {
        let flags = match running.ordinal {
            0 => 0,
            _ => FLAG_ARGUMENTS,
        };
        let record = Record {
            thread_id: 42,
            flags,
            ..from_slot(running.slot as u16, running.open.start_ns, end_ns)
        };
        self.record(running.open.ring, record)
    }

    /// Ends a running region, as a writer does.
    pub(crate) fn end(&mut self, running: &Running, end_ns: u64) -> u64 {
        let sequence = self.complete(running, end_ns);
        self.put(self.identity.open_slot(running.slot), &[0; 8]);
        sequence
    }

    /// Records a mark of thread 42 at `start_ns`, after its arguments: as many numbers as `arguments` has, with these keys. Returns its ticket.
    pub(crate) fn mark(&mut self, ring: u32, start_ns: u64, arguments: &[u32]) -> u64 {
        for (ordinal, key) in (0..).zip(arguments) {
            let of = ArgumentsOf::event(start_ns, 42);
            for part in of.records(ordinal, *key, ArgumentValue::U64(u64::from(*key) * 10)) {
                self.record(ring, part);
            }
        }
        let flags = match arguments {
            [] => 0,
            _ => FLAG_ARGUMENTS,
        };
        let mark = Mark {
            thread_id: 42,
            flags,
            ..Mark::at(start_ns)
        };
        self.record(ring, mark)
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
        self.name(label_id, &Name::of(NAME_LABEL, text));
    }

    pub(crate) fn name(&mut self, id: u32, name: &Name<'_>) {
        let offset = self.identity.name_offset as usize + (id as usize - 1) * 64;
        let blocks = &mut self.bytes[offset..][..name::blocks_of(name.text.len()) * 64];
        let salt = Area::NameTable.salt(self.identity.salt);
        name::encode(blocks, id, name, &Checksum::new(), salt).unwrap();
    }

    /// Writes a witness, whose fields but for the first two are those given.
    pub(crate) fn witness(&mut self, witness: Witness) {
        let sealed = Witness {
            word: WITNESS_WORD,
            capture_id: self.identity.capture_id,
            ..witness
        }
        .sealed(&Checksum::new(), self.identity.salt);
        self.put(self.identity.witness_offset, bytemuck::bytes_of(&sealed));
    }

    /// As a witness would that saw a signal kill the writer.
    pub(crate) fn killed(&mut self) {
        self.witness(Witness {
            cause: CAUSE_SIGNAL,
            status: 9,
            ..Witness::zeroed()
        });
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
    assert_eq!(report.account.events(), all.len() as u64);
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

/// A layout without spare room: two open slots of one line, three label blocks.
pub(crate) fn compact(capacity: u64, ring_count: u32) -> Identity {
    compact_with(capacity, ring_count, 64)
}

fn compact_with(capacity: u64, ring_count: u32, open_stride: u64) -> Identity {
    let rings = u64::from(ring_count);
    let mut identity = hrx_trace_format::Geometry::new(capacity).layout().unwrap();
    identity.ring_count = ring_count;
    identity.open_slots = 2;
    identity.name_bytes = 3 * 64;
    identity.open_stride = open_stride;
    identity.counters_offset = 1024;
    identity.witness_offset = 1024 + 128;
    identity.control_offset = 1024 + 256;
    identity.control_stride = 64;
    identity.open_offset = identity.control_offset + 64 * rings;
    identity.name_offset = identity.open_offset + 2 * open_stride;
    // No header is shorter than 2048 bytes.
    identity.ring_offset = (identity.name_offset + identity.name_bytes).max(2048);
    identity.ring_stride = capacity * 64;
    identity.file_bytes = identity.ring_offset + identity.ring_stride * rings;
    identity
}

/// An identity that names this process.
pub(crate) fn ours() -> Identity {
    Identity {
        clock: CLOCK_MONOTONIC,
        boot_id: os::boot_id().unwrap(),
        process_id: std::process::id(),
        process_start_ticks: os::start_ticks(std::process::id()).unwrap(),
        stack_start: os::stack_start(std::process::id()).unwrap(),
        pid_namespace: os::pid_namespace().unwrap(),
        time_namespace: os::time_namespace().unwrap(),
        ..compact(4, 1)
    }
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
