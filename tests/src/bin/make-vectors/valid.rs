//! Files in which nothing went wrong.

use hrx_trace_format::name::{NAME_GROUP, NAME_KEY, NAME_LABEL};
use hrx_trace_format::record::{
    FLAG_ARGUMENTS, FLAG_CANCELLED, FLAG_FAILED, FLAG_SATURATED, FLAG_WAITING, OPEN_SLOT_NONE,
};
use hrx_trace_format::witness::{CAUSE_EXEC, CAUSE_EXIT};
use hrx_trace_format::{
    Amendment, Argument, ArgumentValue, ArgumentsOf, Checksum, Item, Mark, Name, OpenRecord,
    Record, Value, Witness,
};
use hrx_trace_tests::document::{self, Event, OpenRegion, ThreadName, Tickets};

use crate::image::{
    Image, THREAD, argument, killed, lined, mark, number, numbered, region, running, sample, tight,
    usual,
};

pub fn images() -> Vec<Image> {
    vec![
        empty(),
        one_event(),
        exactly_full(),
        full_wrap(),
        capacity_one(),
        rings(),
        labels(),
        values(),
        endings_of_regions(),
        marks(),
        samples(),
        arguments(),
        arguments_without_a_slot(),
        running_with_an_argument(),
        withdrawn(),
        running_with_more_arguments_than_lines(),
        slots_of_other_sizes(),
        amended(),
        hidden_regions(),
        lanes(),
        threads(),
        groups(),
        open_regions(),
        finished_with_an_open_region(),
        left_by_exit(),
        last_alive(),
        witness_of_a_signal(),
        witness_of_an_exit(),
        witness_of_an_exec(),
        witness_of_a_finished_capture(),
        witness_of_another_time_namespace(),
        witness_of_a_crash_in_an_exit_handler(),
        counts(),
        clock_not_known(),
        other_time_namespace(),
        unknown_kinds(),
        unused_bits(),
        newer_minor(),
        unusual_layout(),
        no_tables(),
        salt_wraps(),
        texts_at_their_limits(),
        longer_than_it_says(),
    ]
}

fn empty() -> Image {
    let mut image = Image::new(
        "empty",
        "A finished capture in which nothing was recorded.",
        tight(4, 1, 2, 64),
    );
    image.finished(5_000);
    image
}

/// The worked example of FORMAT.md.
fn one_event() -> Image {
    let mut image = Image::new(
        "one-event",
        "One event with every field in use, in a finished capture. The worked example of FORMAT.md.",
        usual(4, 1),
    );
    let label = "gemm 4096x4096";
    let record = Record {
        sequence: 1,
        start_ns: 1_500,
        duration_ns: 250_000,
        copied_bytes: 65_536,
        correlation_id: 42,
        lane: 1,
        label_id: 1,
        thread_id: 4243,
        status: 7,
        flags: FLAG_FAILED,
        kind: 0,
        open_slot: 1,
        crc32: 0,
    };
    image.label(1, label);
    image.record(0, record);
    image.claimed(0, 1);
    image.finished(300_000);
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image.expect_event(0, &record);
    image.expect_label(1, Some(label));
    image
}

fn exactly_full() -> Image {
    let mut image = Image::new(
        "exactly-full",
        "Exactly as many events as the ring holds: nothing is overwritten yet.",
        tight(4, 1, 2, 64),
    );
    image.regions(1..=4);
    image.claimed(0, 4);
    image.finished(9_000);
    image.expect_ring(0, [4, 4, 0, 0, 0]);
    image
}

fn full_wrap() -> Image {
    let mut image = Image::new(
        "full-wrap",
        "Eleven events in a ring of four: the last four are there, in ticket order, although slot 0 holds the second of them.",
        tight(4, 1, 2, 64),
    );
    for sequence in 1..=7 {
        image.record(0, region(sequence));
    }
    image.regions(8..=11);
    image.claimed(0, 11);
    image.finished(20_000);
    image.counters(|counters| counters.dropped = 7);
    image.expect_ring(0, [11, 4, 7, 0, 0]);
    image
}

fn capacity_one() -> Image {
    let mut image = Image::new(
        "capacity-one",
        "The smallest ring: it holds only the newest event.",
        tight(1, 1, 1, 64),
    );
    image.regions(1_000_000..=1_000_000);
    image.claimed(0, 1_000_000);
    image.finished(2_000_000_000);
    image.expect_ring(0, [1_000_000, 1, 999_999, 0, 0]);
    image
}

fn rings() -> Image {
    let mut image = Image::new(
        "rings",
        "Four rings: one wrapped, one empty, two with equal ends; one has an event that began and ended before its predecessor ended, and keeps its place after it.",
        tight(3, 4, 1, 64),
    );
    let at = |sequence, start_ns, duration_ns| Record {
        start_ns,
        duration_ns,
        ..region(sequence)
    };
    // Ends: ring 0: 100, 900, 300 (key 900); ring 1: nothing; ring 2: 200, 400, 950 of five; ring 3: 200, 900.
    let zero = [at(1, 50, 50), at(2, 600, 300), at(3, 200, 100)];
    let two = [
        at(1, 10, 10),
        at(2, 20, 30),
        at(3, 100, 100),
        at(4, 300, 100),
        at(5, 940, 10),
    ];
    let three = [at(1, 150, 50), at(2, 800, 100)];
    for (ring, records) in [(0, &zero[..]), (2, &two), (3, &three)] {
        for record in records {
            image.record(ring, *record);
        }
        image.claimed(ring, records.len() as u64);
    }
    image.finished(1_000);
    for (ring, record) in [
        (0, &zero[0]),
        (2, &two[2]),
        (3, &three[0]),
        (2, &two[3]),
        (0, &zero[1]),
        (0, &zero[2]),
        (3, &three[1]),
        (2, &two[4]),
    ] {
        image.expect_event(ring, record);
    }
    image.expect_ring(0, [3, 3, 0, 0, 0]);
    image.expect_ring(2, [5, 3, 2, 0, 0]);
    image.expect_ring(3, [2, 2, 0, 0, 0]);
    image
}

