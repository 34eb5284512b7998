//! A file under construction, together with what a reader must make of it.
//!
//! The code that builds a file states the expectation; it is never computed by decoding the file.

use hrx_trace_format::header::{
    CLOCK_MONOTONIC, IDENTITY_OFFSET_KNOWN, STATE_FINISHED, STATE_LEFT_BY_EXIT, STATE_RECORDING,
};
use hrx_trace_format::name::{BLOCK_BYTES, NAME_LABEL, blocks_of, encode};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::slot_of;
use hrx_trace_format::witness::{CAUSE_SIGNAL, WITNESS_WORD};
use hrx_trace_format::{
    Amendment, Area, Argument, ArgumentValue, ArgumentsOf, Checksum, Counters, Geometry, Identity,
    Item, Mark, Name, OpenRecord, Record, Value, Witness, line,
};
use hrx_trace_tests::document::{self, Document, Ending, Event, OpenRegion, Tickets};

/// The salt of all vectors except those that are about salts.
const SALT: u32 = 0x5EED_CAFE;

/// The thread that records in most vectors.
pub const THREAD: u32 = 4243;

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

/// The layout that this version writes, with two open slots and a name table of one page.
pub fn usual(capacity: u64, ring_count: u32) -> Identity {
    let geometry = Geometry::new(capacity)
        .ring_count(ring_count)
        .open_slots(2)
        .name_bytes(4096);
    described(geometry.layout().expect("a geometry in range"))
}

/// The tightest layout that a reader must accept: the open slots have one line each.
pub fn tight(capacity: u64, ring_count: u32, open_slots: u32, name_bytes: u64) -> Identity {
    lined(capacity, ring_count, open_slots, 1, name_bytes)
}

/// The same with open slots of `lines` lines.
pub fn lined(
    capacity: u64,
    ring_count: u32,
    open_slots: u32,
    lines: u64,
    name_bytes: u64,
) -> Identity {
    let mut identity = usual(capacity, ring_count);
    identity.witness_offset = identity.counters_offset + 128;
    identity.control_offset = identity.witness_offset + 128;
    identity.control_stride = 64;
    identity.open_slots = open_slots;
    identity.open_stride = 64 * lines;
    identity.open_offset = identity.control_offset + 64 * u64::from(ring_count);
    identity.name_offset = identity.open_offset + identity.open_stride * u64::from(open_slots);
    identity.name_bytes = name_bytes;
    identity.ring_offset = identity.name_offset + name_bytes;
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
    identity.epoch_bracket_ns = 84;
    identity.clock = CLOCK_MONOTONIC;
    identity.identity_flags = IDENTITY_OFFSET_KNOWN;
    identity.time_namespace = 4_026_531_834;
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
        thread_id: THREAD,
        status: 0,
        flags: 0,
        kind: 0,
        open_slot: 0,
        crc32: 0,
    }
}

/// A typical mark with ticket `sequence`.
pub fn mark(sequence: u64) -> Mark {
    Mark {
        sequence,
        correlation_id: 200 + sequence,
        lane: (sequence % 5) as u32,
        thread_id: THREAD,
        ..Mark::at(sequence * 1_000 + 100)
    }
}

/// A typical sample with ticket `sequence`.
pub fn sample(sequence: u64, number: f64) -> Value {
    Value {
        sequence,
        correlation_id: 300 + sequence,
        thread_id: THREAD,
        ..Value::at(sequence * 1_000 + 200, number)
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
        thread_id: THREAD + slot,
        ring: 0,
        flags: 0,
        kind: KIND_OPEN,
        open_slot: slot as u16 + 1,
        crc32: 0,
    }
}

/// The record of an argument that takes one, with ticket `sequence`.
pub fn argument(
    of: ArgumentsOf,
    sequence: u64,
    ordinal: u16,
    key: u32,
    value: ArgumentValue<'_>,
) -> Argument {
    let mut records = of.records(ordinal, key, value);
    let record = records.next().expect("every argument has a record");
    assert_eq!(records.next(), None, "it has more than one part");
    Argument { sequence, ..record }
}

/// The record of the number `number`, which most vectors take as an argument.
pub fn numbered(of: ArgumentsOf, sequence: u64, ordinal: u16, number: u64) -> Argument {
    argument(of, sequence, ordinal, 0, ArgumentValue::U64(number))
}

