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
            "format version at offset 8: found {found}, expected 2.x: convert it with the hrx-convert of the version that recorded it"
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
            text_mode("[89, 48, 52, 58, 0a, 1a, 0a, 02]"),
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
            with(8, &[3, 0, 7, 0]),
            version("3.7"),
        ),
        refused(
            "version-1",
            "A whole trace of version 1, as its draft described it: one event in a finished capture.",
            version_1(),
            version("1.0"),
        ),
        refused("major-zero", "Version 0.0, which does not exist.", with(8, &[0, 0, 0, 0]), version("0.0")),
        refused(
            "identity-too-small",
            "An identity smaller than version 2.0's.",
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
    // tight(4, 2, 2, 64): counters 2048, witness 2176, control 2304, open table 2432, names 2560, ring 0 2624, end 3136.
    vec![
        forged(
            "capacity-zero",
            |i| i.capacity = 0,
            "capacity",
            112,
            0,
            "1 to 2^46",
        ),
        forged(
            "capacity-too-large",
            |i| i.capacity = (1 << 46) + 1,
            "capacity",
            112,
            (1 << 46) + 1,
            "1 to 2^46",
        ),
        forged(
            "ring-count-zero",
            |i| i.ring_count = 0,
            "ring_count",
            120,
            0,
            "1 to 1024",
        ),
        forged(
            "ring-count-too-large",
            |i| i.ring_count = 1025,
            "ring_count",
            120,
            1025,
            "1 to 1024",
        ),
        forged(
            "open-slots",
            |i| i.open_slots = 65_535,
            "open_slots",
            124,
            65_535,
            "at most 65534",
        ),
        forged(
            "open-stride-zero",
            |i| i.open_stride = 0,
            "open_stride",
            72,
            0,
            "a multiple of 64 from 64 to 4096",
        ),
        forged(
            "open-stride-odd",
            |i| i.open_stride = 100,
            "open_stride",
            72,
            100,
            "a multiple of 64 from 64 to 4096",
        ),
        forged(
            "open-stride-too-large",
            |i| i.open_stride = 4160,
            "open_stride",
            72,
            4160,
            "a multiple of 64 from 64 to 4096",
        ),
        forged(
            "name-bytes-too-large",
            |i| i.name_bytes = (16 << 20) + 64,
            "name_bytes",
            88,
            (16 << 20) + 64,
            "at most 16 MiB",
        ),
        forged(
            "name-bytes-odd",
            |i| i.name_bytes = 100,
            "name_bytes",
            88,
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
            "witness-on-the-counters",
            |i| i.witness_offset = 2048,
            "witness_offset",
            40,
            2048,
            "a multiple of 128 after the counters",
        ),
        forged(
            "witness-over-two-sectors",
            |i| i.witness_offset = 2240,
            "witness_offset",
            40,
            2240,
            "a multiple of 128 after the counters",
        ),
        forged(
            "witness-overflow",
            |i| i.counters_offset = u64::MAX - 63,
            "witness_offset",
            40,
            2176,
            "a multiple of 128 after the counters",
        ),
        forged(
            "control-on-the-witness",
            |i| i.control_offset = 2240,
            "control_offset",
            48,
            2240,
            &after("witness"),
        ),
        forged(
            "control-overflow",
            |i| i.witness_offset = u64::MAX - 127,
            "control_offset",
            48,
            2304,
            &after("witness"),
        ),
        forged(
            "control-stride-zero",
            |i| i.control_stride = 0,
            "control_stride",
            56,
            0,
            "a positive multiple of 64",
        ),
        forged(
            "control-stride-odd",
            |i| i.control_stride = 65,
            "control_stride",
            56,
            65,
            "a positive multiple of 64",
        ),
        forged(
            "open-table-on-control-lines",
            |i| i.open_offset = 2368,
            "open_offset",
            64,
            2368,
            &after("control lines"),
        ),
        forged(
            "control-stride-overflow",
            |i| i.control_stride = 1 << 63,
            "open_offset",
            64,
            2432,
            &after("control lines"),
        ),
        forged(
            "names-on-open-table",
            |i| i.name_offset = 2496,
            "name_offset",
            80,
            2496,
            &after("open table"),
        ),
        forged(
            "names-on-the-lines-of-open-slots",
            |i| i.open_stride = 128,
            "name_offset",
            80,
            2560,
            &after("open table"),
        ),
        forged(
            "ring-on-names",
            |i| i.ring_offset = 2560,
            "ring_offset",
            96,
            2560,
            &after("name table"),
        ),
        forged(
            "ring-odd",
            |i| i.ring_offset = 2625,
            "ring_offset",
            96,
            2625,
            &after("name table"),
        ),
        forged(
            "ring-stride-too-small",
            |i| i.ring_stride = 192,
            "ring_stride",
            104,
            192,
            "a multiple of 64 that holds capacity records",
        ),
        forged(
            "file-too-small",
            |i| i.file_bytes = 3135,
            "file_bytes",
            24,
            3135,
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
            3136,
            "room for all rings",
        ),
        forged(
            "attributes",
            |i| i.attributes_bytes = 657,
            "attributes_bytes",
            228,
            657,
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

/// A trace of version 1, byte by byte: what its draft had as its worked example.
fn version_1() -> Vec<u8> {
    let mut file = vec![0; 16_384];
    let mut put = |offset: usize, bytes: &[u8]| {
        file[offset..][..bytes.len()].copy_from_slice(bytes);
    };
    put(0, b"\x89HRX\r\n\x1a\n\x01\0\0\0\0\x04\0\0");
    put(16, &[0xB1, 0x5F, 0x58, 0xC6, 0xFE, 0xCA, 0xED, 0x5E]);
    // From the size of the file to the capacity of a ring.
    let sizes: [u64; 10] = [16_384, 2048, 2176, 128, 4096, 8192, 4096, 12_288, 4096, 4];
    put(24, bytemuck::bytes_of(&sizes));
    put(104, bytemuck::bytes_of(&[1_u32, 64]));
    let epochs: [u64; 3] = [
        86_400_000_000_000,
        1_796_083_200_000_000_000,
        90_000_000_000_000,
    ];
    put(112, bytemuck::bytes_of(&epochs));
    put(136, b"boot of no host!");
    let capture_id: [u8; 16] = std::array::from_fn(|index| index as u8 * 0x11);
    put(152, &capture_id);
    put(168, bytemuck::bytes_of(&[8_640_000_u64, 4_026_531_836]));
    put(184, bytemuck::bytes_of(&[4242_u32, 17]));
    put(192, b"node7");
    put(256, b"pipeline");
    put(320, b"rank=3\nattempt=1\n");
    put(2048, b"FINISHED");
    put(2056, bytemuck::bytes_of(&300_000_u64));
    put(2176, bytemuck::bytes_of(&1_u64));
    put(8192, b"\xE8\xAE\xA9\x52\x01\0\0\0\x0E\0\0\0gemm 4096x4096");
    let region: [u64; 5] = [1, 1_500, 250_000, 65_536, 42];
    put(12_288, bytemuck::bytes_of(&region));
    put(12_328, bytemuck::bytes_of(&[1_u32, 1, 4243, 7]));
    put(12_344, &[1, 1, 0, 0, 0x53, 0x74, 0x7C, 0x91]);
    file
}