fn labels() -> Image {
    let mut image = Image::new(
        "labels",
        "Labels of every kind: empty, of exactly one block, of one byte more, long, emoji, right to left, quotes and backslashes, control characters, HTML.",
        tight(16, 1, 2, 64 * 26),
    );
    let one_block = "b".repeat(36);
    let two_blocks = "c".repeat(37);
    let long = "layer.17/attention/".repeat(20);
    let texts = [
        "",
        "gemm",
        &one_block,
        &two_blocks,
        &long,
        "upload 🚀👩‍👩‍👧‍👦",
        "טעינה تحميل \u{202E}abc\u{202C}",
        r#"say "hi" \ 'ho' `hum`"#,
        "nul \0 bell \u{7} line\r\nfeed tab\t escape \u{1b}[31m del \u{7f} next \u{85} sep \u{2028}",
        "</script><b>&amp;",
    ];
    let mut label_id = 1;
    for (sequence, text) in (1..).zip(texts) {
        let record = Record {
            label_id,
            ..region(sequence)
        };
        image.record(0, record);
        image.expect_event(0, &record);
        image.expect_label(label_id, Some(text));
        label_id = image.label(label_id, text);
    }
    image.claimed(0, texts.len() as u64);
    image.finished(20_000);
    image.expect_ring(0, [texts.len() as u64, texts.len() as u64, 0, 0, 0]);
    image
}

fn values() -> Image {
    let mut image = Image::new(
        "values",
        "Values at their limits: zeroes, all ones, an end that does not fit 64 bits, failed, saturated, a status.",
        tight(8, 1, 2, 64),
    );
    let zeroes = Record {
        sequence: 1,
        ..bytemuck::Zeroable::zeroed()
    };
    let failed = Record {
        flags: FLAG_FAILED,
        status: u32::MAX,
        ..region(2)
    };
    let saturated = Record {
        lane: u32::MAX,
        copied_bytes: u64::MAX,
        flags: FLAG_SATURATED,
        ..region(3)
    };
    let both = Record {
        duration_ns: u64::MAX,
        flags: FLAG_FAILED | FLAG_SATURATED,
        ..region(4)
    };
    let latest = Record {
        start_ns: u64::MAX,
        duration_ns: u64::MAX,
        correlation_id: u64::MAX,
        thread_id: u32::MAX,
        ..region(5)
    };
    for record in [zeroes, failed, saturated, both, latest] {
        image.record(0, record);
        image.expect_event(0, &record);
    }
    image.claimed(0, 5);
    image.expect_ring(0, [5, 5, 0, 0, 0]);
    image
}

fn open_regions() -> Image {
    let mut image = Image::new(
        "open-regions",
        "Three regions that were running when the writer died, and two completed ones. The running ones are listed by their start.",
        tight(4, 2, 4, 128),
    );
    image.label(1, "the one that hung");
    image.regions(1..=2);
    image.claimed(0, 2);
    let hung = OpenRecord {
        start_ns: 2_500,
        label_id: 1,
        ..running(2, 2)
    };
    let other_ring = OpenRecord {
        ring: 1,
        flags: FLAG_SATURATED,
        copied_bytes: u64::MAX,
        ..running(1, 0)
    };
    for (slot, open) in [(0, running(0, 1)), (1, other_ring), (2, hung)] {
        image.open(slot, open);
    }
    for (slot, open) in [(2, hung), (0, running(0, 1)), (1, other_ring)] {
        image.expect_open(slot, &open);
    }
    image.expect_label(1, Some("the one that hung"));
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image
}

fn finished_with_an_open_region() -> Image {
    let mut image = Image::new(
        "finished-with-an-open-region",
        "A capture that was finished while a region was running: the ending is finished, and the region is shown.",
        tight(4, 1, 4, 64),
    );
    image.regions(1..=1);
    image.claimed(0, 1);
    image.open(3, running(3, 1));
    image.finished(50_000);
    image.expect_open(3, &running(3, 1));
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn counts() -> Image {
    let mut image = Image::new(
        "counts",
        "All counters are in use. `dropped`, a cache, is out of date, and the reader derives it.",
        tight(2, 1, 1, 64),
    );
    image.regions(4..=5);
    image.claimed(0, 5);
    image.counters(|counters| {
        counters.dropped = 1;
        counters.rejected = 11;
        counters.open_refused = 12;
        counters.names_refused = 13;
        counters.last_alive_ns = 5_000;
        counters.hidden_now = 14;
        counters.arguments_refused = 15;
        counters.names_too_long = 16;
    });
    image.expect_ring(0, [5, 2, 3, 0, 0]);
    image
}

fn unknown_kinds() -> Image {
    let mut image = Image::new(
        "unknown-kinds",
        "Records of kinds that this version does not know, as a newer writer may write them, and one of a kind that is never in a ring: they are skipped and counted, the others are read. One in the open table is counted as torn. A name of an unknown kind is passed over.",
        tight(8, 1, 2, 128),
    );
    image.regions(1..=1);
    for (sequence, kind) in [(2, 1), (3, 6), (4, u8::MAX)] {
        image.record(
            0,
            Record {
                kind,
                ..region(sequence)
            },
        );
    }
    image.regions(5..=5);
    image.claimed(0, 5);
    image.open(
        0,
        OpenRecord {
            kind: 2,
            ..running(0, 4)
        },
    );
    image.name(1, &Name::of(6, "of a newer kind"));
    image.name(2, &Name::lane(4, "host side"));
    image.expected.lanes.insert(4, ("host side".to_owned(), 0));
    image.expected.open_torn = 1;
    image.expect_ring(0, [5, 2, 0, 0, 3]);
    image
}

fn unused_bits() -> Image {
    let mut image = Image::new(
        "unused-bits",
        "Everything unused is set, as a newer minor version may do: a reader ignores it.",
        lined_with_unused_fields(),
    );
    let identity = image.identity;
    let space = identity.counters_offset - u64::from(identity.identity_bytes);
    image.put(
        u64::from(identity.identity_bytes),
        &vec![0xA5; space as usize],
    );
    image.counters(|counters| counters.unused = [u64::MAX; 6]);
    for ring in 0..2 {
        image.put(identity.control_line(ring) + 8, &[0xFF; 56]);
    }
    // The last flags are unused in all records, those of other kinds too, and an argument's text size if it is no text. So is the slot of a mark and of a
    // value: that it is the open region's, and their tickets above its beginning, means nothing.
    let with_arguments = Record {
        flags: 0xE0 | FLAG_WAITING | FLAG_ARGUMENTS,
        open_slot: 600,
        ..region(1)
    };
    image.record(0, with_arguments);
    image.expect_event(0, &with_arguments);
    let unusual = Mark {
        unused_16: [u64::MAX; 2],
        unused_52: u32::MAX,
        flags: 0xF5,
        open_slot: 1,
        ..mark(2)
    };
    image.item(0, Item::Mark(unusual));
    image.expect(Event::mark(0, &unusual));
    let unusual = Value {
        unused_16: u64::MAX,
        unused_40: u32::MAX,
        unused_52: u32::MAX,
        flags: 0xF5,
        open_slot: 1,
        ..sample(3, 0.5)
    };
    image.item(0, Item::Value(unusual));
    image.expect(Event::value(0, &unusual));
    let open = OpenRecord {
        flags: 0xED,
        ..running(0, 1)
    };
    image.open(0, open);
    let mut unusual = Argument {
        text_bytes: u16::MAX,
        flags: 0xFF,
        ..numbered(ArgumentsOf::region(&open), 4, 0, 7)
    };
    unusual.content[8..].fill(0xEE);
    image.item(0, Item::Argument(unusual));
    image.argument_line(0, 2, 0, unusual);
    let amendment = Amendment {
        sequence: 5,
        unused_16: u64::MAX,
        flags: 0xED,
        status: 3,
        ..Amendment::of(&open)
    };
    image.item(0, Item::Amendment(amendment));
    image.expect_open_as(OpenRegion {
        status: 3,
        amended: true,
        arguments: vec![number(7)],
        ..OpenRegion::of(0, &open)
    });
    image.claimed(0, 5);
    let witness = Witness {
        unused_87: u8::MAX,
        unused_92: [u32::MAX; 8],
        ..killed(&identity)
    };
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "died");
    image.expect_tickets(
        0,
        Tickets {
            claimed: 5,
            recovered: 5,
            regions: 1,
            marks: 1,
            values: 1,
            arguments: 1,
            amendments: 1,
            joined: 1,
            ..Tickets::default()
        },
    );
    image
}

