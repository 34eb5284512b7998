//! Files that a reader refuses, each with its error message.

use hrx_trace_format::{Checksum, Identity};

use crate::image::{Image, region, tight};

/// A file that a reader refuses.
pub struct Refused {
    pub name: String,
    /// Why it is refused.
    pub reason: String,
    pub bytes: Vec<u8>,
    /// The reader's message, without the file's name.
    pub error: String,
}

const MAGIC: &str = "[89, 48, 52, 58, 0d, 0a, 1a, 0a]";

pub fn files() -> Vec<Refused> {
    let good = good();
    let with = |offset: usize, bytes: &[u8]| {
        let mut file = good[..HEADER_BYTES].to_vec();
        file[offset..][..bytes.len()].copy_from_slice(bytes);
        file
    };
    let short = |found: usize| {
        format!("cut short: found {found} bytes, expected a header of at least 2048")
    };
    let text_mode = |found: &str| {
        format!(
            "magic at offset 0 damaged as by a text-mode transfer: found {found}, expected {MAGIC}"
        )
    };
    let not_a_trace =
        |found: &str| format!("not a trace: at offset 0 found {found}, expected the magic {MAGIC}");
    let version = |found: &str| {
        format!(
            "format version at offset 8: found {found}, expected 1.x: convert it with a newer hrx-convert"
        )
    };
    let identity_size =
        |found: u32| format!("identity size at offset 12: found {found}, expected 1024 to 2048");

    let mut files = vec![
        refused("empty-file", "An empty file.", Vec::new(), short(0)),
        refused("cut-in-the-magic", "The first seven bytes of a trace.", good[..7].to_vec(), short(7)),
        refused("cut-in-the-identity", "Cut inside the identity.", good[..1000].to_vec(), short(1000)),
        refused(
            "cut-after-the-identity",
            "The identity is whole, but the space reserved for it, which a newer minor version may use, is not.",
            good[..2047].to_vec(),
            short(2047),
        ),
        refused(
            "unpublished",
            "Creation was cut short: everything but the magic is there.",
            with(0, &[0; 8]),
            "no magic at offset 0: found zeroes, so the file's creation was cut short before anything was recorded".to_owned(),
        ),
        refused(
            "zeroes",
            "The first page was never written back.",
            vec![0; 64],
            "no magic at offset 0: found zeroes, so the file's creation was cut short before anything was recorded".to_owned(),
        ),
        refused(
            "text-file",
            "Another kind of file: the converter's own output.",
            b"{\"traceEvents\":[],\"displayTimeUnit\":\"ns\"}\n".to_vec(),
            not_a_trace("[7b, 22, 74, 72, 61, 63, 65, 45]"),
        ),
        refused(
            "other-binary-file",
            "A PNG file, whose magic was the model for this one.",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
            not_a_trace("[89, 50, 4e, 47, 0d, 0a, 1a, 0a]"),
        ),
        refused(
            "text-mode-to-lf",
            "A text-mode transfer turned CR LF into LF.",
            replace(&good, b"\r\n", b"\n"),
            text_mode("[89, 48, 52, 58, 0a, 1a, 0a, 01]"),
        ),
        refused(
            "text-mode-to-crlf",
            "A text-mode transfer turned LF into CR LF.",
            replace(&good, b"\n", b"\r\n"),
            text_mode("[89, 48, 52, 58, 0d, 0d, 0a, 1a]"),
        ),
        refused(
            "text-mode-seven-bits",
            "A transfer cleared the top bit of every byte.",
            good[..HEADER_BYTES].iter().map(|byte| byte & 0x7F).collect(),
            text_mode("[09, 48, 52, 58, 0d, 0a, 1a, 0a]"),
        ),
        refused(
            "future-major",
            "A future major version, whose checksum this reader could not even compute.",
            with(8, &[2, 0, 7, 0]),
            version("2.7"),
        ),
        refused("major-zero", "Version 0.0, which does not exist.", with(8, &[0, 0, 0, 0]), version("0.0")),
        refused(
            "identity-too-small",
            "An identity smaller than version 1.0's.",
            with(12, &1023u32.to_le_bytes()),
            identity_size(1023),
        ),
        refused(
            "identity-too-large",
            "An identity larger than the space reserved for it.",
            with(12, &2049u32.to_le_bytes()),
            identity_size(2049),
        ),
    ];

    let flipped = with(200, &[good[200] ^ 1]);
    let found = u32::from_le_bytes([good[16], good[17], good[18], good[19]]);
    let expected = Checksum::new().of(&[&flipped[..16], &[0; 4], &flipped[20..1024]]);
    files.push(refused(
        "damaged-identity",
        "One flipped bit in the host name.",
        flipped,
        format!("header checksum at offset 16: found {found:#010x}, expected {expected:#010x} for the bytes there"),
    ));
    files.extend(impossible_fields());
    files
}

const HEADER_BYTES: usize = 2048;

