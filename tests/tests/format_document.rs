//! FORMAT.md agrees with the code: its byte tables, constants, rules, messages and worked examples.
//!
//! The layout is stated twice, for people and for the compiler. These tests keep the two from drifting apart.

use std::collections::BTreeSet;
use std::fs;
use std::mem::{offset_of, size_of, size_of_val};
use std::path::{Path, PathBuf};

use bytemuck::Zeroable;
use hrx_trace_format::{
    Amendment, Area, Argument, Checksum, Counters, Identity, MEASUREMENT, Mark, OpenRecord, Record,
    UNLABELLED, Value, Witness, amendment, argument, header, line, mark, name, open, record, value,
    witness,
};

/// A field: its name, offset and size.
type Field = (String, usize, usize);

macro_rules! fields {
    ($type:ty: $($field:ident)*) => {{
        let zeroed = <$type>::zeroed();
        let fields: Vec<Field> = vec![$((
            stringify!($field).to_owned(),
            offset_of!($type, $field),
            size_of_val(&zeroed.$field),
        )),*];
        // All fields, in order, without a gap: one that is missing here fails the test.
        let end = fields.iter().fold(0, |end, (name, offset, size)| {
            assert_eq!(*offset, end, "{name}");
            offset + size
        });
        assert_eq!(end, size_of::<$type>());
        fields
    }};
}

fn identity_fields() -> Vec<Field> {
    fields!(Identity: magic version_major version_minor identity_bytes crc32 salt file_bytes counters_offset witness_offset
        control_offset control_stride open_offset open_stride name_offset name_bytes ring_offset ring_stride capacity ring_count
        open_slots epoch_monotonic_ns epoch_realtime_ns epoch_boottime_ns epoch_bracket_ns clock monotonic_offset_ns
        time_namespace boot_id capture_id process_start_ticks pid_namespace process_id attributes_bytes identity_flags stack_start
        host_name program attributes)
}

fn record_fields() -> Vec<Field> {
    fields!(Record: sequence start_ns duration_ns copied_bytes correlation_id lane label_id thread_id status flags kind
        open_slot crc32)
}

fn open_record_fields() -> Vec<Field> {
    fields!(OpenRecord: sequence start_ns claimed_at_begin copied_bytes correlation_id lane label_id thread_id ring flags
        kind open_slot crc32)
}

fn argument_fields() -> Vec<Field> {
    fields!(Argument: sequence start_ns content text_bytes key owner ordinal part r#type flags kind open_slot crc32)
}

fn spec() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec")
}

fn document() -> String {
    fs::read_to_string(spec().join("FORMAT.md")).unwrap()
}

/// The cells of the first table after `place`, row by row, without its head.
fn table(place: &str) -> Vec<Vec<String>> {
    let document = document();
    let (_, after) = document
        .split_once(place)
        .unwrap_or_else(|| panic!("FORMAT.md has no {place:?}"));
    after
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| {
            line.trim_matches('|')
                .split(" | ")
                .map(|cell| cell.trim().trim_matches('|').trim().to_owned())
                .collect()
        })
        .collect()
}

/// A cell without its code marks.
fn plain(cell: &str) -> &str {
    cell.trim_matches('`')
}