/// Two rings, two open slots of three lines, and all that the identity does not use.
fn lined_with_unused_fields() -> hrx_trace_format::Identity {
    let mut identity = lined(8, 2, 2, 3, 64);
    identity.identity_flags |= 0xFFFF_FFFE;
    identity
}

fn newer_minor() -> Image {
    let mut image = Image::new(
        "newer-minor",
        "Version 2.9 with an identity of 1100 bytes: a reader of 2.0 reads what it knows.",
        tight(4, 1, 2, 64),
    );
    image.regions(1..=3);
    image.claimed(0, 3);
    image.finished(9_000);
    image.expect_ring(0, [3, 3, 0, 0, 0]);
    image.expected.version = "2.9".to_owned();
    image.put(10, &9u16.to_le_bytes());
    image.put(12, &1100u32.to_le_bytes());
    image.put(1024, &[0x5A; 76]);
    image.put(16, &[0; 4]);
    let crc32 = Checksum::new().of(&[&image.bytes[..1100]]);
    image.put(16, &crc32.to_le_bytes());
    image
}

fn unusual_layout() -> Image {
    let mut identity = lined(3, 2, 3, 5, 192);
    identity.counters_offset += 64;
    identity.witness_offset += 256;
    identity.control_offset += 448;
    identity.control_stride = 192;
    identity.open_offset += 896;
    identity.name_offset += 1024;
    identity.ring_offset += 1088;
    identity.ring_stride = 320;
    identity.file_bytes = identity.ring_offset + 2 * identity.ring_stride + 100;
    let mut image = Image::new(
        "unusual-layout",
        "Gaps of several sizes between all areas, full of garbage: every place comes from the identity.",
        identity,
    );
    image.bytes[2048..].fill(0xEE);
    image.finished(9_000);
    image.claimed(0, 2);
    image.claimed(1, 1);
    for slot in 0..3 {
        image.put(identity.open_slot(slot), &[0; 320]);
    }
    image.put(identity.witness_offset, &[0; 128]);
    let mut last = region(1);
    last.label_id = 2;
    last.start_ns = 7_000;
    image.regions(1..=2);
    image.record(1, last);
    image.expect_event(1, &last);
    image.label(
        2,
        "two blocks that do not begin at the first one of the table",
    );
    image.expect_label(
        2,
        Some("two blocks that do not begin at the first one of the table"),
    );
    image.open(2, running(2, 2));
    image.expect_open(2, &running(2, 2));
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image.expect_ring(1, [1, 1, 0, 0, 0]);
    image
}

fn no_tables() -> Image {
    let mut image = Image::new(
        "no-tables",
        "Neither an open table nor a name table: the label that a record names cannot be read, but the event is there.",
        tight(2, 1, 0, 0),
    );
    let record = Record {
        label_id: 1,
        open_slot: 1,
        ..region(1)
    };
    image.record(0, record);
    image.claimed(0, 1);
    image.finished(9_000);
    image.expect_event(0, &record);
    image.expect_label(1, None);
    image.expect_damage(image.identity.name_offset);
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn salt_wraps() -> Image {
    let mut identity = tight(2, 3, 1, 64);
    identity.salt = u32::MAX - 1;
    let mut image = Image::new(
        "salt-wraps",
        "A salt so high that the salts of the areas wrap around: the name table has salt 0, ring 0 has salt 1, the witness 65534.",
        identity,
    );
    let record = Record {
        label_id: 1,
        ..region(1)
    };
    image.label(1, "salted");
    let witness = killed(&image.identity);
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "died");
    image.open(0, running(0, 1));
    for ring in 0..3 {
        image.record(ring, record);
        image.claimed(ring, 1);
        image.expect_event(ring, &record);
        image.expect_ring(ring, [1, 1, 0, 0, 0]);
    }
    image.expect_open(0, &running(0, 1));
    image.expect_label(1, Some("salted"));
    image
}

