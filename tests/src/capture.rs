//! Captures for tests, written with the format's own structs: files that a recorder would leave, and files that it never would.

use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use hrx_trace_format::header::{CLOCK_MONOTONIC, STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::name::{self, BLOCK_BYTES, NAME_LABEL};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Area, Checksum, Counters, Geometry, Identity, Name, OpenRecord, Record};

const SALT: u32 = 0x5EED_5A17;

/// A capture under construction.
#[derive(Clone, Debug)]
pub struct Capture {
    checksum: Checksum,
    /// Sealed by [`Self::bytes`]. It decides where everything else lies.
    pub identity: Identity,
    /// The live counters, as a recorder would have left them.
    pub counters: Counters,
    claimed: Vec<u64>,
    label_blocks: u32,
    bytes: Vec<u8>,
}

impl Capture {
    /// One ring, recorded by process 4242, program `pipeline` on host `bench`; the writer died.
    pub fn new(capacity: u64) -> Self {
        Self::with(Geometry::new(capacity).open_slots(64).name_bytes(64 << 10))
    }

    /// The same, with the rings and tables of `geometry`.
    pub fn with(geometry: Geometry) -> Self {
        let mut identity = geometry.layout().expect("a possible geometry");
        identity.salt = SALT;
        identity.process_id = 4242;
        identity.clock = CLOCK_MONOTONIC;
        identity.epoch_realtime_ns = 1_795_996_800_123_456_789;
        identity.epoch_monotonic_ns = 77_000_000_001;
        identity.epoch_boottime_ns = 78_000_000_001;
        identity.capture_id = [0xC4; 16];
        identity.boot_id = [0xB0; 16];
        identity.program[..8].copy_from_slice(b"pipeline");
        identity.host_name[..5].copy_from_slice(b"bench");
        Self {
            checksum: Checksum::new(),
            counters: Counters {
                state: STATE_RECORDING,
                ..Counters::zeroed()
            },
            claimed: vec![0; identity.ring_count as usize],
            label_blocks: 0,
            bytes: vec![0; identity.file_bytes as usize],
            identity,
        }
    }

    /// Marks the capture as finished.
    pub fn finished(mut self, at_ns: u64) -> Self {
        self.counters.state = STATE_FINISHED;
        self.counters.finished_ns = at_ns;
        self
    }

    /// Sets the attributes. `lines` is in the format's form: "key=value\n" for each.
    pub fn attributes(mut self, lines: &str) -> Self {
        self.identity.attributes[..lines.len()].copy_from_slice(lines.as_bytes());
        self.identity.attributes_bytes = lines.len() as u32;
        self
    }

    /// Interns a label and returns its id.
    pub fn label(&mut self, text: &str) -> u32 {
        let label_id = self.label_blocks + 1;
        let blocks = name::blocks_of(text.len());
        let at = self.identity.name_entry(label_id) as usize;
        let entry = &mut self.bytes[at..at + blocks * BLOCK_BYTES];
        let salt = Area::NameTable.salt(SALT);
        let name = Name::of(NAME_LABEL, text);
        name::encode(entry, label_id, &name, &self.checksum, salt).expect("a label that fits");
        self.label_blocks += blocks as u32;
        label_id
    }

    /// Records in ring 0.
    pub fn record(&mut self, record: Record) -> &mut Self {
        self.record_in(0, record)
    }

    /// Records in `ring`.
    pub fn record_in(&mut self, ring: u32, mut record: Record) -> &mut Self {
        let claimed = &mut self.claimed[ring as usize];
        *claimed += 1;
        record.sequence = *claimed;
        let slot = slot_of(record.sequence, self.identity.capacity).expect("a slot");
        let at = self.identity.ring_slot(ring, slot) as usize;
        let sealed = record.sealed(&self.checksum, Area::Ring(ring).salt(SALT));
        self.bytes[at..at + 64].copy_from_slice(bytemuck::bytes_of(&sealed));
        self
    }

    /// Takes a ticket and writes no record, as a writer that died there.
    pub fn tear(&mut self) -> &mut Self {
        self.tear_in(0)
    }

    /// The same in `ring`.
    pub fn tear_in(&mut self, ring: u32) -> &mut Self {
        self.claimed[ring as usize] += 1;
        self
    }

    /// Puts a running region into `slot` of the open table.
    pub fn open(&mut self, slot: u32, mut open: OpenRecord) -> &mut Self {
        open.claimed_at_begin = self.claimed[open.ring as usize];
        open.sequence = sequence_of(open.claimed_at_begin, open.ring);
        open.open_slot = slot as u16 + 1;
        open.kind = KIND_OPEN;
        let at = self.identity.open_slot(slot) as usize;
        let sealed = open.sealed(&self.checksum, Area::OpenTable.salt(SALT));
        self.bytes[at..at + 64].copy_from_slice(bytemuck::bytes_of(&sealed));
        self
    }

    /// Flips a bit at a file offset. Not in the header: [`Self::bytes`] writes that last, over any damage.
    pub fn damage(&mut self, offset: u64) -> &mut Self {
        self.bytes[offset as usize] ^= 1;
        self
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let identity = self.identity.sealed(&self.checksum);
        let mut put = |at: u64, part: &[u8]| {
            bytes[at as usize..at as usize + part.len()].copy_from_slice(part);
        };
        put(0, bytemuck::bytes_of(&identity));
        put(identity.counters_offset, bytemuck::bytes_of(&self.counters));
        for (ring, claimed) in (0..).zip(&self.claimed) {
            put(identity.control_line(ring), &claimed.to_le_bytes());
        }
        bytes
    }

    /// Writes the capture to the file `name` in `folder`.
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, self.bytes()).expect("a file");
        path
    }
}

/// A completed region on a lane.
pub fn region(lane: u32, start_ns: u64, duration_ns: u64) -> Record {
    Record {
        lane,
        start_ns,
        duration_ns,
        thread_id: 99,
        ..Record::zeroed()
    }
}

/// A running region on a lane.
pub fn running(lane: u32, start_ns: u64) -> OpenRecord {
    OpenRecord {
        lane,
        start_ns,
        thread_id: 99,
        ..OpenRecord::zeroed()
    }
}
