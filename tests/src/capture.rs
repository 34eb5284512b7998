//! Captures for tests, laid down with the format's own structs: what a recorder would have left, and what it never would.

use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Area, Checksum, Counters, Geometry, Identity, OpenRecord, Record, label};

const SALT: u32 = 0x5EED_5A17;

/// A capture in the making.
#[derive(Clone, Debug)]
pub struct Capture {
    checksum: Checksum,
    /// Sealed when the bytes are made; the places of everything follow from it.
    pub identity: Identity,
    /// As a recorder would have left them.
    pub counters: Counters,
    claimed: Vec<u64>,
    label_blocks: u32,
    bytes: Vec<u8>,
}

impl Capture {
    /// One ring, recorded by process 4242, `pipeline` on `bench`; the writer died.
    pub fn new(capacity: u64) -> Self {
        Self::with(Geometry::new(capacity))
    }

    /// The same with rings and a label table as asked for.
    pub fn with(geometry: Geometry) -> Self {
        let mut identity = geometry.layout().expect("a possible geometry");
        identity.salt = SALT;
        identity.process_id = 4242;
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

    /// The writer finished it.
    pub fn finished(mut self, at_ns: u64) -> Self {
        self.counters.state = STATE_FINISHED;
        self.counters.finished_ns = at_ns;
        self
    }

    /// `lines` as the format wants them: "key=value\n" each.
    pub fn attributes(mut self, lines: &str) -> Self {
        self.identity.attributes[..lines.len()].copy_from_slice(lines.as_bytes());
        self.identity.attributes_bytes = lines.len() as u32;
        self
    }

    /// Interns a label and gives its id.
    pub fn label(&mut self, text: &str) -> u32 {
        let label_id = self.label_blocks + 1;
        let blocks = label::blocks_of(text.len());
        let at =
            self.identity.label_offset as usize + self.label_blocks as usize * label::BLOCK_BYTES;
        let entry = &mut self.bytes[at..at + blocks * label::BLOCK_BYTES];
        let salt = Area::LabelTable.salt(SALT);
        label::encode(entry, label_id, text, &self.checksum, salt).expect("a label that fits");
        self.label_blocks += blocks as u32;
        label_id
    }

    /// Records in ring 0.
    pub fn record(&mut self, record: Record) -> &mut Self {
        self.record_in(0, record)
    }

    /// Records in the ring that is named.
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

    /// Takes a ticket and dies.
    pub fn tear(&mut self) -> &mut Self {
        self.tear_in(0)
    }

    /// The same in the ring that is named.
    pub fn tear_in(&mut self, ring: u32) -> &mut Self {
        self.claimed[ring as usize] += 1;
        self
    }

    /// A region that runs, in that slot of the open table.
    pub fn open(&mut self, slot: u32, mut open: OpenRecord) -> &mut Self {
        open.sequence = sequence_of(open.start_ns);
        open.open_slot = slot as u8 + 1;
        open.kind = KIND_OPEN;
        open.claimed_at_begin = self.claimed[open.ring as usize];
        let at = self.identity.open_slot(slot) as usize;
        let sealed = open.sealed(&self.checksum, Area::OpenTable.salt(SALT));
        self.bytes[at..at + 64].copy_from_slice(bytemuck::bytes_of(&sealed));
        self
    }

    /// Flips a bit at an offset of the file, which must not be in the header: that is laid down last.
    pub fn damage(&mut self, offset: u64) -> &mut Self {
        self.bytes[offset as usize] ^= 1;
        self
    }

    /// The file.
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

    /// Writes the file `name` into `folder`.
    pub fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, self.bytes()).expect("a file");
        path
    }
}

/// A region on a lane.
pub fn region(lane: u32, start_ns: u64, duration_ns: u64) -> Record {
    Record {
        lane,
        start_ns,
        duration_ns,
        thread_id: 99,
        ..Record::zeroed()
    }
}

/// A region that runs.
pub fn running(lane: u32, start_ns: u64) -> OpenRecord {
    OpenRecord {
        lane,
        start_ns,
        thread_id: 99,
        ..OpenRecord::zeroed()
    }
}