fn texts_at_their_limits() -> Image {
    let mut identity = tight(1, 1, 1, 64);
    identity.host_name = [b'h'; 64];
    identity.program = [0; 64];
    identity.program[..8].copy_from_slice(b"\xC3\xA9t\xC3\xA9 \xFFx");
    let attributes =
        "rank=3\nempty=\nline without the sign\nversion=1.2=b\nhost=Zürich\nlast=no line feed";
    identity.attributes = [0; 656];
    identity.attributes[..attributes.len()].copy_from_slice(attributes.as_bytes());
    identity.attributes_bytes = attributes.len() as u32;
    let mut image = Image::new(
        "texts-at-their-limits",
        "A host name that fills its field, a program name that is not UTF-8 from its seventh byte on, attributes with empty values, `=` in a value, and a line without one.",
        identity,
    );
    image.finished(9_000);
    image.expected.host_name = "h".repeat(64);
    image.expected.program = "été ".to_owned();
    image.expected.attributes = [
        ("rank", "3"),
        ("empty", ""),
        ("version", "1.2=b"),
        ("host", "Zürich"),
        ("last", "no line feed"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .to_vec();
    image
}

fn longer_than_it_says() -> Image {
    let mut image = Image::new(
        "longer-than-it-says",
        "Bytes past the end that the identity states, a genuine record among them: they are ignored.",
        tight(2, 1, 1, 64),
    );
    image.regions(1..=2);
    image.claimed(0, 2);
    image.finished(9_000);
    let beyond = image.sealed(0, region(3));
    image.bytes.extend_from_slice(bytemuck::bytes_of(&beyond));
    image.bytes.extend_from_slice(b"and some text");
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image
}

fn endings_of_regions() -> Image {
    let mut image = Image::new(
        "endings-of-regions",
        "Regions that failed with a status and without one, that were cancelled, that were both, and one that found the open table full.",
        tight(8, 1, 2, 64),
    );
    let of = |sequence, flags, status, open_slot| Record {
        flags,
        status,
        open_slot,
        ..region(sequence)
    };
    for record in [
        of(1, FLAG_FAILED, 5, 1),
        of(2, FLAG_FAILED, 0, 1),
        of(3, FLAG_CANCELLED, 0, 2),
        of(4, FLAG_CANCELLED | FLAG_FAILED, 5, 2),
        of(5, 0, 0, OPEN_SLOT_NONE),
    ] {
        image.record(0, record);
        image.expect_event(0, &record);
    }
    image.claimed(0, 5);
    image.expect_ring(0, [5, 5, 0, 0, 0]);
    image
}

fn marks() -> Image {
    let mut image = Image::new(
        "marks",
        "Marks between regions of two rings: they have their place in the order of completion by their moment, and count for the moment since when the capture is complete.",
        tight(3, 2, 1, 128),
    );
    image.label(1, "restart");
    // Ring 0 ends: 1000 (overwritten), 1200, 5000, 4000 of four; ring 1: 1100, 4500.
    let at = |sequence, start_ns| Mark {
        start_ns,
        ..mark(sequence)
    };
    let labelled = Mark {
        label_id: 1,
        ..at(2, 1_200)
    };
    let long = Record {
        start_ns: 2_000,
        duration_ns: 3_000,
        ..region(3)
    };
    let after = at(4, 4_000);
    image.item(0, Item::Mark(labelled));
    image.record(0, long);
    image.item(0, Item::Mark(after));
    let other = [at(1, 1_100), at(2, 4_500)];
    for mark in other {
        image.item(1, Item::Mark(mark));
    }
    image.claimed(0, 4);
    image.claimed(1, 2);
    image.expect(Event::mark(1, &other[0]));
    image.expect(Event::mark(0, &labelled));
    image.expect(Event::mark(1, &other[1]));
    image.expect_event(0, &long);
    image.expect(Event::mark(0, &after));
    image.expect_label(1, Some("restart"));
    image.expect_tickets(
        0,
        Tickets {
            claimed: 4,
            recovered: 3,
            overwritten: 1,
            regions: 1,
            marks: 2,
            ..Tickets::default()
        },
    );
    image.expect_tickets(
        1,
        Tickets {
            claimed: 2,
            recovered: 2,
            marks: 2,
            ..Tickets::default()
        },
    );
    image
}

fn samples() -> Image {
    let mut image = Image::new(
        "samples",
        "Values of every sort: a fraction, zeroes of both signs, the largest, the smallest, both infinities, a NaN with bits of its own.",
        tight(16, 1, 1, 128),
    );
    image.label(1, "bytes in use");
    let numbers = [
        0.1,
        0.0,
        -0.0,
        f64::MAX,
        f64::from_bits(1),
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::from_bits(0xFFF8_0000_0000_0BAD),
        12_884_901_888.0,
    ];
    for (sequence, number) in (1..).zip(numbers) {
        let value = Value {
            label_id: 1,
            ..sample(sequence, number)
        };
        image.item(0, Item::Value(value));
        image.expect(Event::value(0, &value));
    }
    image.claimed(0, 9);
    image.expect_label(1, Some("bytes in use"));
    image.expect_tickets(
        0,
        Tickets {
            claimed: 9,
            recovered: 9,
            values: 9,
            ..Tickets::default()
        },
    );
    image
}

fn arguments() -> Image {
    let mut image = Image::new(
        "arguments",
        "A completed region with arguments of every type at their limits: texts that are empty, of one part exactly, of one byte more with a character across two parts, of 256 bytes, and one that was cut; one without a key.",
        tight(64, 1, 2, 192),
    );
    image.name(1, &Name::of(NAME_KEY, "shape"));
    image.name(2, &Name::of(NAME_KEY, "last"));
    let open = OpenRecord {
        start_ns: 1_500,
        ..running(1, 0)
    };
    let of = ArgumentsOf::region(&open);
    let exact = "x".repeat(26);
    let across = format!("{}é", "y".repeat(25));
    let longest = "z".repeat(256);
    // The last character would end at byte 257.
    let too_long = format!("{}é and more", "w".repeat(255));
    let kept = "w".repeat(255);
    let values = [
        (1, ArgumentValue::U64(u64::MAX)),
        (1, ArgumentValue::I64(i64::MIN)),
        (1, ArgumentValue::I64(7)),
        (1, ArgumentValue::F64(-0.0)),
        (1, ArgumentValue::Bool(true)),
        (1, ArgumentValue::Bool(false)),
        (0, ArgumentValue::Text(b"")),
        (1, ArgumentValue::Text(exact.as_bytes())),
        (1, ArgumentValue::Text(across.as_bytes())),
        (1, ArgumentValue::Text(longest.as_bytes())),
        (2, ArgumentValue::Text(too_long.as_bytes())),
    ];
    let mut next = 1;
    for (ordinal, (key, value)) in (0..).zip(values) {
        next = image.argument(of, next, ordinal, key, value);
    }
    let completed = Record {
        sequence: next,
        start_ns: 1_500,
        open_slot: 2,
        flags: FLAG_ARGUMENTS,
        ..region(1)
    };
    image.record(0, completed);
    image.claimed(0, next);
    image.expect_event(0, &completed);
    let text = |key, text: &str| document::Argument::of(key, "text", text);
    let arguments = vec![
        document::Argument::of(1, "u64", u64::MAX),
        document::Argument::of(1, "i64", i64::MIN),
        document::Argument::of(1, "i64", 7),
        document::Argument::of(1, "f64", "0x8000000000000000"),
        document::Argument::of(1, "bool", true),
        document::Argument::of(1, "bool", false),
        text(0, ""),
        text(1, &exact),
        text(1, &across),
        text(1, &longest),
        document::Argument {
            cut: true,
            ..text(2, &kept)
        },
    ];
    image.expect_arguments(arguments, 0);
    image.expect_key(1, "shape");
    image.expect_key(2, "last");
    image.expect_tickets(
        0,
        Tickets {
            claimed: 31,
            recovered: 31,
            regions: 1,
            arguments: 30,
            joined: 30,
            ..Tickets::default()
        },
    );
    image
}

fn arguments_without_a_slot() -> Image {
    let mut image = Image::new(
        "arguments-without-a-slot",
        "Arguments of marks, of a value, and of regions recorded in one call, or that found the open table full: each belongs to the next such event of its thread, although records of another thread and a region from the open table lie between. Two marks of one thread at one moment keep theirs apart.",
        tight(32, 1, 2, 64),
    );
    let other = THREAD + 1;
    let with = |mark: Mark| Mark {
        flags: FLAG_ARGUMENTS,
        ..mark
    };
    let at = |sequence, start_ns, thread_id| Mark {
        sequence,
        start_ns,
        thread_id,
        ..mark(1)
    };
    let of = |start_ns| ArgumentsOf::event(start_ns, THREAD);
    let items = |image: &mut Image, items: &[Item]| {
        for item in items {
            image.item(0, *item);
        }
    };
    // A mark with two arguments; another thread's mark, which has its own, lies among them.
    let first = with(at(6, 1_000, THREAD));
    let others = with(at(5, 1_000, other));
    // Two marks at one moment.
    let second = with(at(8, 2_000, THREAD));
    let third = with(at(11, 2_000, THREAD));
    let value = Value {
        flags: FLAG_ARGUMENTS,
        start_ns: 3_000,
        ..sample(13, 1.5)
    };
    // A region from the open table of the same thread and moment takes none of them.
    let at_once = Record {
        start_ns: 4_000,
        flags: FLAG_ARGUMENTS,
        ..region(16)
    };
    let from_table = Record {
        open_slot: 1,
        flags: 0,
        ..Record {
            sequence: 15,
            ..at_once
        }
    };
    let hidden = Record {
        start_ns: 5_000,
        flags: FLAG_ARGUMENTS,
        open_slot: OPEN_SLOT_NONE,
        ..region(18)
    };
    items(
        &mut image,
        &[
            Item::Argument(numbered(of(1_000), 1, 0, 10)),
            Item::Argument(numbered(ArgumentsOf::event(1_000, other), 2, 0, 20)),
            Item::Argument(numbered(of(1_000), 3, 1, 11)),
            Item::Argument(numbered(ArgumentsOf::event(1_000, other), 4, 1, 21)),
            Item::Mark(others),
            Item::Mark(first),
            Item::Argument(numbered(of(2_000), 7, 0, 30)),
            Item::Mark(second),
            Item::Argument(numbered(of(2_000), 9, 0, 31)),
            Item::Argument(numbered(of(2_000), 10, 1, 32)),
            Item::Mark(third),
            Item::Argument(numbered(of(3_000), 12, 0, 40)),
            Item::Value(value),
            Item::Argument(numbered(of(4_000), 14, 0, 50)),
            Item::Region(from_table),
            Item::Region(at_once),
            Item::Argument(numbered(of(5_000), 17, 0, 60)),
            Item::Region(hidden),
        ],
    );
    image.claimed(0, 18);
    image.expect(Event::mark(0, &others));
    image.expect_arguments(vec![number(20), number(21)], 0);
    image.expect(Event::mark(0, &first));
    image.expect_arguments(vec![number(10), number(11)], 0);
    image.expect(Event::mark(0, &second));
    image.expect_arguments(vec![number(30)], 0);
    image.expect(Event::mark(0, &third));
    image.expect_arguments(vec![number(31), number(32)], 0);
    image.expect(Event::value(0, &value));
    image.expect_arguments(vec![number(40)], 0);
    image.expect_event(0, &from_table);
    image.expect_event(0, &at_once);
    image.expect_arguments(vec![number(50)], 0);
    image.expect_event(0, &hidden);
    image.expect_arguments(vec![number(60)], 0);
    image.expect_tickets(
        0,
        Tickets {
            claimed: 18,
            recovered: 18,
            regions: 3,
            marks: 4,
            values: 1,
            arguments: 10,
            joined: 10,
            ..Tickets::default()
        },
    );
    image
}

/// The worked example of FORMAT.md.
fn running_with_an_argument() -> Image {
    let mut image = Image::new(
        "running-with-an-argument",
        "A running region with one argument, in the ring and in a line of its open slot. A worked example of FORMAT.md.",
        usual(4, 1),
    );
    let next = image.label(1, "gemm 4096x4096");
    image.name(next, &Name::of(NAME_KEY, "shape"));
    let open = OpenRecord {
        start_ns: 1_500,
        copied_bytes: 65_536,
        correlation_id: 42,
        label_id: 1,
        ..running(0, 0)
    };
    let text = ArgumentValue::Text(b"4096x4096");
    let record = argument(ArgumentsOf::region(&open), 1, 0, next, text);
    image.open(0, open);
    image.item(0, Item::Argument(record));
    image.argument_line(0, 2, 0, record);
    image.claimed(0, 1);
    image.expect_open_as(OpenRegion {
        arguments: vec![document::Argument::of(next, "text", "4096x4096")],
        ..OpenRegion::of(0, &open)
    });
    image.expect_label(1, Some("gemm 4096x4096"));
    image.expect_key(next, "shape");
    image.expect_tickets(
        0,
        Tickets {
            claimed: 1,
            recovered: 1,
            arguments: 1,
            joined: 1,
            ..Tickets::default()
        },
    );
    image
}

fn withdrawn() -> Image {
    let mut image = Image::new(
        "withdrawn",
        "A task that runs in turns, whose regions take slot 0 one after the other: one that waited, with two arguments, and was withdrawn; one that was withdrawn without a record; one whose turn completed; and the one that waits now, whose slot still has a line of the first one. The two withdrawn regions left no event, and their arguments belong to nothing.",
        lined(8, 1, 2, 5, 64),
    );
    let tenant = |start_ns, claimed_at_begin| OpenRecord {
        start_ns,
        ..running(0, claimed_at_begin)
    };
    let first = tenant(1_000, 0);
    let turn = tenant(2_000, 2);
    let waits = OpenRecord {
        flags: FLAG_WAITING,
        ..tenant(3_000, 4)
    };
    // Of the second one, which began between the two, nothing is left.
    image.item(
        0,
        Item::Argument(numbered(ArgumentsOf::region(&first), 1, 0, 70)),
    );
    let second_argument = numbered(ArgumentsOf::region(&first), 2, 1, 71);
    image.item(0, Item::Argument(second_argument));
    image.argument_line(0, 3, 0, second_argument);
    image.item(
        0,
        Item::Argument(numbered(ArgumentsOf::region(&turn), 3, 0, 72)),
    );
    let completed = Record {
        start_ns: 2_000,
        open_slot: 1,
        flags: FLAG_ARGUMENTS,
        ..region(4)
    };
    image.record(0, completed);
    image.expect_event(0, &completed);
    image.expect_arguments(vec![number(72)], 0);
    image.open(0, waits);
    let argument = numbered(ArgumentsOf::region(&waits), 5, 0, 73);
    image.item(0, Item::Argument(argument));
    image.argument_line(0, 2, 0, argument);
    image.claimed(0, 5);
    image.expect_open_as(OpenRegion {
        arguments: vec![number(73)],
        ..OpenRegion::of(0, &waits)
    });
    image.expect_tickets(
        0,
        Tickets {
            claimed: 5,
            recovered: 5,
            regions: 1,
            arguments: 4,
            joined: 2,
            orphaned: 2,
            ..Tickets::default()
        },
    );
    image
}

fn running_with_more_arguments_than_lines() -> Image {
    let mut image = Image::new(
        "running-with-more-arguments-than-lines",
        "A running region with twelve arguments, while the ring went round. Its slot has the first five and the latest one, the ring has the last but two; five are lost, which their numbers tell. Its own records are of its slot and later than its beginning, and do not remove it.",
        lined(4, 1, 2, 8, 64),
    );
    let open = running(1, 3);
    image.open(1, open);
    let of = ArgumentsOf::region(&open);
    let record = |ordinal: u16| numbered(of, 4 + u64::from(ordinal), ordinal, ordinal.into());
    for ordinal in 0..5 {
        image.argument_line(1, 2 + u32::from(ordinal), 0, record(ordinal));
    }
    image.argument_line(1, 7, 0, record(11));
    // Tickets 13 to 16 of the ring: arguments 10 (ticket 14) and 11 (ticket 15), and two events.
    image.item(0, Item::Argument(record(10)));
    image.item(0, Item::Argument(record(11)));
    image.regions(13..=13);
    image.regions(16..=16);
    image.claimed(0, 16);
    let shown = [0, 1, 2, 3, 4, 10, 11];
    image.expect_open_as(OpenRegion {
        arguments: shown.map(number).to_vec(),
        arguments_lost: 5,
        ..OpenRegion::of(1, &open)
    });
    image.expect_tickets(
        0,
        Tickets {
            claimed: 16,
            recovered: 4,
            overwritten: 12,
            regions: 2,
            arguments: 2,
            joined: 2,
            ..Tickets::default()
        },
    );
    image
}

fn slots_of_other_sizes() -> Image {
    let mut image = Image::new(
        "slots-of-three-lines",
        "Open slots of three lines: one for the latest amendment, one for the latest argument.",
        lined(8, 1, 2, 3, 64),
    );
    let open = running(0, 0);
    image.open(0, open);
    let of = ArgumentsOf::region(&open);
    let amendment = Amendment {
        sequence: 9,
        status: 4,
        ..Amendment::of(&open)
    };
    image.amendment_line(0, 0, amendment);
    image.argument_line(0, 2, 0, numbered(of, 8, 7, 70));
    for sequence in 10..=17 {
        image.record(0, region(sequence));
        image.expect_event(0, &region(sequence));
    }
    image.claimed(0, 17);
    image.expect_open_as(OpenRegion {
        status: 4,
        amended: true,
        arguments: vec![number(70)],
        arguments_lost: 7,
        ..OpenRegion::of(0, &open)
    });
    image.expect_ring(0, [17, 8, 9, 0, 0]);
    image
}

fn amended() -> Image {
    let mut image = Image::new(
        "amended",
        "Running regions that were amended: one whose latest amendment is in its slot and no more in the ring; one that waits since its beginning, and one that waits since an amendment, which is in the ring alone. All that can change did.",
        lined(8, 1, 3, 8, 192),
    );
    image.label(1, "as it began");
    image.label(2, "as it is");
    let began = OpenRecord {
        label_id: 1,
        ..running(0, 0)
    };
    let waiting = OpenRecord {
        flags: FLAG_WAITING,
        ..running(1, 1)
    };
    let put_to_sleep = OpenRecord {
        flags: FLAG_SATURATED,
        ..running(2, 2)
    };
    let amendment = Amendment {
        sequence: 3,
        copied_bytes: 77,
        correlation_id: 88,
        lane: 3,
        label_id: 2,
        status: 9,
        flags: FLAG_SATURATED,
        ..Amendment::of(&began)
    };
    image.open(0, began);
    image.open(1, waiting);
    image.open(2, put_to_sleep);
    image.amendment_line(0, 0, amendment);
    let mut asleep = Amendment::of(&put_to_sleep);
    for (sequence, flags) in [(5, FLAG_WAITING), (6, 0), (7, FLAG_WAITING)] {
        asleep = Amendment {
            sequence,
            flags,
            ..asleep
        };
        image.item(0, Item::Amendment(asleep));
    }
    image.regions(4..=4);
    image.regions(8..=11);
    image.claimed(0, 11);
    image.expect_open_as(OpenRegion {
        copied_bytes: 77,
        correlation_id: 88,
        lane: 3,
        label_id: 2,
        status: 9,
        saturated: true,
        amended: true,
        ..OpenRegion::of(0, &began)
    });
    image.expect_open(1, &waiting);
    image.expect_open_as(OpenRegion {
        waiting: true,
        saturated: false,
        amended: true,
        ..OpenRegion::of(2, &put_to_sleep)
    });
    image.expect_label(2, Some("as it is"));
    image.expect_tickets(
        0,
        Tickets {
            claimed: 11,
            recovered: 8,
            overwritten: 3,
            regions: 5,
            amendments: 3,
            ..Tickets::default()
        },
    );
    image
}

fn hidden_regions() -> Image {
    let mut image = Image::new(
        "hidden-regions",
        "The open table was full: both slots show their regions, three more ran unseen at the end, of five that ever did.",
        tight(4, 1, 2, 64),
    );
    image.open(0, running(0, 0));
    image.open(1, running(1, 0));
    for sequence in 1..=2 {
        let record = Record {
            open_slot: OPEN_SLOT_NONE,
            ..region(sequence)
        };
        image.record(0, record);
        image.expect_event(0, &record);
    }
    image.claimed(0, 2);
    image.counters(|counters| {
        counters.open_refused = 5;
        counters.hidden_now = 3;
    });
    image.expect_open(0, &running(0, 0));
    image.expect_open(1, &running(1, 0));
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image
}

fn lanes() -> Image {
    let mut image = Image::new(
        "lanes",
        "Names of lanes: two that were given out by name, one of which was renamed; a new name for lane 1; a lane without a name.",
        tight(4, 1, 1, 64 * 5),
    );
    let named = 1 << 31;
    for (name_id, (lane, text)) in (1..).zip([
        (named, "stream 3"),
        (named + 1, "old name"),
        (1, "GPU 0"),
        (
            named + 1,
            "a new name, which is so long that it takes two blocks",
        ),
    ]) {
        image.name(name_id, &Name::lane(lane, text));
    }
    for (sequence, lane) in (1..).zip([named, named + 1, 1, named + 2]) {
        let record = Record {
            lane,
            ..region(sequence)
        };
        image.record(0, record);
        image.expect_event(0, &record);
    }
    image.claimed(0, 4);
    for (lane, text) in [
        (1, "GPU 0"),
        (named, "stream 3"),
        (
            named + 1,
            "a new name, which is so long that it takes two blocks",
        ),
    ] {
        image.expected.lanes.insert(lane, (text.to_owned(), 0));
    }
    image.expect_ring(0, [4, 4, 0, 0, 0]);
    image
}

fn threads() -> Image {
    let mut image = Image::new(
        "threads",
        "Names of threads, of which the one since before an event's end holds: an id that the system used again, a thread that was renamed, two names since the same moment, an event that ended before its thread's first name, a thread without a name, an open region.",
        tight(16, 1, 1, 64 * 8),
    );
    let [first, second, third] = [THREAD, THREAD + 1, THREAD + 2];
    let names = [
        (first, 1_000, "loader"),
        (first, 5_000, "writer"),
        (second, 2_000, "worker-1"),
        (second, 2_000, "worker-2"),
        (first, 3_000, "loader, renamed"),
        (u32::MAX, 0, ""),
    ];
    for (name_id, (thread_id, since_ns, text)) in (1..).zip(names) {
        image.name(name_id, &Name::thread(thread_id, since_ns, text));
        image.expected.threads.push(ThreadName {
            thread_id,
            since_ns,
            text: text.to_owned(),
            group: 0,
        });
    }
    // Thread, start, end, name.
    let regions = [
        (first, 100, 999, Some("loader")),
        (first, 100, 1_000, Some("loader")),
        (first, 100, 2_999, Some("loader")),
        (first, 100, 3_000, Some("loader, renamed")),
        (first, 4_999, 5_000, Some("writer")),
        (second, 5_000, 5_001, Some("worker-2")),
        (second, 1_000, 1_001, Some("worker-2")),
        (third, 6_000, 6_001, None),
        (u32::MAX, 6_000, 6_001, Some("")),
    ];
    for (sequence, (thread_id, start_ns, end_ns, name)) in (1..).zip(regions) {
        let record = Record {
            thread_id,
            start_ns,
            duration_ns: end_ns - start_ns,
            ..region(sequence)
        };
        image.record(0, record);
        image.expect_event(0, &record);
        if let Some(name) = name {
            image.expect_thread(name);
        }
    }
    let record = Mark {
        start_ns: 5_500,
        ..mark(10)
    };
    image.item(0, Item::Mark(record));
    image.expect(Event::mark(0, &record));
    image.expect_thread("writer");
    let open = OpenRecord {
        start_ns: 3_500,
        ..running(0, 9)
    };
    image.open(0, open);
    image.expect_open_as(OpenRegion {
        thread: Some("loader, renamed".to_owned()),
        ..OpenRegion::of(0, &open)
    });
    image.claimed(0, 10);
    image.expect_tickets(
        0,
        Tickets {
            claimed: 10,
            recovered: 10,
            regions: 9,
            marks: 1,
            ..Tickets::default()
        },
    );
    image
}

fn groups() -> Image {
    let mut image = Image::new(
        "groups",
        "Groups of labels, a lane, a thread and a key, one of them shared; the same text in two groups is two labels. A group's own group means nothing, and a group that no used name is in is not listed.",
        tight(4, 1, 1, 64 * 11),
    );
    image.name(1, &Name::of(NAME_GROUP, "nccl").in_group(2));
    image.name(2, &Name::of(NAME_GROUP, "GPU 0"));
    image.name(3, &Name::of(NAME_GROUP, "not used"));
    image.name(4, &Name::of(NAME_LABEL, "all_reduce").in_group(1));
    image.name(5, &Name::of(NAME_LABEL, "all_reduce").in_group(2));
    image.name(6, &Name::lane(2, "stream 0").in_group(10));
    image.name(7, &Name::thread(THREAD, 0, "proxy").in_group(11));
    image.name(8, &Name::of(NAME_KEY, "bytes").in_group(1));
    image.name(9, &Name::of(NAME_LABEL, "in group 3").in_group(3));
    image.name(10, &Name::of(NAME_GROUP, "GPU 1"));
    image.name(11, &Name::of(NAME_GROUP, "pool"));
    let of = ArgumentsOf::event(2_100, THREAD);
    image.item(
        0,
        Item::Argument(argument(of, 1, 0, 8, ArgumentValue::U64(1 << 20))),
    );
    let marked = Mark {
        label_id: 4,
        flags: FLAG_ARGUMENTS,
        ..mark(2)
    };
    image.item(0, Item::Mark(marked));
    image.expect(Event::mark(0, &marked));
    image.expect_arguments(vec![document::Argument::of(8, "u64", 1 << 20)], 0);
    image.expect_thread("proxy");
    let record = Record {
        label_id: 5,
        ..region(3)
    };
    image.record(0, record);
    image.expect_event(0, &record);
    image.expect_thread("proxy");
    image.claimed(0, 3);
    let name = |text: &str, group| Some((text.to_owned(), group));
    image.expected.labels.insert(4, name("all_reduce", 1));
    image.expected.labels.insert(5, name("all_reduce", 2));
    image.expected.keys.insert(8, name("bytes", 1));
    image.expected.lanes.insert(2, ("stream 0".to_owned(), 10));
    image.expected.threads.push(ThreadName {
        thread_id: THREAD,
        since_ns: 0,
        text: "proxy".to_owned(),
        group: 11,
    });
    image.expect_group(1, Some("nccl"));
    image.expect_group(2, Some("GPU 0"));
    image.expect_group(10, Some("GPU 1"));
    image.expect_group(11, Some("pool"));
    image.expect_tickets(
        0,
        Tickets {
            claimed: 3,
            recovered: 3,
            regions: 1,
            marks: 1,
            arguments: 1,
            joined: 1,
            ..Tickets::default()
        },
    );
    image
}

fn left_by_exit() -> Image {
    let mut image = Image::new(
        "left-by-exit",
        "The process returned from `main` without a finish: the ending is not a death. A destructor still recorded an event after the handler's moment.",
        tight(4, 1, 1, 64),
    );
    image.left_by_exit(1_500);
    image.regions(1..=2);
    image.claimed(0, 2);
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image
}

fn last_alive() -> Image {
    let mut image = Image::new(
        "last-alive",
        "A process that went on saying that it lives for six seconds after its last event: its last sign of life is not its last event.",
        tight(4, 1, 1, 64),
    );
    image.regions(1..=1);
    image.open(0, running(0, 1));
    image.expect_open(0, &running(0, 1));
    image.claimed(0, 1);
    image.counters(|counters| counters.last_alive_ns = 6_000_000_000);
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn witness_of_a_signal() -> Image {
    let mut image = Image::new(
        "witness-of-a-signal",
        "A witness saw the process killed by SIGKILL, for the kernel to get memory. A region was running; the last sign of life is before what the witness saw.",
        tight(4, 1, 1, 64),
    );
    image.open(0, running(0, 0));
    image.expect_open(0, &running(0, 0));
    image.counters(|counters| counters.last_alive_ns = 399_999);
    let witness = killed(&image.identity);
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "died");
    image
}

fn witness_of_an_exit() -> Image {
    let mut image = Image::new(
        "witness-of-an-exit",
        "A witness saw the process exit with status 3, without a finish and without its exit handler: `_exit`. What else the witness could have known it did not know.",
        tight(4, 1, 1, 64),
    );
    image.regions(1..=1);
    image.claimed(0, 1);
    let witness = Witness {
        peak_resident_bytes: 0,
        status: 3,
        cause: CAUSE_EXIT,
        core_dumped: 0,
        out_of_memory: 0,
        ..killed(&image.identity)
    };
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "ended-without-finish");
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn witness_of_an_exec() -> Image {
    let mut image = Image::new(
        "witness-of-an-exec",
        "A witness saw the process replace its program: the capture is over, the process is not.",
        tight(4, 1, 1, 64),
    );
    let witness = Witness {
        peak_resident_bytes: 0,
        user_ns: 0,
        system_ns: 0,
        status: 0,
        cause: CAUSE_EXEC,
        core_dumped: 0,
        out_of_memory: 0,
        ..killed(&image.identity)
    };
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "replaced-by-exec");
    image
}

fn witness_of_a_finished_capture() -> Image {
    let mut image = Image::new(
        "witness-of-a-finished-capture",
        "The capture was finished, and the process crashed later: the ending is finished, and the witness is shown.",
        tight(4, 1, 1, 64),
    );
    image.finished(300_000);
    let witness = Witness {
        status: 11,
        core_dumped: 2,
        out_of_memory: 1,
        ..killed(&image.identity)
    };
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "finished");
    image
}

