//! Captures for tests, written with the format's own structs: files that a recorder would leave, and files that it never would.

use std::path::{Path, PathBuf};

use bytemuck::{Pod, Zeroable};
use hrx_trace_format::header::{
    CLOCK_MONOTONIC, IDENTITY_OFFSET_KNOWN, STATE_FINISHED, STATE_RECORDING,
};
use hrx_trace_format::line::{self, LINE_AMENDMENT};
use hrx_trace_format::name::{self, BLOCK_BYTES, NAME_GROUP, NAME_KEY, NAME_LABEL};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::{FLAG_ARGUMENTS, slot_of};
use hrx_trace_format::{
    Amendment, Area, ArgumentValue, ArgumentsOf, Checksum, Counters, Geometry, Identity, Mark,
    Name, OpenRecord, Record, Value,
};

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
    name_blocks: u32,
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
        // The machine's own time namespace.
        identity.identity_flags = IDENTITY_OFFSET_KNOWN;
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
            name_blocks: 0,
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
        self.name(&Name::of(NAME_LABEL, text))
    }

    /// Interns an argument's key and returns its id.
    pub fn key(&mut self, text: &str) -> u32 {
        self.name(&Name::of(NAME_KEY, text))
    }

    /// Interns a group and returns its id.
    pub fn group(&mut self, text: &str) -> u32 {
        self.name(&Name::of(NAME_GROUP, text))
    }

    /// Writes an entry into the name table and returns its id. Lanes and threads: [`Name::lane`], [`Name::thread`].
    pub fn name(&mut self, name: &Name<'_>) -> u32 {
        let name_id = self.name_blocks + 1;
        let blocks = name::blocks_of(name.text.len());
        let at = self.identity.name_entry(name_id) as usize;
        let entry = &mut self.bytes[at..at + blocks * BLOCK_BYTES];
        let salt = Area::NameTable.salt(SALT);
        name::encode(entry, name_id, name, &self.checksum, salt).expect("a name that fits");
        self.name_blocks += blocks as u32;
        name_id
    }

    /// Records in ring 0.
    pub fn record(&mut self, record: Record) -> &mut Self {
        self.record_in(0, record)
    }

    /// Records in `ring`.
    pub fn record_in(&mut self, ring: u32, record: Record) -> &mut Self {
        self.put(ring, record, Record::sealed)
    }

    /// Records in ring 0, after the arguments: keys and values.
    pub fn record_with(
        &mut self,
        record: Record,
        arguments: &[(u32, ArgumentValue<'_>)],
    ) -> &mut Self {
        let of = ArgumentsOf::event(record.start_ns, record.thread_id);
        let flags = record.flags | FLAG_ARGUMENTS;
        self.arguments(of, arguments)
            .record(Record { flags, ..record })
    }

    /// Marks a moment in ring 0.
    pub fn mark(&mut self, mark: Mark) -> &mut Self {
        self.put(0, mark, Mark::sealed)
    }

    /// Marks a moment in ring 0, after the arguments: keys and values.
    pub fn mark_with(&mut self, mark: Mark, arguments: &[(u32, ArgumentValue<'_>)]) -> &mut Self {
        let of = ArgumentsOf::event(mark.start_ns, mark.thread_id);
        let flags = mark.flags | FLAG_ARGUMENTS;
        self.arguments(of, arguments).mark(Mark { flags, ..mark })
    }

    /// Records a sample of a number in ring 0.
    pub fn value(&mut self, value: Value) -> &mut Self {
        self.put(0, value, Value::sealed)
    }

    fn arguments(&mut self, of: ArgumentsOf, arguments: &[(u32, ArgumentValue<'_>)]) -> &mut Self {
        for (ordinal, (key, value)) in (0..).zip(arguments) {
            for record in of.records(ordinal, *key, *value) {
                self.put(0, record, hrx_trace_format::Argument::sealed);
            }
        }
        self
    }

    /// Puts an item into the next slot of `ring`.
    fn put<Item: Pod>(
        &mut self,
        ring: u32,
        mut item: Item,
        sealed: fn(Item, &Checksum, u32) -> Item,
    ) -> &mut Self {
        let claimed = &mut self.claimed[ring as usize];
        *claimed += 1;
        let sequence = *claimed;
        // It is the first field of items of every kind.
        bytemuck::bytes_of_mut(&mut item)[..8].copy_from_slice(&sequence.to_le_bytes());
        let slot = slot_of(sequence, self.identity.capacity).expect("a slot");
        let at = self.identity.ring_slot(ring, slot);
        let sealed = sealed(item, &self.checksum, Area::Ring(ring).salt(SALT));
        self.write_at(at, &sealed)
    }

    fn write_at<Item: Pod>(&mut self, offset: u64, item: &Item) -> &mut Self {
        let bytes = bytemuck::bytes_of(item);
        self.bytes[offset as usize..][..bytes.len()].copy_from_slice(bytes);
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
    pub fn open(&mut self, slot: u32, open: OpenRecord) -> &mut Self {
        let open = self.tenant(slot, open);
        let at = self.identity.open_slot(slot);
        self.write_at(at, &open)
    }

    /// Puts a running region into `slot` of the open table, with arguments: keys and values.
    pub fn open_with(
        &mut self,
        slot: u32,
        open: OpenRecord,
        arguments: &[(u32, ArgumentValue<'_>)],
    ) -> &mut Self {
        let tenant = self.tenant(slot, open);
        self.open(slot, open);
        let of = ArgumentsOf::region(&tenant);
        let records = (0..)
            .zip(arguments)
            .flat_map(|(ordinal, (key, value))| of.records(ordinal, *key, *value));
        for (index, record) in (0..).zip(records) {
            self.put(tenant.ring, record, hrx_trace_format::Argument::sealed);
            let lines = self.identity.open_lines();
            let Some(line) = line::of_argument(index, lines) else {
                continue;
            };
            let copy = hrx_trace_format::Argument {
                sequence: self.latest_word(tenant.ring),
                ..record
            };
            let sealed = copy.sealed(&self.checksum, Area::OpenTable.salt(SALT));
            self.write_line(slot, line, &sealed);
        }
        self
    }

    /// Changes what is said of the region that runs in `slot`.
    pub fn amend(&mut self, slot: u32, change: impl FnOnce(&mut Amendment)) -> &mut Self {
        let at = self.identity.open_slot(slot) as usize;
        let open = self.bytes[at..].first_chunk().expect("an open slot");
        let open = OpenRecord::from_bytes(*open);
        let mut amendment = Amendment::of(&open);
        change(&mut amendment);
        self.put(open.ring, amendment, Amendment::sealed);
        let copy = Amendment {
            sequence: self.latest_word(open.ring),
            ..amendment
        };
        let sealed = copy.sealed(&self.checksum, Area::OpenTable.salt(SALT));
        self.write_line(slot, LINE_AMENDMENT, &sealed)
    }

    /// The region as it lies in `slot` if it begins now.
    fn tenant(&self, slot: u32, mut open: OpenRecord) -> OpenRecord {
        open.claimed_at_begin = self.claimed[open.ring as usize];
        open.sequence = sequence_of(open.claimed_at_begin, open.ring);
        open.open_slot = slot as u16 + 1;
        open.kind = KIND_OPEN;
        open.sealed(&self.checksum, Area::OpenTable.salt(SALT))
    }

    /// What a line that copies the latest record of `ring` begins with.
    fn latest_word(&self, ring: u32) -> u64 {
        line::word(ring, self.claimed[ring as usize])
    }

    fn write_line<Item: Pod>(&mut self, slot: u32, line: u32, item: &Item) -> &mut Self {
        let at = self.identity.open_line(slot, line);
        self.write_at(at, item)
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

/// A moment on a lane.
pub fn mark(lane: u32, start_ns: u64) -> Mark {
    Mark {
        lane,
        thread_id: 99,
        ..Mark::at(start_ns)
    }
}

/// A sample of a number.
pub fn value(label_id: u32, start_ns: u64, number: f64) -> Value {
    Value {
        label_id,
        thread_id: 99,
        ..Value::at(start_ns, number)
    }
}