fn hex(cell: &str) -> Vec<u8> {
    plain(cell)
        .split(' ')
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

#[test]
fn byte_tables_match_the_structs() {
    let counters = fields!(Counters: state finished_ns dropped rejected open_refused names_refused last_alive_ns hidden_now
        arguments_refused names_too_long unused);
    let mark = fields!(Mark: sequence start_ns unused_16 correlation_id lane label_id thread_id unused_52 flags kind open_slot
        crc32);
    let value = fields!(Value: sequence start_ns unused_16 value correlation_id unused_40 label_id thread_id unused_52 flags
        kind open_slot crc32);
    let amendment = fields!(Amendment: sequence start_ns unused_16 copied_bytes correlation_id lane label_id owner status flags
        kind open_slot crc32);
    let witness = fields!(Witness: word capture_id seen_monotonic_ns seen_boottime_ns seen_realtime_ns time_namespace
        peak_resident_bytes user_ns system_ns status cause core_dumped out_of_memory unused_87 witness_process_id unused_92
        crc32);
    let by_hand = |fields: &[(&str, usize, usize)]| {
        let fields = fields.iter();
        fields
            .map(|(name, offset, size)| ((*name).to_owned(), *offset, *size))
            .collect::<Vec<Field>>()
    };
    for (heading, fields) in [
        ("### 6.1 Identity\n", identity_fields()),
        ("### 6.2 Counters\n", counters),
        ("### 6.3 Control line\n", by_hand(&[("claimed", 0, 8)])),
        ("### 6.4 Record\n", record_fields()),
        ("### 6.5 Mark\n", mark),
        ("### 6.6 Value\n", value),
        ("### 6.7 Argument\n", argument_fields()),
        ("### 6.8 Amendment\n", amendment),
        ("### 6.9 Open slot\n", open_record_fields()),
        (
            "### 6.10 Name entry\n",
            by_hand(&[
                ("crc32", 0, 4),
                ("name_id", 4, 4),
                ("text_bytes", 8, 2),
                ("kind", 10, 1),
                ("unused", 11, 1),
                ("group", 12, 4),
                ("since_ns", 16, 8),
                ("subject", 24, 4),
            ]),
        ),
        ("### 6.11 Witness\n", witness),
    ] {
        let stated: Vec<Field> = table(heading)
            .iter()
            .map(|row| {
                let number = |cell: &str| cell.parse().unwrap();
                (plain(&row[2]).to_owned(), number(&row[0]), number(&row[1]))
            })
            .collect();
        // Unused fields of a struct have names of their own.
        let fields: Vec<Field> = fields
            .into_iter()
            .map(|(name, offset, size)| {
                let name = match name.strip_prefix("unused_") {
                    Some(_) => "unused",
                    None => name.trim_start_matches("r#"),
                };
                (name.to_owned(), offset, size)
            })
            .collect();
        assert_eq!(stated, fields, "{heading}");
    }
}

/// The name entry has no struct, so its bytes are checked instead of a struct's offsets.
#[test]
fn name_entries_match_their_table() {
    let name = name::Name::thread(0x1817_1615, 0x1413_1211_1009_0807, "text").in_group(0x0605_0403);
    let mut entry = [0xAA; 64];
    name::encode(&mut entry, 0x0403_0201, &name, &Checksum::new(), 7).unwrap();
    assert_eq!(entry[4..8], [1, 2, 3, 4]);
    assert_eq!(entry[8..12], [4, 0, name::NAME_THREAD, 0]);
    assert_eq!(entry[12..16], [3, 4, 5, 6]);
    assert_eq!(
        entry[16..24],
        [0x07, 0x08, 0x09, 0x10, 0x11, 0x12, 0x13, 0x14]
    );
    assert_eq!(entry[24..28], [0x15, 0x16, 0x17, 0x18]);
    assert_eq!(&entry[28..32], b"text");
    assert_eq!(entry[32..], [0; 32]);
    let crc32 = Checksum::new().of(&[&7u32.to_le_bytes(), &entry[4..]]);
    assert_eq!(entry[..4], crc32.to_le_bytes());
}

/// Section 6.9 says which record is in which line, and what its first word is.
#[test]
fn lines_of_open_slots_match_the_code() {
    let lines = (open::OPEN_STRIDE / record::RECORD_BYTES as u64) as u32;
    assert_eq!(
        (lines, line::LINE_AMENDMENT, line::LINE_ARGUMENTS),
        (8, 1, 2)
    );
    let places = [2, 3, 4, 5, 6, 7, 7].map(Some);
    for (index, place) in (0..).zip(places) {
        assert_eq!(line::of_argument(index, lines), place);
    }
    assert_eq!(line::of_argument(0, 2), None);
    assert_eq!(line::word(3, 5), 3 * (1 << 54) + 5);
    assert_eq!(
        open::sequence_of(5, 3),
        open::SEQUENCE_OPEN + 5 + 3 * (1 << 22)
    );
}

#[test]
fn constants_match_the_code() {
    let ascii = |word: u64| String::from_utf8(word.to_le_bytes().to_vec()).unwrap();
    let magic: Vec<String> = header::MAGIC
        .iter()
        .map(|byte| format!("{byte:02X}"))
        .collect();
    let expected = [
        ("MAGIC", magic.join(" ")),
        ("VERSION_MAJOR", header::VERSION_MAJOR.to_string()),
        ("VERSION_MINOR", header::VERSION_MINOR.to_string()),
        ("IDENTITY_BYTES", header::IDENTITY_BYTES.to_string()),
        ("COUNTERS_OFFSET", header::COUNTERS_OFFSET.to_string()),
        ("COUNTERS_BYTES", header::COUNTERS_BYTES.to_string()),
        ("WITNESS_OFFSET", witness::WITNESS_OFFSET.to_string()),
        ("WITNESS_BYTES", witness::WITNESS_BYTES.to_string()),
        ("CONTROL_OFFSET", header::CONTROL_OFFSET.to_string()),
        ("CONTROL_STRIDE", header::CONTROL_STRIDE.to_string()),
        ("PAGE_BYTES", header::PAGE_BYTES.to_string()),
        ("RECORD_BYTES", record::RECORD_BYTES.to_string()),
        ("OPEN_STRIDE", open::OPEN_STRIDE.to_string()),
        ("OPEN_STRIDE_MAX", open::OPEN_STRIDE_MAX.to_string()),
        ("OPEN_SLOTS_DEFAULT", open::OPEN_SLOTS_DEFAULT.to_string()),
        ("OPEN_SLOTS_MAX", open::OPEN_SLOTS_MAX.to_string()),
        ("BLOCK_BYTES", name::BLOCK_BYTES.to_string()),
        ("ENTRY_HEADER_BYTES", name::ENTRY_HEADER_BYTES.to_string()),
        ("TEXT_BYTES_MAX", name::TEXT_BYTES_MAX.to_string()),
        ("NAME_BYTES_DEFAULT", name::NAME_BYTES_DEFAULT.to_string()),
        ("NAME_BYTES_MAX", name::NAME_BYTES_MAX.to_string()),
        ("RING_COUNT_MAX", header::RING_COUNT_MAX.to_string()),
        ("CAPACITY_MAX", header::CAPACITY_MAX.to_string()),
        // The vectors claimed-impossible-and-nothing-left and sequence-impossible hold the reader to it.
        ("SEQUENCE_MAX", record::SEQUENCE_MAX.to_string()),
        ("STATE_RECORDING", ascii(header::STATE_RECORDING)),
        ("STATE_FINISHED", ascii(header::STATE_FINISHED)),
        ("STATE_LEFT_BY_EXIT", ascii(header::STATE_LEFT_BY_EXIT)),
        ("SEQUENCE_OPEN", open::SEQUENCE_OPEN.to_string()),
        ("SEQUENCE_TAKEN", open::SEQUENCE_TAKEN.to_string()),
        ("OPEN_SLOT_NONE", record::OPEN_SLOT_NONE.to_string()),
        ("KIND_REGION", record::KIND_REGION.to_string()),
        ("KIND_OPEN", open::KIND_OPEN.to_string()),
        ("KIND_MARK", mark::KIND_MARK.to_string()),
        ("KIND_VALUE", value::KIND_VALUE.to_string()),
        ("KIND_ARGUMENT", argument::KIND_ARGUMENT.to_string()),
        ("KIND_AMENDMENT", amendment::KIND_AMENDMENT.to_string()),
        ("FLAG_FAILED", record::FLAG_FAILED.to_string()),
        ("FLAG_SATURATED", record::FLAG_SATURATED.to_string()),
        ("FLAG_CANCELLED", record::FLAG_CANCELLED.to_string()),
        ("FLAG_ARGUMENTS", record::FLAG_ARGUMENTS.to_string()),
        ("FLAG_WAITING", record::FLAG_WAITING.to_string()),
        ("ARGUMENT_U64", argument::ARGUMENT_U64.to_string()),
        ("ARGUMENT_I64", argument::ARGUMENT_I64.to_string()),
        ("ARGUMENT_F64", argument::ARGUMENT_F64.to_string()),
        ("ARGUMENT_BOOL", argument::ARGUMENT_BOOL.to_string()),
        ("ARGUMENT_TEXT", argument::ARGUMENT_TEXT.to_string()),
        ("CONTENT_BYTES", argument::CONTENT_BYTES.to_string()),
        (
            "ARGUMENT_TEXT_BYTES_MAX",
            argument::ARGUMENT_TEXT_BYTES_MAX.to_string(),
        ),
        ("NAME_LABEL", name::NAME_LABEL.to_string()),
        ("NAME_LANE", name::NAME_LANE.to_string()),
        ("NAME_THREAD", name::NAME_THREAD.to_string()),
        ("NAME_KEY", name::NAME_KEY.to_string()),
        ("NAME_GROUP", name::NAME_GROUP.to_string()),
        ("LANE_NAMED_FIRST", name::LANE_NAMED_FIRST.to_string()),
        ("CLOCK_MONOTONIC", header::CLOCK_MONOTONIC.to_string()),
        ("WITNESS_WORD", ascii(witness::WITNESS_WORD)),
        ("CAUSE_EXIT", witness::CAUSE_EXIT.to_string()),
        ("CAUSE_SIGNAL", witness::CAUSE_SIGNAL.to_string()),
        ("CAUSE_EXEC", witness::CAUSE_EXEC.to_string()),
        ("MEASUREMENT", MEASUREMENT.to_owned()),
        ("UNLABELLED", UNLABELLED.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value));
    let stated: Vec<(String, String)> = table("## 4. Constants\n")
        .iter()
        .map(|row| (plain(&row[0]).to_owned(), plain(&row[1]).to_owned()))
        .collect();
    assert_eq!(stated, expected);

    let lanes = hrx_trace_format::LANE_NAMES.map(|name| format!("`{name}`"));
    let lanes = format!("Lanes 0 to 4 have names: {}.", lanes.join(", "));
    assert!(document().contains(&lanes), "{lanes}");
}

#[test]
fn area_tags_match_the_code() {
    let stated: Vec<(String, String)> = table("The salt of an area is")
        .iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    let tag = |area: Area| area.salt(0).to_string();
    let ring = format!("{} + r", tag(Area::Ring(0)));
    let expected = [
        ("open table", tag(Area::OpenTable)),
        ("name table", tag(Area::NameTable)),
        ("ring r", ring),
        ("witness", tag(Area::Witness)),
    ];
    assert_eq!(stated, expected.map(|(area, tag)| (area.to_owned(), tag)));
    assert_eq!(Area::Ring(5).salt(u32::MAX), 7);
}

/// FORMAT.md states every message and every rule in the errors of the vectors, and no other. conformance.rs checks those errors against the code.
#[test]
fn messages_and_rules_match_the_errors_of_the_vectors() {
    let errors: Vec<String> = fs::read_dir(spec().join("vectors/invalid"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .map(|path| fs::read_to_string(path).unwrap().trim_end().to_owned())
        .collect();

    let messages: Vec<String> = table("### 7.1 Accepting a file\n")
        .iter()
        .map(|row| plain(&row[1]).to_owned())
        .collect();
    for error in &errors {
        assert!(
            messages.iter().any(|message| fits(message, error)),
            "not in FORMAT.md: {error}"
        );
    }
    for message in &messages {
        assert!(
            errors.iter().any(|error| fits(message, error)),
            "no vector for: {message}"
        );
    }

    let found: BTreeSet<(String, String)> = errors
        .iter()
        .filter_map(|error| error.strip_prefix("header field "))
        .map(|error| {
            let (field, rest) = error.split_once(" at offset ").unwrap();
            let (offset, rest) = rest.split_once(": found ").unwrap();
            let (_, rule) = rest.split_once(", expected ").unwrap();
            let (_, lies_at, _) = &identity_fields()
                .into_iter()
                .find(|(name, ..)| name == field)
                .unwrap();
            assert_eq!(offset, lies_at.to_string(), "{error}");
            (field.to_owned(), rule.to_owned())
        })
        .collect();
    let stated = table("The fields' rules");
    let stated: BTreeSet<(String, String)> = stated
        .iter()
        .map(|row| (plain(&row[0]).to_owned(), row[1].clone()))
        .collect();
    assert_eq!(found, stated);
}

/// Whether `error` is `message` with something in place of each capitalised word.
fn fits(message: &str, error: &str) -> bool {
    let mut rest = error;
    for word in message.split(' ') {
        let literal = word.trim_start_matches(|c: char| "[0x".contains(c));
        let variable = literal.len() > 1 && literal.starts_with(|c: char| c.is_ascii_uppercase());
        if variable {
            // Stands for anything up to the next literal word: conformance.rs checks the values.
            continue;
        }
        match rest.find(word) {
            Some(at) => rest = &rest[at + word.len()..],
            None => return false,
        }
    }
    true
}

/// The rows of a worked example: offset, bytes, and what they read as.
fn example(name: &str) -> Vec<(usize, Vec<u8>, String)> {
    table(&format!("<!-- example: {name} -->"))
        .into_iter()
        .map(|row| (row[0].parse().unwrap(), hex(&row[1]), row[2].clone()))
        .collect()
}

/// Asserts that the row of a worked example names the field and gives its value.
fn assert_reads_as(field: &str, bytes: &[u8], reads_as: &str) {
    let rest = reads_as
        .strip_prefix(&format!("`{field}`"))
        .unwrap_or_else(|| panic!("{field}: {reads_as}"));
    let Some(value) = rest.strip_prefix(" = ") else {
        return;
    };
    let value = value.split([':', ',']).next().unwrap();
    let value = match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => value.parse(),
    };
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    assert_eq!(value.unwrap(), u64::from_le_bytes(word), "{reads_as}");
}

#[test]
fn worked_examples_match_the_vector() {
    let file = fs::read(spec().join("vectors/valid/one-event.hrxt")).unwrap();
    let identity = Identity::parse(&file, &Checksum::new()).unwrap();

    let mut listed = vec![0; size_of::<Identity>()];
    for (offset, bytes, reads_as) in example("identity") {
        let (field, ..) = &identity_fields()
            .into_iter()
            .find(|(_, start, _)| *start == offset)
            .unwrap();
        assert_reads_as(field, &bytes, &reads_as);
        listed[offset..][..bytes.len()].copy_from_slice(&bytes);
    }
    assert!(
        listed == file[..listed.len()],
        "a byte that is not listed is not zero"
    );

    let mut rows = example("record").into_iter();
    let (offset, bytes, reads_as) = rows.next().unwrap();
    assert_eq!(offset as u64, identity.control_line(0));
    assert_reads_as("claimed", &bytes, &reads_as);
    assert_eq!(bytes, file[offset..][..8]);
    let start = identity.ring_slot(0, 0) as usize;
    let mut record = Vec::new();
    for ((offset, bytes, reads_as), (field, lies_at, size)) in rows.by_ref().zip(record_fields()) {
        assert_eq!((offset, bytes.len()), (start + lies_at, size));
        assert_reads_as(&field, &bytes, &reads_as);
        record.extend(bytes);
    }
    assert_eq!(record, file[start..][..64]);

    let salt = Area::Ring(0).salt(identity.salt);
    let stated = format!(
        "The salt of ring 0 is 0x{:08X} + 3 = 0x{salt:08X}",
        identity.salt
    );
    assert!(document().contains(&stated), "{stated}");
    let crc32 = Checksum::new().of(&[&record[..60], &salt.to_le_bytes()]);
    assert_eq!(record[60..], crc32.to_le_bytes());
}

#[test]
fn worked_examples_of_a_running_region_match_the_vector() {
    let file = fs::read(spec().join("vectors/valid/running-with-an-argument.hrxt")).unwrap();
    let identity = Identity::parse(&file, &Checksum::new()).unwrap();
    for (example_name, start, fields) in [
        ("open record", identity.open_slot(0), open_record_fields()),
        ("argument", identity.ring_slot(0, 0), argument_fields()),
    ] {
        let start = start as usize;
        let rows = example(example_name);
        assert_eq!(rows.len(), fields.len());
        for ((offset, bytes, reads_as), (field, lies_at, size)) in rows.into_iter().zip(fields) {
            assert_eq!((offset, bytes.len()), (start + lies_at, size));
            assert_reads_as(field.trim_start_matches("r#"), &bytes, &reads_as);
            assert_eq!(bytes, file[offset..][..size], "{example_name}: {field}");
        }
    }
    // The argument's line is the same record with another checksum.
    let record = &file[identity.ring_slot(0, 0) as usize..][..64];
    let line = &file[identity.open_line(0, 2) as usize..][..64];
    assert_eq!(line[..60], record[..60]);
    let salt = Area::OpenTable.salt(identity.salt);
    let crc32 = Checksum::new().of(&[&line[..60], &salt.to_le_bytes()]);
    assert_eq!(line[60..], crc32.to_le_bytes());
    let stated = format!(
        "at offset {}, has the same bytes but for the last four: word 0 is 0 × 2^54 + 1, the same as here, and `crc32` is 0x{crc32:08X}, computed with the salt of the open table, 0x{:08X} + 1 = 0x{salt:08X}.",
        identity.open_line(0, 2),
        identity.salt
    );
    assert!(document().contains(&stated), "{stated}");
}