/// One or more files for each rule of section 7.1: the identity verifies, but the field makes no sense.
fn impossible_fields() -> Vec<Refused> {
    type Change = fn(&mut Identity);
    let forged = |name: &str, change: Change, field: &str, offset: u32, found: u64, rule: &str| {
        let mut identity = tight(4, 2, 2, 64);
        change(&mut identity);
        let mut bytes = bytemuck::bytes_of(&identity.sealed(&Checksum::new())).to_vec();
        bytes.resize(HEADER_BYTES, 0);
        refused(
            &format!("field-{name}"),
            &format!("An identity that verifies but makes no sense: `{field}` is {found}."),
            bytes,
            format!("header field {field} at offset {offset}: found {found}, expected {rule}"),
        )
    };
    let after = |what: &str| format!("a multiple of 64 after the {what}");
    // tight(4, 2, 2, 64): counters 2048, control 2112, open table 2240, labels 2368, ring 0 2432, end 2944.
    vec![
        forged(
            "capacity-zero",
            |i| i.capacity = 0,
            "capacity",
            96,
            0,
            "1 to 2^46",
        ),
        forged(
            "capacity-too-large",
            |i| i.capacity = (1 << 46) + 1,
            "capacity",
            96,
            (1 << 46) + 1,
            "1 to 2^46",
        ),
        forged(
            "ring-count-zero",
            |i| i.ring_count = 0,
            "ring_count",
            104,
            0,
            "1 to 1024",
        ),
        forged(
            "ring-count-too-large",
            |i| i.ring_count = 1025,
            "ring_count",
            104,
            1025,
            "1 to 1024",
        ),
        forged(
            "open-slots",
            |i| i.open_slots = 255,
            "open_slots",
            108,
            255,
            "at most 254",
        ),
        forged(
            "label-bytes-too-large",
            |i| i.label_bytes = (16 << 20) + 64,
            "label_bytes",
            72,
            (16 << 20) + 64,
            "at most 16 MiB",
        ),
        forged(
            "label-bytes-odd",
            |i| i.label_bytes = 100,
            "label_bytes",
            72,
            100,
            "a multiple of 64",
        ),
        forged(
            "counters-in-the-identity",
            |i| i.counters_offset = 960,
            "counters_offset",
            32,
            960,
            &after("identity"),
        ),
        forged(
            "control-on-the-counters",
            |i| i.control_offset = 2048,
            "control_offset",
            40,
            2048,
            &after("counters"),
        ),
        forged(
            "control-overflow",
            |i| i.counters_offset = u64::MAX - 63,
            "control_offset",
            40,
            2112,
            &after("counters"),
        ),
        forged(
            "control-stride-zero",
            |i| i.control_stride = 0,
            "control_stride",
            48,
            0,
            "a positive multiple of 64",
        ),
        forged(
            "control-stride-odd",
            |i| i.control_stride = 65,
            "control_stride",
            48,
            65,
            "a positive multiple of 64",
        ),
        forged(
            "open-table-on-control-lines",
            |i| i.open_offset = 2176,
            "open_offset",
            56,
            2176,
            &after("control lines"),
        ),
        forged(
            "control-stride-overflow",
            |i| i.control_stride = 1 << 63,
            "open_offset",
            56,
            2240,
            &after("control lines"),
        ),
        forged(
            "labels-on-open-table",
            |i| i.label_offset = 2304,
            "label_offset",
            64,
            2304,
            &after("open table"),
        ),
        forged(
            "ring-on-labels",
            |i| i.ring_offset = 2368,
            "ring_offset",
            80,
            2368,
            &after("label table"),
        ),
        forged(
            "ring-odd",
            |i| i.ring_offset = 2433,
            "ring_offset",
            80,
            2433,
            &after("label table"),
        ),
        forged(
            "ring-stride-too-small",
            |i| i.ring_stride = 192,
            "ring_stride",
            88,
            192,
            "a multiple of 64 that holds capacity records",
        ),
        forged(
            "file-too-small",
            |i| i.file_bytes = 2943,
            "file_bytes",
            24,
            2943,
            "room for all rings",
        ),
        forged(
            "file-too-large",
            |i| i.file_bytes = 1 << 63,
            "file_bytes",
            24,
            1 << 63,
            "room for all rings",
        ),
        forged(
            "rings-overflow",
            |i| i.ring_stride = 1 << 63,
            "file_bytes",
            24,
            2944,
            "room for all rings",
        ),
        forged(
            "attributes",
            |i| i.attributes_bytes = 705,
            "attributes_bytes",
            188,
            705,
            "at most the size of attributes",
        ),
    ]
}

fn refused(name: &str, reason: &str, bytes: Vec<u8>, error: String) -> Refused {
    Refused {
        name: name.to_owned(),
        reason: reason.to_owned(),
        bytes,
        error,
    }
}

/// A small intact trace.
fn good() -> Vec<u8> {
    let mut image = Image::new("", "", tight(2, 1, 1, 64));
    image.record(0, region(1));
    image.claimed(0, 1);
    image.bytes
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    let mut rest = bytes;
    while let [first, behind @ ..] = rest {
        if rest.starts_with(from) {
            replaced.extend_from_slice(to);
            rest = &rest[from.len()..];
        } else {
            replaced.push(*first);
            rest = behind;
        }
    }
    replaced
}