/// What a reader must make of it.
pub fn number(number: u64) -> document::Argument {
    document::Argument::of(0, "u64", number)
}

/// A typical witness: the process was killed 400,000 ns after the capture's start.
pub fn killed(identity: &Identity) -> Witness {
    Witness {
        word: WITNESS_WORD,
        capture_id: identity.capture_id,
        seen_monotonic_ns: identity.epoch_monotonic_ns + 400_000,
        seen_boottime_ns: identity.epoch_boottime_ns + 400_010,
        seen_realtime_ns: identity.epoch_realtime_ns + 400_020,
        time_namespace: identity.time_namespace,
        peak_resident_bytes: 3 << 30,
        user_ns: 250_000,
        system_ns: 80_000,
        status: 9,
        cause: CAUSE_SIGNAL,
        core_dumped: 1,
        out_of_memory: 2,
        witness_process_id: 4200,
        ..bytemuck::Zeroable::zeroed()
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
        self.expected.hidden_now = counters.hidden_now;
        self.expected.arguments_refused = counters.arguments_refused;
        self.expected.names_refused = counters.names_refused;
        self.expected.names_too_long = counters.names_too_long;
        self.expected.last_ns = self.expected.last_ns.max(counters.last_alive_ns);
    }

    pub fn finished(&mut self, finished_ns: u64) {
        self.ended(STATE_FINISHED, finished_ns, "finished");
    }

    pub fn left_by_exit(&mut self, finished_ns: u64) {
        self.ended(STATE_LEFT_BY_EXIT, finished_ns, "left-by-exit");
    }

    fn ended(&mut self, state: u64, finished_ns: u64, ending: &str) {
        self.counters(|counters| {
            counters.state = state;
            counters.finished_ns = finished_ns;
        });
        self.expected.ending = ending.to_owned();
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
        self.item(ring, Item::Region(record));
    }

    /// A record of any kind.
    pub fn item(&mut self, ring: u32, item: Item) {
        let (sequence, words) = match item {
            Item::Region(region) => (region.sequence, bytemuck::cast(region)),
            Item::Mark(mark) => (mark.sequence, bytemuck::cast(mark)),
            Item::Value(value) => (value.sequence, bytemuck::cast(value)),
            Item::Argument(argument) => (argument.sequence, bytemuck::cast(argument)),
            Item::Amendment(amendment) => (amendment.sequence, bytemuck::cast(amendment)),
            _ => unreachable!("no other kind is known"),
        };
        let salt = Area::Ring(ring).salt(self.identity.salt);
        let sealed: [u64; 8] = Checksum::new().seal(salt, words);
        self.put(self.place(ring, sequence), bytemuck::bytes_of(&sealed));
    }

    /// An argument of any number of parts, with tickets from `sequence` on, in ring 0. Returns the next ticket.
    pub fn argument(
        &mut self,
        of: ArgumentsOf,
        sequence: u64,
        ordinal: u16,
        key: u32,
        value: ArgumentValue<'_>,
    ) -> u64 {
        let mut next = sequence;
        for record in of.records(ordinal, key, value) {
            self.item(
                0,
                Item::Argument(Argument {
                    sequence: next,
                    ..record
                }),
            );
            next += 1;
        }
        next
    }

    pub fn open(&mut self, slot: u32, open: OpenRecord) {
        let sequence = sequence_of(open.claimed_at_begin, open.ring);
        let salt = Area::OpenTable.salt(self.identity.salt);
        let sealed = OpenRecord { sequence, ..open }.sealed(&Checksum::new(), salt);
        self.put(self.identity.open_slot(slot), bytemuck::bytes_of(&sealed));
    }

    /// The copy of a record of ring `ring` in line `line` of slot `slot`.
    pub fn argument_line(&mut self, slot: u32, line: u32, ring: u32, record: Argument) {
        let sequence = line::word(ring, record.sequence);
        self.line(slot, line, bytemuck::cast(Argument { sequence, ..record }));
    }

    /// The same of an amendment, in line 1.
    pub fn amendment_line(&mut self, slot: u32, ring: u32, record: Amendment) {
        let sequence = line::word(ring, record.sequence);
        self.line(slot, 1, bytemuck::cast(Amendment { sequence, ..record }));
    }

    fn line(&mut self, slot: u32, line: u32, words: [u64; 8]) {
        assert!(line < self.identity.open_lines());
        let salt = Area::OpenTable.salt(self.identity.salt);
        let sealed = Checksum::new().seal(salt, words);
        let place = self.identity.open_line(slot, line);
        self.put(place, bytemuck::bytes_of(&sealed));
    }

    /// Writes a name and returns the id of the next one.
    pub fn name(&mut self, name_id: u32, name: &Name<'_>) -> u32 {
        let blocks = blocks_of(name.text.len());
        let mut entry = vec![0; blocks * BLOCK_BYTES];
        let salt = Area::NameTable.salt(self.identity.salt);
        encode(&mut entry, name_id, name, &Checksum::new(), salt).expect("a name in range");
        self.put(self.identity.name_entry(name_id), &entry);
        name_id + blocks as u32
    }

    /// The same of a label without a group.
    pub fn label(&mut self, label_id: u32, text: &str) -> u32 {
        self.name(label_id, &Name::of(NAME_LABEL, text))
    }

    /// The witness, whose checksum is computed here.
    pub fn witness(&mut self, witness: Witness) {
        let sealed = witness.sealed(&Checksum::new(), self.identity.salt);
        self.put(self.identity.witness_offset, bytemuck::bytes_of(&sealed));
    }

    // What a reader must make of it.

    pub fn expect_ring(&mut self, ring: u32, counts: [u64; 5]) {
        self.expected.rings[ring as usize] = Tickets::of_regions(counts);
    }

    pub fn expect_tickets(&mut self, ring: u32, tickets: Tickets) {
        self.expected.rings[ring as usize] = tickets;
    }

    pub fn expect_event(&mut self, ring: u32, record: &Record) {
        self.expect(Event::region(ring, record));
    }

    /// A region, a mark or a value.
    pub fn expect(&mut self, event: Event) {
        let (_, end_ns) = event.ring_and_end_ns();
        self.expected.last_ns = self.expected.last_ns.max(end_ns);
        self.expected.events.push(event);
    }

    /// The arguments of the event that was expected last, of which at least `lost` are lost.
    pub fn expect_arguments(&mut self, arguments: Vec<document::Argument>, lost: u64) {
        let event = self.expected.events.last_mut().expect("an event");
        let (_, found, found_lost) = event.details();
        *found = arguments;
        *found_lost = lost;
    }

    /// The thread's name of the event that was expected last.
    pub fn expect_thread(&mut self, name: &str) {
        let event = self.expected.events.last_mut().expect("an event");
        let (thread, ..) = event.details();
        *thread = Some(name.to_owned());
    }

    pub fn expect_open(&mut self, slot: u32, open: &OpenRecord) {
        self.expect_open_as(OpenRegion::of(slot, open));
    }

    pub fn expect_open_as(&mut self, region: OpenRegion) {
        self.expected.last_ns = self.expected.last_ns.max(region.start_ns);
        self.expected.open_regions.push(region);
    }

    pub fn expect_label(&mut self, label_id: u32, text: Option<&str>) {
        let text = text.map(|text| (text.to_owned(), 0));
        self.expected.labels.insert(label_id, text);
    }

    pub fn expect_key(&mut self, key: u32, text: &str) {
        self.expected.keys.insert(key, Some((text.to_owned(), 0)));
    }

    pub fn expect_group(&mut self, group: u32, text: Option<&str>) {
        let text = text.map(|text| (text.to_owned(), 0));
        self.expected.groups.insert(group, text);
    }

    /// A believed witness that learnt of the end `seen_ns` after the capture's start.
    pub fn expect_witness(
        &mut self,
        witness: &Witness,
        seen_ns: u64,
        seen_exactly: bool,
        ending: &str,
    ) {
        self.expected.witness = Some(Ending::of(witness, seen_ns, seen_exactly));
        self.expected.ending = ending.to_owned();
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
            document.account.add(ring);
        }
        let first_end_ns = |ring: u32| {
            let mut ends = document.events.iter().map(Event::ring_and_end_ns);
            let first = ends.find(|(of, _)| *of == ring);
            first.map_or(document.last_ns, |(_, end_ns)| end_ns)
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
