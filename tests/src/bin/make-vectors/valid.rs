//! Files in which nothing went wrong.

use hrx_trace_format::record::{FLAG_FAILED, FLAG_SATURATED};
use hrx_trace_format::{Checksum, OpenRecord, Record};

use crate::image::{Image, region, running, tight, usual};

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
        open_regions(),
        finished_with_an_open_region(),
        counts(),
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
        open_slot: 1,
        kind: 0,
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
        tight(16, 1, 2, 64 * 24),
    );
    let one_block = "b".repeat(52);
    let two_blocks = "c".repeat(53);
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
        counters.labels_refused = 13;
    });
    image.expect_ring(0, [5, 2, 3, 0, 0]);
    image
}

fn unknown_kinds() -> Image {
    let mut image = Image::new(
        "unknown-kinds",
        "Records of kinds that this version does not know, as a newer writer may write them: they are skipped and counted, the others are read. One in the open table is counted as torn.",
        tight(4, 1, 2, 64),
    );
    image.regions(1..=1);
    for (sequence, kind) in [(2, 1), (3, u16::MAX)] {
        image.record(
            0,
            Record {
                kind,
                ..region(sequence)
            },
        );
    }
    image.regions(4..=4);
    image.claimed(0, 4);
    image.open(
        0,
        OpenRecord {
            kind: 2,
            ..running(0, 4)
        },
    );
    image.expected.open_torn = 1;
    image.expect_ring(0, [4, 2, 0, 0, 2]);
    image
}

fn unused_bits() -> Image {
    let mut image = Image::new(
        "unused-bits",
        "Everything unused is set, as a newer minor version may do: a reader ignores it.",
        tight(4, 2, 2, 64),
    );
    let identity = image.identity;
    let space = identity.counters_offset - u64::from(identity.identity_bytes);
    image.put(
        u64::from(identity.identity_bytes),
        &vec![0xA5; space as usize],
    );
    image.counters(|counters| counters.unused = [u64::MAX; 2]);
    for ring in 0..2 {
        image.put(identity.control_line(ring) + 8, &[0xFF; 56]);
    }
    let record = Record {
        flags: 0xFD,
        open_slot: 0xFF,
        ..region(1)
    };
    image.record(0, record);
    image.claimed(0, 1);
    let open = OpenRecord {
        flags: 0xFD,
        ..running(0, 1)
    };
    image.open(0, open);
    image.expect_event(0, &record);
    image.expect_open(0, &open);
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn newer_minor() -> Image {
    let mut image = Image::new(
        "newer-minor",
        "Version 1.9 with an identity of 1100 bytes: a reader of 1.0 reads what it knows.",
        tight(4, 1, 2, 64),
    );
    image.regions(1..=3);
    image.claimed(0, 3);
    image.finished(9_000);
    image.expect_ring(0, [3, 3, 0, 0, 0]);
    image.expected.version = "1.9".to_owned();
    image.put(10, &9u16.to_le_bytes());
    image.put(12, &1100u32.to_le_bytes());
    image.put(1024, &[0x5A; 76]);
    image.put(16, &[0; 4]);
    let crc32 = Checksum::new().of(&[&image.bytes[..1100]]);
    image.put(16, &crc32.to_le_bytes());
    image
}

fn unusual_layout() -> Image {
    let mut identity = tight(3, 2, 3, 192);
    identity.counters_offset += 64;
    identity.control_offset += 192;
    identity.control_stride = 192;
    identity.open_offset += 640;
    identity.label_offset += 768;
    identity.ring_offset += 832;
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
        image.put(identity.open_slot(slot), &[0; 64]);
    }
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
        "Neither an open table nor a label table: the label that a record names cannot be read, but the event is there.",
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
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn salt_wraps() -> Image {
    let mut identity = tight(2, 3, 1, 64);
    identity.salt = u32::MAX - 1;
    let mut image = Image::new(
        "salt-wraps",
        "A salt so high that the salts of the areas wrap around: the label table has salt 0, ring 0 has salt 1.",
        identity,
    );
    let record = Record {
        label_id: 1,
        ..region(1)
    };
    image.label(1, "salted");
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
    identity.attributes = [0; 704];
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
