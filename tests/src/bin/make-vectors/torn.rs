//! Crash images and damaged files: what is intact is read, what is lost is counted.

use hrx_trace_format::name::{self, BLOCK_BYTES, ENTRY_HEADER_BYTES, NAME_KEY, NAME_LABEL, encode};
use hrx_trace_format::open::{SEQUENCE_OPEN, SEQUENCE_TAKEN, sequence_of};
use hrx_trace_format::record::{FLAG_ARGUMENTS, OPEN_SLOT_NONE};
use hrx_trace_format::{
    Amendment, Area, Argument, ArgumentValue, ArgumentsOf, Checksum, Item, Mark, Name, OpenRecord,
    Record, Value, Witness,
};
use hrx_trace_tests::document::{self, Event, OpenRegion, Tickets};

use crate::image::{
    Image, THREAD, argument, killed, lined, mark, number, numbered, region, running, sample, tight,
};

pub fn images() -> Vec<Image> {
    vec![
        died_before_the_first_event(),
        died_while_recording(),
        died_while_overwriting(),
        died_with_a_ticket(),
        died_between_record_and_clear(),
        slot_used_again(),
        died_in_begin(),
        torn_open_slots(),
        torn_names(),
        died_in_an_argument(),
        died_between_an_argument_and_its_line(),
        died_in_a_line(),
        died_in_an_amendment(),
        died_between_an_amendment_and_its_line(),
        died_while_rewriting_an_amendment(),
        died_before_a_mark(),
        arguments_of_lost_marks(),
        lines_of_earlier_tenants(),
        lines_that_cannot_be_believed(),
        equal_beginnings(),
        arguments_of_lost_regions(),
        arguments_that_belong_to_nothing(),
        overwritten_arguments(),
        texts_with_missing_parts(),
        texts_that_contradict_themselves(),
        arguments_not_known(),
        hidden_too_high(),
        last_alive_after_the_end(),
        witness_damaged(),
        witness_of_another_capture(),
        witness_not_known(),
        left_by_exit_half_written(),
        claimed_behind(),
        claimed_never_written_back(),
        claimed_ahead(),
        claimed_far_ahead(),
        claimed_impossible(),
        claimed_impossible_and_nothing_left(),
        sequence_impossible(),
        overtaken_writer(),
        older_capture(),
        moved_blocks(),
        flipped_bits(),
        state_damaged(),
        cut_in_the_ring(),
        cut_by_one_byte(),
        cut_in_the_open_table(),
        cut_in_a_name(),
        cut_after_the_header(),
        cut_ring_of_any_size(),
    ]
}

fn died_before_the_first_event() -> Image {
    Image::new(
        "died-before-the-first-event",
        "A capture whose writer died before anything was recorded.",
        tight(4, 1, 2, 64),
    )
}

fn died_while_recording() -> Image {
    let mut image = Image::new(
        "died-while-recording",
        "A thread died inside `record` with half of its words written, and another thread went on: one ticket is torn.",
        tight(8, 1, 2, 64),
    );
    image.regions(1..=3);
    let place = image.place(0, 4);
    let half = bytemuck::bytes_of(&image.sealed(0, region(4)))[8..40].to_vec();
    image.put(place + 8, &half);
    image.regions(5..=5);
    image.claimed(0, 5);
    image.expect_ring(0, [5, 4, 0, 1, 0]);
    image
}

fn died_while_overwriting() -> Image {
    let mut image = Image::new(
        "died-while-overwriting",
        "A wrapped ring whose newest slot was being overwritten: its sequence is 0, its first words are new, the others are from the previous lap.",
        tight(4, 1, 2, 64),
    );
    image.record(0, region(2));
    let place = image.place(0, 6);
    let half = bytemuck::bytes_of(&image.sealed(0, region(6)))[8..32].to_vec();
    image.put(place, &[0; 8]);
    image.put(place + 8, &half);
    image.regions(3..=5);
    image.claimed(0, 6);
    image.expect_ring(0, [6, 3, 2, 1, 0]);
    image
}

fn died_with_a_ticket() -> Image {
    let mut image = Image::new(
        "died-with-a-ticket",
        "A thread took a ticket and died before it touched the slot, which still holds a whole record of the previous lap: that record counts as overwritten, the ticket as torn.",
        tight(4, 1, 2, 64),
    );
    image.record(0, region(2));
    image.regions(3..=5);
    image.claimed(0, 6);
    image.expect_ring(0, [6, 3, 2, 1, 0]);
    image
}

fn died_between_record_and_clear() -> Image {
    let mut image = Image::new(
        "died-between-record-and-clear",
        "The completed record was written, but its open slot not yet cleared: the region is reported once, as completed. The region in the other open slot is shown.",
        tight(4, 1, 4, 64),
    );
    image.regions(1..=1);
    let completed = Record {
        open_slot: 3,
        ..region(2)
    };
    image.record(0, completed);
    image.expect_event(0, &completed);
    image.claimed(0, 2);
    image.open(2, running(2, 1));
    image.open(3, running(3, 1));
    image.expect_open(3, &running(3, 1));
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image
}

fn slot_used_again() -> Image {
    let mut image = Image::new(
        "slot-used-again",
        "Records of earlier regions in the same open slot, and one of another ring with a later ticket: none of them is the running region, which is shown.",
        tight(4, 2, 1, 64),
    );
    for (ring, sequence) in [(0, 1), (0, 2), (1, 1), (1, 2), (1, 3)] {
        let record = Record {
            open_slot: 1,
            start_ns: sequence * 1_000 + u64::from(ring) * 100_000,
            ..region(sequence)
        };
        image.record(ring, record);
        image.expect_event(ring, &record);
    }
    image.claimed(0, 2);
    image.claimed(1, 3);
    image.open(0, running(0, 2));
    image.expect_open(0, &running(0, 2));
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image.expect_ring(1, [3, 3, 0, 0, 0]);
    image
}

