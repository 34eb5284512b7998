//! Crash images and damaged files: what is intact is read, what is lost is counted.

use hrx_trace_format::open::{SEQUENCE_TAKEN, sequence_of};
use hrx_trace_format::{Area, Checksum, OpenRecord, Record, label};

use crate::image::{Image, region, running, tight};

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
        torn_labels(),
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
        cut_in_a_label(),
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
        "Open records that cannot be believed: a flipped bit, another slot's number, a ring that does not exist, garbage, an ended region with a flipped bit in its slot's zero word, an ended region under the word of the next one. The one intact region among them is shown.",
        tight(2, 1, 7, 64),
    );
    image.open(0, running(0, 0));
    let place = image.identity.open_slot(0) + 9;
    image.bytes[place as usize] ^= 1;
    image.open(1, running(0, 0));
    image.open(
        2,
        OpenRecord {
            ring: 1,
            ..running(2, 0)
        },
    );
    image.open(3, running(3, 0));
    image.put(image.identity.open_slot(4), &[0x77; 64]);
    image.open(5, running(5, 0));
    image.put(image.identity.open_slot(5), &1u64.to_le_bytes());
    image.open(6, running(6, 0));
    let next = sequence_of(running(6, 0).start_ns + 100);
    image.put(image.identity.open_slot(6), &next.to_le_bytes());
    image.expected.open_torn = 6;
    image.expect_open(3, &running(3, 0));
    image
}

fn torn_labels() -> Image {
    let mut image = Image::new(
        "torn-labels",
        "Labels that cannot be read: second block missing, not UTF-8, in another entry's place, an id inside an entry, past the table, running over its end. No event is lost, and the one intact label among them is read.",
        tight(9, 1, 1, 64 * 8),
    );
    let long = "x".repeat(80);
    image.label(1, &long);
    image.put(image.label_place(2), &[0; 64]);
    image.label(3, "sound");
    image.label(4, "ab");
    let salt = Area::LabelTable.salt(image.identity.salt);
    let entry = image.label_place(4) as usize;
    image.bytes[entry + label::ENTRY_HEADER_BYTES] = 0xFF;
    let crc32 = Checksum::new().of(&[&salt.to_le_bytes(), &image.bytes[entry + 4..entry + 64]]);
    image.put(entry as u64, &crc32.to_le_bytes());
    let moved = image.bytes[image.label_place(3) as usize..][..64].to_vec();
    image.put(image.label_place(5), &moved);
    // Its second block overwrites the start of the ring, and so the record of ticket 1.
    let mut runs_over = vec![0; 128];
    label::encode(&mut runs_over, 8, &long, &Checksum::new(), salt).expect("a label in range");
    image.put(image.label_place(8), &runs_over);
    let ids = [1, 2, 3, 4, 5, 8, 9, u32::MAX];
    for (sequence, label_id) in (2..).zip(ids) {
        let record = Record {
            label_id,
            ..region(sequence)
        };
        image.record(0, record);
        image.expect_event(0, &record);
        image.expect_label(label_id, (label_id == 3).then_some("sound"));
    }
    image.claimed(0, 9);
    image.finished(10_000);
    image.expect_ring(0, [9, 8, 0, 1, 0]);
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
        "Blocks of an older capture, with another salt, are in the ring, the open table and the label table: none is believed.",
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

fn cut_in_a_label() -> Image {
    let mut image = Image::new(
        "cut-in-a-label",
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
    image.cut(image.label_place(1) + 40);
    image
}

fn cut_in_the_open_table() -> Image {
    let mut image = Image::new(
        "cut-in-the-open-table",
        "The file was cut inside the open table: what is left of the slot is torn, the slots after it read as free, labels and rings are lost and counted.",
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