fn witness_of_another_time_namespace() -> Image {
    let mut image = Image::new(
        "witness-of-another-time-namespace",
        "A witness whose monotonic clock is not the writer's: the moment is that of the wall clock, only about right, and no bound for the last sign of life.",
        tight(4, 1, 1, 64),
    );
    image.counters(|counters| counters.last_alive_ns = 500_000);
    let witness = Witness {
        time_namespace: 4_026_532_999,
        seen_monotonic_ns: 5,
        ..killed(&image.identity)
    };
    image.witness(witness);
    image.expect_witness(&witness, 400_020, false, "died");
    image
}

fn witness_of_a_crash_in_an_exit_handler() -> Image {
    let mut image = Image::new(
        "witness-of-a-crash-in-an-exit-handler",
        "The process began to exit, and a later exit handler crashed, which only the witness tells: it died.",
        tight(4, 1, 1, 64),
    );
    image.left_by_exit(300_000);
    let witness = Witness {
        status: 6,
        ..killed(&image.identity)
    };
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "died");
    image
}

fn clock_not_known() -> Image {
    let mut identity = tight(4, 1, 1, 64);
    identity.clock = 2;
    let mut image = Image::new(
        "clock-not-known",
        "The times are of a clock that this version does not know: they are read, and compared with no other clock, the witness's among them.",
        identity,
    );
    image.regions(1..=1);
    image.claimed(0, 1);
    image.counters(|counters| counters.last_alive_ns = 500_000);
    let witness = killed(&image.identity);
    image.witness(witness);
    image.expect_witness(&witness, 400_020, false, "died");
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn other_time_namespace() -> Image {
    let mut identity = tight(4, 1, 1, 64);
    identity.time_namespace = 4_026_532_998;
    identity.monotonic_offset_ns = -3_600_000_000_000;
    identity.epoch_bracket_ns = u32::MAX;
    let mut image = Image::new(
        "other-time-namespace",
        "A capture of a time namespace whose monotonic clock is an hour behind the machine's; its three clocks could not be read close to each other.",
        identity,
    );
    image.regions(1..=1);
    image.claimed(0, 1);
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}