fn died_in_begin() -> Image {
    let mut image = Image::new(
        "died-in-begin",
        "An open slot that was taken but not yet filled and still has the words of its last region: there is nothing to show or to count.",
        tight(2, 1, 2, 64),
    );
    image.regions(1..=1);
    image.claimed(0, 1);
    image.open(0, running(0, 0));
    image.put(image.identity.open_slot(0), &SEQUENCE_TAKEN.to_le_bytes());
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn torn_open_slots() -> Image {
    let mut image = Image::new(
        "torn-open-slots",
        "Open records that cannot be believed: a flipped bit, another slot's number, a ring that does not exist, garbage, an ended region with a flipped bit in its slot's zero word, an ended region under the word of the next one, of the same ring or of another with as many tickets. The one intact region among them is shown.",
        tight(2, 2, 9, 64),
    );
    image.open(0, running(0, 0));
    let place = image.identity.open_slot(0) + 9;
    image.bytes[place as usize] ^= 1;
    image.open(1, running(0, 0));
    image.open(
        2,
        OpenRecord {
            ring: 2,
            ..running(2, 0)
        },
    );
    image.open(3, running(3, 0));
    image.put(image.identity.open_slot(4), &[0x77; 64]);
    image.open(5, running(5, 0));
    image.put(image.identity.open_slot(5), &1u64.to_le_bytes());
    image.open(6, running(6, 0));
    let next = sequence_of(1, 0);
    image.put(image.identity.open_slot(6), &next.to_le_bytes());
    image.open(7, running(7, 0));
    let next = sequence_of(0, 1);
    image.put(image.identity.open_slot(7), &next.to_le_bytes());
    image.open(8, running(8, 5));
    image.put(image.identity.open_slot(8), &SEQUENCE_OPEN.to_le_bytes());
    image.expected.open_torn = 8;
    image.expect_open(3, &running(3, 0));
    image
}

fn torn_names() -> Image {
    let mut image = Image::new(
        "torn-names",
        "Names that cannot be read: second block missing, not UTF-8, in another entry's place, an id inside an entry, past the table, running over its end, a key as a label, a label as a key, a group that is none. No event is lost, the intact names among them are read, and all of it is one damage.",
        tight(16, 1, 1, 64 * 10),
    );
    let long = "x".repeat(80);
    image.label(1, &long);
    image.put(image.identity.name_entry(2), &[0; 64]);
    image.label(3, "sound");
    image.label(4, "ab");
    let salt = Area::NameTable.salt(image.identity.salt);
    let entry = image.identity.name_entry(4) as usize;
    image.bytes[entry + ENTRY_HEADER_BYTES] = 0xFF;
    let crc32 = Checksum::new().of(&[&salt.to_le_bytes(), &image.bytes[entry + 4..entry + 64]]);
    image.put(entry as u64, &crc32.to_le_bytes());
    let moved = image.bytes[image.identity.name_entry(3) as usize..][..64].to_vec();
    image.put(image.identity.name_entry(5), &moved);
    image.name(6, &Name::of(NAME_KEY, "a key"));
    image.name(7, &Name::of(NAME_LABEL, "in no group").in_group(3));
    image.name(8, &Name::lane(3, "a lane"));
    // Its second block overwrites the start of the ring, and so the record of ticket 1.
    let mut runs_over = vec![0; 2 * BLOCK_BYTES];
    let name = Name::of(NAME_LABEL, &long[..60]);
    assert_eq!(name::blocks_of(name.text.len()), 2);
    encode(&mut runs_over, 10, &name, &Checksum::new(), salt).expect("a name in range");
    image.put(image.identity.name_entry(10), &runs_over);
    let ids = [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, u32::MAX];
    for (sequence, label_id) in (2..).zip(ids) {
        let record = Record {
            label_id,
            ..region(sequence)
        };
        image.record(0, record);
        image.expect_event(0, &record);
        image.expect_label(label_id, (label_id == 3).then_some("sound"));
    }
    let in_no_group = Some(("in no group".to_owned(), 3));
    image.expected.labels.insert(7, in_no_group);
    image.expect_group(3, None);
    image.expected.lanes.insert(3, ("a lane".to_owned(), 0));
    let of = ArgumentsOf::event(13_100, THREAD);
    let record = argument(of, 13, 0, 3, ArgumentValue::U64(1));
    image.item(0, Item::Argument(record));
    let marked = Mark {
        start_ns: 13_100,
        flags: FLAG_ARGUMENTS,
        ..mark(14)
    };
    image.item(0, Item::Mark(marked));
    image.expect(Event::mark(0, &marked));
    image.expect_arguments(vec![document::Argument::of(3, "u64", 1)], 0);
    image.expected.keys.insert(3, None);
    image.claimed(0, 14);
    image.finished(20_000);
    image.expect_damage(image.identity.name_entry(1));
    image.expect_tickets(
        0,
        Tickets {
            claimed: 14,
            recovered: 13,
            torn: 1,
            regions: 11,
            marks: 1,
            arguments: 1,
            joined: 1,
            ..Tickets::default()
        },
    );
    image
}

fn claimed_behind() -> Image {
    let mut image = Image::new(
        "claimed-behind",
        "After a power loss, the header's page is older than the ring's: the counter says 2, but record 6 is there, so six tickets were given out.",
        tight(8, 1, 2, 64),
    );
    image.regions(1..=4);
    image.regions(6..=6);
    image.claimed(0, 2);
    image.expect_ring(0, [6, 5, 0, 1, 0]);
    image.expect_damage(image.identity.control_line(0));
    image
}

fn claimed_never_written_back() -> Image {
    let mut image = Image::new(
        "claimed-never-written-back",
        "After a power loss, the counter is 0, although the ring has wrapped.",
        tight(4, 1, 2, 64),
    );
    image.regions(5..=8);
    image.expect_ring(0, [8, 4, 4, 0, 0]);
    image.expect_damage(image.identity.control_line(0));
    image
}

fn claimed_ahead() -> Image {
    let mut image = Image::new(
        "claimed-ahead",
        "After a power loss, the ring's pages are older than the header's: four of six tickets have their records. The counter stands, and the other two are torn.",
        tight(8, 1, 2, 64),
    );
    image.regions(1..=4);
    image.claimed(0, 6);
    image.expect_ring(0, [6, 4, 0, 2, 0]);
    image
}

fn claimed_far_ahead() -> Image {
    let mut image = Image::new(
        "claimed-far-ahead",
        "A flipped bit in the counter moves the window to where there is no record: the newest record is better evidence.",
        tight(4, 1, 2, 64),
    );
    image.regions(2..=5);
    image.claimed(0, 5 + (1 << 40));
    image.expect_ring(0, [5, 4, 1, 0, 0]);
    image.expect_damage(image.identity.control_line(0));
    image
}

fn claimed_impossible() -> Image {
    let mut image = Image::new(
        "claimed-impossible",
        "A counter larger than any ring can reach.",
        tight(4, 1, 2, 64),
    );
    image.regions(1..=2);
    image.claimed(0, u64::MAX);
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image.expect_damage(image.identity.control_line(0));
    image
}

fn claimed_impossible_and_nothing_left() -> Image {
    let mut image = Image::new(
        "claimed-impossible-and-nothing-left",
        "Two counters without any record, one as large as a ring can reach and one larger by 1: the first stands, the second is damage, and nothing is known about its ring.",
        tight(4, 2, 2, 64),
    );
    let most = (1 << 54) - 1;
    image.claimed(0, most);
    image.claimed(1, most + 1);
    image.expect_ring(0, [most, 0, most - 4, 4, 0]);
    image.expect_damage(image.identity.control_line(1));
    image
}

fn sequence_impossible() -> Image {
    let mut image = Image::new(
        "sequence-impossible",
        "A record that verifies, with a ticket larger than any ring can give out: it does not move the window.",
        tight(4, 1, 2, 64),
    );
    image.regions(1..=2);
    image.record(
        0,
        Record {
            sequence: 1 << 54,
            ..region(4)
        },
    );
    image.claimed(0, 2);
    image.expect_ring(0, [2, 2, 0, 0, 0]);
    image
}

fn overtaken_writer() -> Image {
    let mut image = Image::new(
        "overtaken-writer",
        "A thread stalled inside `record` for a whole lap and then wrote the record of its old ticket over a newer one: it is whole, but outside the window, so the newer ticket is torn.",
        tight(4, 1, 2, 64),
    );
    image.regions(5..=5);
    image.record(0, region(2));
    image.regions(7..=8);
    image.claimed(0, 8);
    image.expect_ring(0, [8, 3, 4, 1, 0]);
    image
}

fn older_capture() -> Image {
    let mut image = Image::new(
        "older-capture",
        "Blocks of an older capture, with another salt, are in the ring, the open table and the name table: none is believed.",
        tight(4, 1, 2, 128),
    );
    let mut older = tight(4, 1, 2, 128);
    older.salt ^= 1;
    let mut older = Image::new("", "", older);
    for sequence in 1..=4 {
        older.record(0, region(sequence));
    }
    older.open(0, running(0, 1));
    older.label(1, "older");
    let identity = image.identity;
    let from = identity.open_offset as usize;
    image.put(identity.open_offset, &older.bytes[from..]);
    let record = Record {
        label_id: 1,
        ..region(1)
    };
    image.record(0, record);
    image.claimed(0, 3);
    image.expect_event(0, &record);
    image.expect_label(1, None);
    image.expect_damage(image.identity.name_entry(1));
    image.expected.open_torn = 1;
    image.expect_ring(0, [3, 1, 0, 2, 0]);
    image
}

fn moved_blocks() -> Image {
    let mut image = Image::new(
        "moved-blocks",
        "Genuine blocks in wrong places: a record of ring 0 in the same slot of ring 1, in a neighbouring slot and in the open table; an open record in the ring. None is believed.",
        tight(4, 2, 2, 64),
    );
    image.regions(1..=1);
    image.claimed(0, 3);
    image.claimed(1, 1);
    let genuine = image.sealed(0, region(1));
    let genuine = bytemuck::bytes_of(&genuine);
    image.put(image.identity.ring_slot(1, 0), genuine);
    image.put(image.identity.ring_slot(0, 1), genuine);
    image.put(image.identity.open_slot(0), genuine);
    image.open(1, running(1, 1));
    let open = image.bytes[image.identity.open_slot(1) as usize..][..64].to_vec();
    // As ticket 2 it would belong in slot 1; slot 2 is where ticket 3 is looked for.
    image.put(image.identity.ring_slot(0, 2), &open);
    image.expect_open(1, &running(1, 1));
    image.expected.open_torn = 1;
    image.expect_ring(0, [3, 1, 0, 2, 0]);
    image.expect_ring(1, [1, 0, 0, 1, 0]);
    image
}

fn flipped_bits() -> Image {
    let mut image = Image::new(
        "flipped-bits",
        "Four records, each with one flipped bit: in the sequence, the times, the flags, the checksum. Each costs its own record and no other.",
        tight(8, 1, 1, 64),
    );
    for sequence in 1..=8 {
        image.record(0, region(sequence));
    }
    for (sequence, byte) in [(2, 1), (4, 20), (5, 56), (7, 63)] {
        let at = image.place(0, sequence) + byte;
        image.bytes[at as usize] ^= 0x10;
    }
    for sequence in [1, 3, 6, 8] {
        image.expect_event(0, &region(sequence));
    }
    image.claimed(0, 8);
    image.expect_ring(0, [8, 4, 0, 4, 0]);
    image
}

fn state_damaged() -> Image {
    let mut image = Image::new(
        "state-damaged",
        "A state word with one flipped bit is neither of the two valid ones: damage, treated as not finished, so the time of the finish is ignored too.",
        tight(2, 1, 1, 64),
    );
    image.regions(1..=1);
    image.claimed(0, 1);
    image.counters(|counters| {
        counters.state = u64::from_le_bytes(*b"FINISHEE");
        counters.finished_ns = 9_000;
    });
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image.expect_damage(image.identity.counters_offset);
    image
}

fn cut_in_the_ring() -> Image {
    let mut image = Image::new(
        "cut-in-the-ring",
        "The file was cut inside the third record of a wrapped ring: that slot and the next are torn.",
        tight(4, 1, 1, 64),
    );
    image.regions(5..=6);
    image.record(0, region(7));
    image.record(0, region(8));
    image.claimed(0, 8);
    image.cut(image.place(0, 7) + 40);
    image.expect_ring(0, [8, 2, 4, 2, 0]);
    image
}

fn cut_by_one_byte() -> Image {
    let mut image = Image::new(
        "cut-by-one-byte",
        "The last record lacks its last byte, which was zero: a slot that is not wholly inside the file is torn even so.",
        tight(2, 1, 1, 64),
    );
    let record = (0..)
        .map(|correlation_id| Record {
            correlation_id,
            ..region(2)
        })
        .find(|record| image.sealed(0, *record).crc32 >> 24 == 0)
        .expect("one of 256 or so");
    image.regions(1..=1);
    image.record(0, record);
    image.claimed(0, 2);
    image.cut(image.identity.file_bytes - 1);
    image.expect_ring(0, [2, 1, 0, 1, 0]);
    image
}

fn cut_in_a_name() -> Image {
    let mut image = Image::new(
        "cut-in-a-name",
        "The file was cut in the zeroes after a label's text: the entry is not wholly inside the file, so it cannot be read. The region that it names is shown.",
        tight(2, 1, 1, 64),
    );
    let open = OpenRecord {
        label_id: 1,
        ..running(0, 0)
    };
    image.label(1, "short");
    image.open(0, open);
    image.expect_open(0, &open);
    image.expect_label(1, None);
    image.expect_damage(image.identity.name_entry(1));
    image.cut(image.identity.name_entry(1) + 40);
    image
}

fn cut_in_the_open_table() -> Image {
    let mut image = Image::new(
        "cut-in-the-open-table",
        "The file was cut inside the open table: what is left of the slot is torn, the slots after it read as free, names and rings are lost and counted.",
        tight(4, 1, 3, 64),
    );
    image.open(0, running(0, 0));
    image.open(1, running(1, 0));
    image.open(2, running(2, 0));
    image.claimed(0, 3);
    image.cut(image.identity.open_slot(1) + 30);
    image.expect_open(0, &running(0, 0));
    image.expected.open_torn = 1;
    image.expect_ring(0, [3, 0, 0, 3, 0]);
    image
}

fn cut_after_the_header() -> Image {
    let mut image = Image::new(
        "cut-after-the-header",
        "Only the space for the identity is left: who recorded is known, the state is not, and that is reported.",
        tight(4, 1, 1, 64),
    );
    image.claimed(0, 3);
    image.cut(2048);
    image.expect_damage(image.identity.counters_offset);
    image
}

fn cut_ring_of_any_size() -> Image {
    let mut identity = tight(1, 1, 1, 64);
    identity.capacity = 1 << 46;
    identity.ring_stride = 64 << 46;
    identity.file_bytes = identity.ring_offset + identity.ring_stride;
    let mut image = Image::cut_short(
        "cut-ring-of-any-size",
        "A ring of 2^46 records of which two are left: the others are counted by arithmetic, not one by one.",
        identity,
        tight(2, 1, 1, 64).file_bytes,
    );
    image.regions(1..=2);
    image.claimed(0, 1 << 40);
    image.expect_ring(0, [1 << 40, 2, 0, (1 << 40) - 2, 0]);
    image
}

/// A running region in slot 0 of a table of two slots of eight lines, one argument in ring and line, and the ring's ticket 1.
fn with_an_argument(name: &'static str, purpose: &'static str) -> (Image, OpenRecord) {
    let mut image = Image::new(name, purpose, lined(8, 1, 2, 8, 64));
    let open = running(0, 0);
    image.open(0, open);
    let record = numbered(ArgumentsOf::region(&open), 1, 0, 70);
    image.item(0, Item::Argument(record));
    image.argument_line(0, 2, 0, record);
    (image, open)
}

/// Tickets of which `arguments` were recovered and joined.
fn joined(claimed: u64, torn: u64, arguments: u64) -> Tickets {
    Tickets {
        claimed,
        recovered: arguments,
        torn,
        arguments,
        joined: arguments,
        ..Tickets::default()
    }
}

fn died_in_an_argument() -> Image {
    let (mut image, open) = with_an_argument(
        "died-in-an-argument",
        "A thread died while it wrote its region's second argument to the ring: one ticket is torn, the first argument is shown.",
    );
    let record = numbered(ArgumentsOf::region(&open), 2, 1, 71);
    image.item(0, Item::Argument(record));
    image.put(image.place(0, 2), &[0; 8]);
    image.claimed(0, 2);
    image.expect_open_as(OpenRegion {
        arguments: vec![number(70)],
        ..OpenRegion::of(0, &open)
    });
    image.expect_tickets(0, joined(2, 1, 1));
    image
}

fn died_between_an_argument_and_its_line() -> Image {
    let (mut image, open) = with_an_argument(
        "died-between-an-argument-and-its-line",
        "A thread died after it wrote its region's second argument to the ring, and before it copied it to the slot: the ring's copy is shown.",
    );
    let record = numbered(ArgumentsOf::region(&open), 2, 1, 71);
    image.item(0, Item::Argument(record));
    image.claimed(0, 2);
    image.expect_open_as(OpenRegion {
        arguments: vec![number(70), number(71)],
        ..OpenRegion::of(0, &open)
    });
    image.expect_tickets(0, joined(2, 0, 2));
    image
}

fn died_in_a_line() -> Image {
    let (mut image, open) = with_an_argument(
        "died-in-a-line",
        "A thread died while it copied its region's second argument to the slot: the line's first word is 0, the ring's copy is shown.",
    );
    let record = numbered(ArgumentsOf::region(&open), 2, 1, 71);
    image.item(0, Item::Argument(record));
    image.argument_line(0, 3, 0, record);
    image.put(image.identity.open_line(0, 3), &[0; 8]);
    image.claimed(0, 2);
    image.expect_open_as(OpenRegion {
        arguments: vec![number(70), number(71)],
        ..OpenRegion::of(0, &open)
    });
    image.expect_tickets(0, joined(2, 0, 2));
    image
}

/// Adds an amendment with ticket 2, in ring and line, that says status 1; and one with ticket 3, in the ring, that says status 2.
fn amend_twice(image: &mut Image, open: &OpenRecord) -> Amendment {
    let first = Amendment {
        sequence: 2,
        status: 1,
        ..Amendment::of(open)
    };
    let second = Amendment {
        sequence: 3,
        status: 2,
        ..first
    };
    image.item(0, Item::Amendment(first));
    image.amendment_line(0, 0, first);
    image.item(0, Item::Amendment(second));
    image.claimed(0, 3);
    second
}

/// What is expected of it: the region with `status`, its argument, and the tickets.
fn expect_amended(image: &mut Image, open: &OpenRecord, status: u32, torn: u64) {
    image.expect_open_as(OpenRegion {
        status,
        amended: true,
        arguments: vec![number(70)],
        ..OpenRegion::of(0, open)
    });
    image.expect_tickets(
        0,
        Tickets {
            recovered: 3 - torn,
            amendments: 2 - torn,
            ..joined(3, torn, 1)
        },
    );
}

fn died_in_an_amendment() -> Image {
    let (mut image, open) = with_an_argument(
        "died-in-an-amendment",
        "A thread died while it wrote its region's second amendment to the ring: the region is shown with the first one.",
    );
    amend_twice(&mut image, &open);
    image.put(image.place(0, 3), &[0; 8]);
    expect_amended(&mut image, &open, 1, 1);
    image
}

fn died_between_an_amendment_and_its_line() -> Image {
    let (mut image, open) = with_an_argument(
        "died-between-an-amendment-and-its-line",
        "A thread died after it wrote its region's second amendment to the ring, and before it copied it to the slot, which has the first: the ring's copy is newer and holds.",
    );
    amend_twice(&mut image, &open);
    expect_amended(&mut image, &open, 2, 0);
    image
}

fn died_while_rewriting_an_amendment() -> Image {
    let (mut image, open) = with_an_argument(
        "died-while-rewriting-an-amendment",
        "A thread died while it wrote its region's second amendment over the first one in the slot: the line is neither, the ring's copy holds.",
    );
    let second = amend_twice(&mut image, &open);
    image.amendment_line(0, 0, second);
    image.put(image.identity.open_line(0, 1), &[0; 8]);
    expect_amended(&mut image, &open, 2, 0);
    image
}

fn died_before_a_mark() -> Image {
    let mut image = Image::new(
        "died-before-a-mark",
        "A thread died between the arguments of a mark and the mark: they belong to nothing. A mark of the same moment by another thread does not take them.",
        tight(4, 1, 1, 64),
    );
    let of = ArgumentsOf::event(1_000, THREAD);
    image.item(0, Item::Argument(numbered(of, 1, 0, 7)));
    image.item(0, Item::Argument(numbered(of, 2, 1, 8)));
    let other = Mark {
        start_ns: 1_000,
        thread_id: THREAD + 1,
        flags: FLAG_ARGUMENTS,
        ..mark(3)
    };
    image.item(0, Item::Mark(other));
    image.claimed(0, 3);
    image.expect(Event::mark(0, &other));
    image.expect_tickets(
        0,
        Tickets {
            claimed: 3,
            recovered: 3,
            marks: 1,
            arguments: 2,
            orphaned: 2,
            ..Tickets::default()
        },
    );
    image
}

fn arguments_of_lost_marks() -> Image {
    let mut image = Image::new(
        "arguments-of-lost-marks",
        "Marks of one thread that are torn: their arguments are not given to the thread's next mark, whether it is of the same moment, which the numbers that begin anew tell, or of another, and has lost its own first argument.",
        tight(16, 1, 1, 64),
    );
    let of = |start_ns| ArgumentsOf::event(start_ns, THREAD);
    let marked = |sequence, start_ns| Mark {
        start_ns,
        flags: FLAG_ARGUMENTS,
        ..mark(sequence)
    };
    // Tickets 3, 6 and 7 are torn.
    image.item(0, Item::Argument(numbered(of(1_000), 1, 0, 70)));
    image.item(0, Item::Argument(numbered(of(1_000), 2, 1, 71)));
    image.item(0, Item::Argument(numbered(of(1_000), 4, 0, 72)));
    let same_moment = marked(5, 1_000);
    image.item(0, Item::Mark(same_moment));
    image.expect(Event::mark(0, &same_moment));
    image.expect_arguments(vec![number(72)], 0);
    image.item(0, Item::Argument(numbered(of(2_000), 8, 0, 73)));
    image.item(0, Item::Argument(numbered(of(3_000), 9, 1, 74)));
    let other_moment = marked(10, 3_000);
    image.item(0, Item::Mark(other_moment));
    image.expect(Event::mark(0, &other_moment));
    image.expect_arguments(vec![number(74)], 1);
    image.claimed(0, 10);
    image.expect_tickets(
        0,
        Tickets {
            claimed: 10,
            recovered: 7,
            torn: 3,
            marks: 2,
            arguments: 5,
            joined: 2,
            orphaned: 3,
            ..Tickets::default()
        },
    );
    image
}

fn lines_of_earlier_tenants() -> Image {
    let mut image = Image::new(
        "lines-of-earlier-tenants",
        "A slot whose lines are full of earlier tenants' records: of the same ring, and of another ring that had given out as many tickets, with the same beginning. The region that runs there has one argument of its own, and no amendment.",
        lined(4, 2, 1, 8, 64),
    );
    let open = running(0, 10);
    image.open(0, open);
    let earlier = OpenRecord {
        claimed_at_begin: 5,
        ..open
    };
    let elsewhere = OpenRecord { ring: 1, ..open };
    let amendment = Amendment {
        sequence: 7,
        status: 1,
        ..Amendment::of(&earlier)
    };
    image.amendment_line(0, 0, amendment);
    let of = ArgumentsOf::region(&open);
    image.argument_line(0, 2, 0, numbered(of, 11, 0, 70));
    let of_earlier = ArgumentsOf::region(&earlier);
    image.argument_line(0, 3, 0, numbered(of_earlier, 6, 1, 71));
    // Its ticket is the one that our region's beginning saw.
    image.argument_line(0, 4, 0, numbered(of, 10, 1, 72));
    image.argument_line(
        0,
        5,
        1,
        numbered(ArgumentsOf::region(&elsewhere), 12, 1, 73),
    );
    image.claimed(0, 15);
    image.claimed(1, 12);
    image.expect_open_as(OpenRegion {
        arguments: vec![number(70)],
        ..OpenRegion::of(0, &open)
    });
    image.expect_ring(0, [15, 0, 11, 4, 0]);
    image.expect_ring(1, [12, 0, 8, 4, 0]);
    image
}

fn lines_that_cannot_be_believed() -> Image {
    let mut image = Image::new(
        "lines-that-cannot-be-believed",
        "Lines of a running region with a flipped bit, another slot's number, another owner, another beginning, an argument in the amendment's place, an amendment and an unknown type in an argument's, a record of the ring as it is there. The region is shown with what is left, and the first line whose checksum does not hold is damage.",
        lined(4, 1, 1, 10, 64),
    );
    let open = running(0, 10);
    image.open(0, open);
    let of = ArgumentsOf::region(&open);
    let record = |sequence, number| numbered(of, sequence, 0, number);
    image.argument_line(0, 1, 0, record(11, 1));
    image.argument_line(0, 2, 0, record(11, 2));
    let place = image.identity.open_line(0, 2) as usize;
    image.bytes[place + 20] ^= 4;
    let wrong = [
        Argument {
            open_slot: 2,
            ..record(12, 3)
        },
        Argument {
            owner: 11,
            ..record(12, 4)
        },
        Argument {
            start_ns: open.start_ns + 1,
            ..record(12, 5)
        },
        Argument {
            r#type: 6,
            ..record(12, 6)
        },
    ];
    for (line, wrong) in (3..).zip(wrong) {
        image.argument_line(0, line, 0, wrong);
    }
    let amendment = Amendment {
        sequence: 12,
        status: 1,
        ..Amendment::of(&open)
    };
    image.amendment_line(0, 0, amendment);
    let place = image.identity.open_line(0, 1);
    let moved = image.bytes[place as usize..][..64].to_vec();
    image.put(image.identity.open_line(0, 7), &moved);
    image.argument_line(0, 1, 0, record(11, 1));
    let salt = Area::Ring(0).salt(image.identity.salt);
    let as_in_the_ring = record(13, 8).sealed(&Checksum::new(), salt);
    let place = image.identity.open_line(0, 8);
    image.put(place, bytemuck::bytes_of(&as_in_the_ring));
    image.argument_line(0, 9, 0, record(14, 9));
    image.expect_damage(image.identity.open_line(0, 2));
    image.claimed(0, 14);
    image.expect_open_as(OpenRegion {
        arguments: vec![number(9)],
        ..OpenRegion::of(0, &open)
    });
    image.expect_ring(0, [14, 0, 10, 4, 0]);
    image
}

fn equal_beginnings() -> Image {
    let mut image = Image::new(
        "equal-beginnings",
        "Three tenants of one slot with one ring and one beginning, as a program may state it. Each has an argument; the last one runs. The number of tickets tells them apart.",
        lined(8, 1, 1, 8, 64),
    );
    let tenant = |claimed_at_begin| OpenRecord {
        start_ns: 500,
        ..running(0, claimed_at_begin)
    };
    let of = |claimed_at_begin| ArgumentsOf::region(&tenant(claimed_at_begin));
    image.item(0, Item::Argument(numbered(of(0), 1, 0, 70)));
    image.item(0, Item::Argument(numbered(of(2), 3, 0, 71)));
    image.item(0, Item::Argument(numbered(of(4), 5, 0, 72)));
    for (sequence, argument) in [(2, 70), (4, 71)] {
        let completed = Record {
            start_ns: 500,
            open_slot: 1,
            flags: FLAG_ARGUMENTS,
            ..region(sequence)
        };
        image.record(0, completed);
        image.expect_event(0, &completed);
        image.expect_arguments(vec![number(argument)], 0);
    }
    image.open(0, tenant(4));
    image.argument_line(0, 2, 0, numbered(of(4), 5, 0, 72));
    image.claimed(0, 5);
    image.expect_open_as(OpenRegion {
        arguments: vec![number(72)],
        ..OpenRegion::of(0, &tenant(4))
    });
    image.expect_tickets(
        0,
        Tickets {
            claimed: 5,
            recovered: 5,
            regions: 2,
            arguments: 3,
            joined: 3,
            ..Tickets::default()
        },
    );
    image
}

fn arguments_of_lost_regions() -> Image {
    let mut image = Image::new(
        "arguments-of-lost-regions",
        "Completed regions whose records are torn: their arguments are not given to the next tenant of the slot, whether it has none of its own, or has some, and began at the same moment.",
        tight(16, 1, 2, 64),
    );
    let tenant = |slot, claimed_at_begin| OpenRecord {
        start_ns: 500,
        ..running(slot, claimed_at_begin)
    };
    let of = |slot, claimed| ArgumentsOf::region(&tenant(slot, claimed));
    let completed = |sequence, open_slot, flags| Record {
        start_ns: 500,
        open_slot,
        flags,
        ..region(sequence)
    };
    // Slot 0: a lost region with an argument, then one without.
    image.item(0, Item::Argument(numbered(of(0, 0), 1, 0, 70)));
    let without = completed(3, 1, 0);
    image.record(0, without);
    image.expect_event(0, &without);
    // Slot 1: a lost region with two arguments, then one with one.
    image.item(0, Item::Argument(numbered(of(1, 3), 4, 0, 71)));
    image.item(0, Item::Argument(numbered(of(1, 3), 5, 1, 72)));
    image.item(0, Item::Argument(numbered(of(1, 6), 7, 0, 73)));
    let with = completed(8, 2, FLAG_ARGUMENTS);
    image.record(0, with);
    image.expect_event(0, &with);
    image.expect_arguments(vec![number(73)], 0);
    // And a lost one that ran last: it has left the table.
    image.item(0, Item::Argument(numbered(of(1, 8), 9, 0, 74)));
    image.claimed(0, 10);
    image.expect_tickets(
        0,
        Tickets {
            claimed: 10,
            recovered: 7,
            torn: 3,
            regions: 2,
            arguments: 5,
            joined: 1,
            orphaned: 4,
            ..Tickets::default()
        },
    );
    image
}

fn arguments_that_belong_to_nothing() -> Image {
    let mut image = Image::new(
        "arguments-that-belong-to-nothing",
        "Arguments that no event takes: without the number of a slot, of a slot that the table does not have, of a region without the flag or with another beginning, of a mark without the flag or with another moment, of an open region with another owner, beginning or ring, or from before it began; an argument after its event.",
        tight(64, 2, 4, 64),
    );
    let open = running(0, 3);
    image.open(0, open);
    let of_open = ArgumentsOf::region(&open);
    let mut next = 1;
    let mut put = |image: &mut Image, record: Argument| {
        image.item(
            0,
            Item::Argument(Argument {
                sequence: next,
                ..record
            }),
        );
        next += 1;
        next
    };
    let record = numbered(of_open, 0, 0, 7);
    // From before the region began.
    put(&mut image, record);
    put(
        &mut image,
        Argument {
            open_slot: 0,
            ..record
        },
    );
    put(
        &mut image,
        Argument {
            open_slot: 5,
            ..record
        },
    );
    put(&mut image, Argument { owner: 2, ..record });
    let after = put(
        &mut image,
        Argument {
            start_ns: open.start_ns + 1,
            ..record
        },
    );
    let slot_that_is_not = Record {
        open_slot: 5,
        flags: FLAG_ARGUMENTS,
        start_ns: open.start_ns,
        ..region(after)
    };
    image.record(0, slot_that_is_not);
    image.expect_event(0, &slot_that_is_not);
    image.expect_arguments(Vec::new(), 1);
    next += 1;
    let mut put = |image: &mut Image, item: Item| {
        let item = match item {
            Item::Argument(argument) => Item::Argument(Argument {
                sequence: next,
                ..argument
            }),
            Item::Region(region) => Item::Region(Record {
                sequence: next,
                ..region
            }),
            Item::Mark(mark) => Item::Mark(Mark {
                sequence: next,
                ..mark
            }),
            other => other,
        };
        image.item(0, item);
        next += 1;
        match item {
            Item::Region(region) => image.expect_event(0, &region),
            Item::Mark(mark) => image.expect(Event::mark(0, &mark)),
            _ => {}
        }
    };
    let tenant = running(1, 6);
    let of_tenant = Item::Argument(numbered(ArgumentsOf::region(&tenant), 0, 0, 8));
    let completed = Record {
        open_slot: 2,
        start_ns: tenant.start_ns,
        ..region(50)
    };
    put(&mut image, of_tenant);
    put(&mut image, Item::Region(completed));
    put(&mut image, of_tenant);
    put(
        &mut image,
        Item::Region(Record {
            flags: FLAG_ARGUMENTS,
            start_ns: tenant.start_ns + 1,
            ..completed
        }),
    );
    let of_mark = Item::Argument(numbered(ArgumentsOf::event(60_000, THREAD), 0, 0, 9));
    let marked = Mark {
        start_ns: 60_000,
        ..mark(1)
    };
    put(&mut image, of_mark);
    put(&mut image, Item::Mark(marked));
    put(&mut image, of_mark);
    put(
        &mut image,
        Item::Mark(Mark {
            flags: FLAG_ARGUMENTS,
            start_ns: 60_001,
            ..marked
        }),
    );
    // It comes after the mark.
    put(&mut image, of_mark);
    image.claimed(0, 15);
    // The same region's argument, but in another ring.
    image.item(1, Item::Argument(numbered(of_open, 4, 0, 10)));
    image.claimed(1, 4);
    image.expect_open(0, &open);
    image.expect_tickets(
        0,
        Tickets {
            claimed: 15,
            recovered: 15,
            regions: 3,
            marks: 2,
            arguments: 10,
            orphaned: 10,
            ..Tickets::default()
        },
    );
    image.expect_tickets(
        1,
        Tickets {
            claimed: 4,
            recovered: 1,
            torn: 3,
            arguments: 1,
            orphaned: 1,
            ..Tickets::default()
        },
    );
    image
}

fn overwritten_arguments() -> Image {
    let mut image = Image::new(
        "overwritten-arguments",
        "The ring went round: of one region's arguments the last two are left, of another's one in the middle is torn, of a third's and a mark's none is left. At least how many are lost is said of each.",
        tight(8, 1, 3, 64),
    );
    let tenant = |slot, claimed_at_begin| OpenRecord {
        start_ns: 500 + u64::from(slot),
        ..running(slot, claimed_at_begin)
    };
    let of = |slot, claimed| ArgumentsOf::region(&tenant(slot, claimed));
    let completed = |sequence, slot: u16| Record {
        start_ns: 500 + u64::from(slot),
        open_slot: slot + 1,
        flags: FLAG_ARGUMENTS,
        ..region(sequence)
    };
    // Tickets 21 to 28.
    image.item(0, Item::Argument(numbered(of(0, 10), 21, 3, 73)));
    image.item(0, Item::Argument(numbered(of(0, 10), 22, 4, 74)));
    image.item(0, Item::Argument(numbered(of(1, 22), 23, 0, 80)));
    image.item(0, Item::Argument(numbered(of(1, 22), 25, 2, 82)));
    let records = [completed(26, 0), completed(27, 1), completed(28, 2)];
    for record in records {
        image.record(0, record);
        image.expect_event(0, &record);
        let (arguments, lost) = match record.open_slot {
            1 => (vec![number(73), number(74)], 3),
            2 => (vec![number(80), number(82)], 1),
            _ => (Vec::new(), 1),
        };
        image.expect_arguments(arguments, lost);
    }
    image.claimed(0, 28);
    image.expect_tickets(
        0,
        Tickets {
            claimed: 28,
            recovered: 7,
            overwritten: 20,
            torn: 1,
            regions: 3,
            arguments: 4,
            joined: 4,
            ..Tickets::default()
        },
    );
    image
}

fn texts_with_missing_parts() -> Image {
    let mut image = Image::new(
        "texts-with-missing-parts",
        "Texts of three parts of which the second, the first, or the last is torn; and one that is not UTF-8 from its second part on. What comes before the gap is shown, and that it is not all. A text with a gap inside a character ends before it.",
        tight(64, 1, 1, 64),
    );
    let of = ArgumentsOf::event(9_000, THREAD);
    let text = format!("{}é{}{}", "a".repeat(25), "b".repeat(25), "c".repeat(9));
    let value = ArgumentValue::Text(text.as_bytes());
    let mut next = 1;
    for (ordinal, torn) in [(0, 1), (1, 0), (2, 2)] {
        image.argument(of, next, ordinal, 0, value);
        image.put(image.place(0, next + torn), &[0; 8]);
        next += 3;
    }
    for record in of.records(3, 0, value) {
        let mut record = Argument {
            sequence: next,
            ..record
        };
        if record.part == 1 {
            record.content[3] = 0xFF;
        }
        image.item(0, Item::Argument(record));
        next += 1;
    }
    let marked = Mark {
        start_ns: 9_000,
        flags: FLAG_ARGUMENTS,
        ..mark(next)
    };
    image.item(0, Item::Mark(marked));
    image.claimed(0, next);
    image.expect(Event::mark(0, &marked));
    let incomplete = |text: String| document::Argument {
        incomplete: true,
        ..document::Argument::of(0, "text", text)
    };
    image.expect_arguments(
        vec![
            // The first byte of é is in the first part.
            incomplete("a".repeat(25)),
            incomplete(String::new()),
            incomplete(format!("{}é{}", "a".repeat(25), "b".repeat(25))),
            incomplete(format!("{}é{}", "a".repeat(25), "b".repeat(2))),
        ],
        0,
    );
    image.expect_tickets(
        0,
        Tickets {
            claimed: 13,
            recovered: 10,
            torn: 3,
            marks: 1,
            arguments: 9,
            joined: 9,
            ..Tickets::default()
        },
    );
    image
}

fn texts_that_contradict_themselves() -> Image {
    let mut image = Image::new(
        "texts-that-contradict-themselves",
        "Arguments that no writer writes: two of one number with different keys, types or sizes of text are two arguments; of two records for the same part the first counts, and of a line and the ring's record with its ticket the ring's; parts may come in any order.",
        lined(16, 1, 1, 8, 64),
    );
    let open = running(0, 0);
    image.open(0, open);
    let of = ArgumentsOf::region(&open);
    let text = "d".repeat(30);
    let parts: Vec<Argument> = of
        .records(0, 0, ArgumentValue::Text(text.as_bytes()))
        .collect();
    let at = |sequence, record: Argument| Argument { sequence, ..record };
    // The second part before the first; a second copy of the first with other bytes.
    image.item(0, Item::Argument(at(1, parts[1])));
    image.item(0, Item::Argument(at(2, parts[0])));
    let mut other = parts[0];
    other.content = [b'e'; 26];
    image.item(0, Item::Argument(at(3, other)));
    image.item(0, Item::Argument(numbered(of, 4, 0, 7)));
    let also = Argument {
        text_bytes: 3,
        ..numbered(of, 5, 0, 8)
    };
    image.item(0, Item::Argument(also));
    let short = argument(of, 6, 0, 0, ArgumentValue::Text(b"short"));
    image.item(0, Item::Argument(short));
    let signed = argument(of, 7, 0, 0, ArgumentValue::I64(-1));
    image.item(0, Item::Argument(signed));
    // A line that says something else of ticket 4 than the ring.
    image.argument_line(0, 2, 0, numbered(of, 4, 0, 9));
    image.claimed(0, 7);
    image.expect_open_as(OpenRegion {
        arguments: vec![
            document::Argument::of(0, "text", text),
            number(7),
            document::Argument::of(0, "text", "short"),
            document::Argument::of(0, "i64", -1),
        ],
        ..OpenRegion::of(0, &open)
    });
    image.expect_tickets(0, joined(7, 0, 7));
    image
}

fn arguments_not_known() -> Image {
    let mut image = Image::new(
        "arguments-not-known",
        "Arguments as a newer writer may write them, or a broken one: types 0 and 6, a part too many of a number and of a text, a text that is too long, a bool that is neither. They are skipped and counted; the one among them that is known belongs to the mark.",
        tight(16, 1, 1, 64),
    );
    let of = ArgumentsOf::event(9_000, THREAD);
    let number_of = |sequence| numbered(of, sequence, 0, 7);
    let text = argument(of, 4, 0, 0, ArgumentValue::Text(b"text"));
    let mut neither = argument(of, 6, 0, 0, ArgumentValue::Bool(true));
    neither.content[0] = 2;
    for record in [
        Argument {
            r#type: 0,
            ..number_of(1)
        },
        Argument {
            r#type: 6,
            ..number_of(2)
        },
        Argument {
            part: 1,
            ..number_of(3)
        },
        Argument { part: 1, ..text },
        Argument {
            sequence: 5,
            text_bytes: 257,
            ..text
        },
        neither,
        number_of(7),
    ] {
        image.item(0, Item::Argument(record));
    }
    let marked = Mark {
        start_ns: 9_000,
        flags: FLAG_ARGUMENTS,
        ..mark(8)
    };
    image.item(0, Item::Mark(marked));
    image.claimed(0, 8);
    image.expect(Event::mark(0, &marked));
    image.expect_arguments(vec![number(7)], 0);
    image.expect_tickets(
        0,
        Tickets {
            claimed: 8,
            recovered: 2,
            skipped: 6,
            marks: 1,
            arguments: 1,
            joined: 1,
            ..Tickets::default()
        },
    );
    image
}

fn hidden_too_high() -> Image {
    let mut image = Image::new(
        "hidden-too-high",
        "A thread died after it wrote the record of a region that had found the table full, and before it counted it out: the number of hidden regions is too high by one, never too low.",
        tight(4, 1, 1, 64),
    );
    image.open(0, running(0, 0));
    image.expect_open(0, &running(0, 0));
    let record = Record {
        open_slot: OPEN_SLOT_NONE,
        ..region(1)
    };
    image.record(0, record);
    image.expect_event(0, &record);
    image.claimed(0, 1);
    image.counters(|counters| {
        counters.open_refused = 1;
        counters.hidden_now = 1;
    });
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}

fn last_alive_after_the_end() -> Image {
    let mut image = Image::new(
        "last-alive-after-the-end",
        "A stray store falsified the last sign of life, and a program stated an event that ended later than the witness saw the end: neither counts. The value before it does.",
        tight(4, 1, 1, 64),
    );
    let value = Value {
        start_ns: 399_000,
        ..sample(1, 1.0)
    };
    image.item(0, Item::Value(value));
    image.expect(Event::value(0, &value));
    let beyond = Record {
        start_ns: 398_000,
        duration_ns: 2_001,
        ..region(2)
    };
    image.record(0, beyond);
    image.expect_event(0, &beyond);
    image.claimed(0, 2);
    image.counters(|counters| counters.last_alive_ns = u64::MAX);
    let witness = killed(&image.identity);
    image.witness(witness);
    image.expect_witness(&witness, 400_000, true, "died");
    image.expected.last_ns = 399_000;
    image.expect_tickets(
        0,
        Tickets {
            claimed: 2,
            recovered: 2,
            regions: 1,
            values: 1,
            ..Tickets::default()
        },
    );
    image
}

fn witness_damaged() -> Image {
    let mut image = Image::new(
        "witness-damaged",
        "A witness with one flipped bit, which would make another signal of it: damage, and no witness.",
        tight(4, 1, 1, 64),
    );
    image.witness(killed(&image.identity));
    image.bytes[image.identity.witness_offset as usize + 80] ^= 2;
    image.expect_damage(image.identity.witness_offset);
    image
}

fn witness_of_another_capture() -> Image {
    let mut image = Image::new(
        "witness-of-another-capture",
        "A witness that verifies, but states another capture: damage, and no witness.",
        tight(4, 1, 1, 64),
    );
    image.witness(Witness {
        capture_id: [7; 16],
        ..killed(&image.identity)
    });
    image.expect_damage(image.identity.witness_offset);
    image
}

fn witness_not_known() -> Image {
    let mut image = Image::new(
        "witness-not-known",
        "A witness that states a cause that this version does not know: it is not interpreted, and reported.",
        tight(4, 1, 1, 64),
    );
    image.witness(Witness {
        cause: 4,
        ..killed(&image.identity)
    });
    image.expect_damage(image.identity.witness_offset);
    image
}

fn left_by_exit_half_written() -> Image {
    let mut image = Image::new(
        "left-by-exit-half-written",
        "The process died in its exit handler, between the moment and the state: the moment means nothing.",
        tight(4, 1, 1, 64),
    );
    image.regions(1..=1);
    image.claimed(0, 1);
    image.counters(|counters| counters.finished_ns = 9_000);
    image.expect_ring(0, [1, 1, 0, 0, 0]);
    image
}
