//! FORMAT.md, decode.py, the vectors and the Rust code agree with each other.
//!
//! - The checked-in vectors are those that their generator makes.
//! - decode.py, written from FORMAT.md alone, and the Rust reader both read each vector as its generator states.
//! - Both read thousands of damaged and forged copies alike, though nothing states what is in those.
//! - `format_document.rs` checks FORMAT.md itself against the code.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hrx_trace_format::header::{STATE_FINISHED, STATE_RECORDING};
use hrx_trace_format::open::sequence_of;
use hrx_trace_format::{Area, Checksum, Identity, OpenRecord, Record};
use hrx_trace_reader::{Ending, Error, Label, Trace};
use hrx_trace_tests::document::{Document, Event, OpenRegion, Tickets};

fn spec() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec")
}

/// All files below `folder` that end in `extension`, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path, extension));
        } else if path.to_str().unwrap().ends_with(extension) {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Vectors that a reader accepts.
fn accepted() -> Vec<PathBuf> {
    let vectors = spec().join("vectors");
    let mut accepted = files(&vectors.join("valid"), ".hrxt");
    accepted.extend(files(&vectors.join("torn"), ".hrxt"));
    assert!(accepted.len() > 40);
    accepted
}

fn refused() -> Vec<PathBuf> {
    let refused = files(&spec().join("vectors/invalid"), ".hrxt");
    assert!(refused.len() > 30);
    refused
}

fn parse(json: &str, of: &Path) -> Document {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{}: {error}\n{json}", of.display()))
}

/// What the Rust reader finds in a capture.
fn document_of(trace: &Trace) -> Document {
    let mut events = trace.events();
    let given: Vec<_> = events.by_ref().collect();
    let report = events.finish();
    let tickets = |account: &hrx_trace_reader::Account| {
        assert!(account.balances(), "{account:?}");
        assert_eq!(
            (account.in_flight, account.overtaken),
            (0, 0),
            "no writer runs"
        );
        Tickets {
            claimed: account.claimed,
            recovered: account.recovered,
            overwritten: account.overwritten,
            torn: account.torn,
            skipped: account.skipped,
        }
    };
    let named = given.iter().map(|event| event.label_id);
    let named = named.chain(report.open_regions.iter().map(|region| region.label_id));
    let labels = named
        .filter_map(|label_id| match trace.label(label_id) {
            Label::None => None,
            Label::Text(text) => Some((label_id, Some(text.to_owned()))),
            Label::Unreadable => Some((label_id, None)),
        })
        .collect::<BTreeMap<_, _>>();
    // The reader lists unreadable labels among the damages, a document in `labels`.
    let mut damages: Vec<u64> = report
        .damages
        .iter()
        .filter(|damage| !damage.what.starts_with("label "))
        .map(|damage| damage.offset)
        .collect();
    damages.sort_unstable();
    Document {
        ending: match report.ending {
            Ending::Finished => "finished".to_owned(),
            Ending::Live | Ending::WriterDied => "not-finished".to_owned(),
            other => panic!("an ending that the format does not know: {other:?}"),
        },
        account: tickets(&report.account),
        rings: report.rings.iter().map(tickets).collect(),
        rejected: report.rejected,
        open_refused: report.open_refused,
        labels_refused: report.labels_refused,
        open_torn: report.open_torn,
        last_ns: report.last_ns,
        complete_since_ns: report.complete_since_ns,
        labels,
        events: given
            .iter()
            .map(|event| Event {
                ring: event.ring,
                sequence: event.sequence,
                start_ns: event.start_ns,
                duration_ns: event.duration_ns,
                copied_bytes: event.copied_bytes,
                correlation_id: event.correlation_id,
                lane: event.lane,
                label_id: event.label_id,
                thread_id: event.thread_id,
                status: event.status,
                failed: event.failed,
                saturated: event.saturated,
            })
            .collect(),
        open_regions: report
            .open_regions
            .iter()
            .map(|region| OpenRegion {
                slot: region.slot,
                start_ns: region.start_ns,
                copied_bytes: region.copied_bytes,
                correlation_id: region.correlation_id,
                lane: region.lane,
                label_id: region.label_id,
                thread_id: region.thread_id,
                saturated: region.saturated,
            })
            .collect(),
        damages,
        ..Document::of(trace.identity())
    }
}

/// The Rust reader's error for bytes that it refuses, without the file's name.
fn complaint_of(error: &Error) -> String {
    assert!(matches!(error, Error::Header { .. }), "{error:?}");
    error.source().expect("a header's error").to_string()
}

#[test]
fn the_checked_in_vectors_are_those_that_the_generator_makes() {
    let made = tempfile::tempdir().unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_make-vectors"))
        .arg(made.path())
        .status()
        .unwrap();
    assert!(status.success());
    let contents = |folder: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
        files(folder, "")
            .into_iter()
            .map(|path| {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                (name, fs::read(path).unwrap())
            })
            .collect()
    };
    let (made, kept) = (contents(made.path()), contents(&spec().join("vectors")));
    assert_eq!(
        made.keys().collect::<Vec<_>>(),
        kept.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &made {
        assert!(
            bytes == &kept[name],
            "{} differs from what make-vectors makes: run `cargo run -p hrx-trace-tests --bin make-vectors` and look at the difference",
            name.display()
        );
    }
    // Small enough to read in a hex dump.
    assert!(kept.values().all(|bytes| bytes.len() <= 16 << 10));
}

#[test]
fn decode_py_reads_each_vector_as_expected() {
    let files: Vec<PathBuf> = accepted().into_iter().chain(refused()).collect();
    let answers = decode_all(files.iter().map(PathBuf::as_path));
    assert_eq!(answers.len(), files.len());
    for (path, answer) in files.iter().zip(answers) {
        let paths = ["json", "txt"].map(|extension| path.with_extension(extension));
        let [document, complaint] = paths.map(|path| fs::read_to_string(path).ok());
        if let Some(document) = &document {
            assert_eq!(
                parse(&answer, path),
                parse(document, path),
                "{}",
                path.display()
            );
        }
        assert_eq!(Some(answer), document.or(complaint), "{}", path.display());
    }
}

#[test]
fn decode_py_prints_documents_and_errors_on_the_command_line() {
    let ran = |path: &Path| {
        let output = Command::new("python3")
            .arg("-B")
            .arg(spec().join("decode.py"))
            .arg(path)
            .output()
            .expect("python3, to run spec/decode.py");
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (output.status.code(), out, err)
    };
    let path = spec().join("vectors/valid/labels.hrxt");
    let before = fs::read(&path).unwrap();
    let document = fs::read_to_string(path.with_extension("json")).unwrap();
    assert_eq!(ran(&path), (Some(0), document, String::new()));
    assert!(
        before == fs::read(&path).unwrap(),
        "decode.py changed its input"
    );

    let path = spec().join("vectors/invalid/unpublished.hrxt");
    let complaint = fs::read_to_string(path.with_extension("txt")).unwrap();
    let complaint = format!("{}: {complaint}", path.display());
    assert_eq!(ran(&path), (Some(1), String::new(), complaint));

    let complaint = "no-such-file.hrxt: No such file or directory\n".to_owned();
    assert_eq!(
        ran(Path::new("no-such-file.hrxt")),
        (Some(1), String::new(), complaint)
    );
}

#[test]
fn the_reader_reads_each_vector_as_expected() {
    for path in accepted() {
        let expected = fs::read_to_string(path.with_extension("json")).unwrap();
        let expected = parse(&expected, &path);
        let from_file = document_of(&Trace::open(&path).unwrap());
        assert_eq!(from_file, expected, "{}", path.display());
        let from_bytes = document_of(&Trace::from_bytes(fs::read(&path).unwrap()).unwrap());
        assert_eq!(from_bytes, expected, "{}", path.display());
    }
    for path in refused() {
        let expected = fs::read_to_string(path.with_extension("txt")).unwrap();
        let error = Trace::open(&path).unwrap_err();
        assert_eq!(
            complaint_of(&error),
            expected.trim_end(),
            "{}",
            path.display()
        );
        assert!(error.to_string().contains(path.to_str().unwrap()));
    }
}

/// Random damage and forged items reach cases that the vectors do not cover. The seed decides everything: change it to search elsewhere.
#[test]
fn reader_and_decode_py_agree_on_damaged_and_forged_copies() {
    const SEED: u64 = 0x2026_1130;
    const COPIES: usize = 3_000;
    println!("seed {SEED:#x}, {COPIES} copies");
    let vectors: Vec<_> = accepted()
        .into_iter()
        .map(|path| (fs::read(&path).unwrap(), path))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(SEED);
    let copies: Vec<(PathBuf, Vec<u8>, String)> = (0..COPIES)
        .map(|number| {
            let (bytes, origin) = &vectors[random.below(vectors.len() as u64) as usize];
            let mut bytes = bytes.clone();
            let mut story = origin.file_stem().unwrap().to_str().unwrap().to_owned();
            for _ in 0..=random.below(6) {
                let step = if random.below(3) == 0 {
                    damage(&mut bytes, &mut random)
                } else {
                    forge(&mut bytes, &mut random)
                };
                story = format!("{story}, {step}");
            }
            let path = folder.path().join(format!("{number}.hrxt"));
            fs::write(&path, &bytes).unwrap();
            (path, bytes, story)
        })
        .collect();

    let answers = decode_all(copies.iter().map(|(path, ..)| path.as_path()));
    assert_eq!(answers.len(), COPIES);
    let (mut events, mut torn, mut damaged, mut open, mut complaints) = (0, 0, 0, 0, 0);
    for ((path, bytes, story), answer) in copies.into_iter().zip(answers) {
        let found = match Trace::from_bytes(bytes) {
            Ok(trace) => {
                let document = document_of(&trace);
                events += document.events.len();
                torn += usize::from(document.account.torn > 0);
                damaged += usize::from(!document.damages.is_empty());
                open += document.open_regions.len();
                document.to_json()
            }
            Err(error) => {
                complaints += 1;
                format!("{}\n", complaint_of(&error))
            }
        };
        if let Ok(expected) = serde_json::from_str::<Document>(&answer) {
            assert_eq!(parse(&found, &path), expected, "seed {SEED:#x}: {story}");
        }
        assert_eq!(found, answer, "seed {SEED:#x}: {story}");
    }
    println!(
        "{events} events, {open} open regions, {torn} copies with torn tickets, {damaged} with damages, {complaints} refused"
    );
    // The copies must be of every kind.
    assert!(
        events > COPIES
            && open > COPIES / 4
            && torn > COPIES / 4
            && damaged > COPIES / 8
            && complaints > COPIES / 100
    );
}

/// What decode.py prints for each file: its document, or its error without the file's name. In one process, for speed.
fn decode_all<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<String> {
    const SCRIPT: &str = r#"
import json, sys
sys.path.insert(0, sys.argv[1])
import decode
sys.stdout.reconfigure(encoding="utf-8")
for path in sys.stdin.read().splitlines():
    try:
        with open(path, "rb") as file:
            answer = json.dumps(decode.decode(file.read()), ensure_ascii=False, indent=1)
    except decode.Refused as refused:
        answer = str(refused)
    print(answer, end="\n\0")
"#;
    let mut child = Command::new("python3")
        .args(["-B", "-c", SCRIPT])
        .arg(spec())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3, to run spec/decode.py");
    let mut input = child.stdin.take().unwrap();
    for file in files {
        writeln!(input, "{}", file.display()).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let mut answers: Vec<String> = answers.split('\0').map(str::to_owned).collect();
    assert_eq!(answers.pop().as_deref(), Some(""));
    answers
}

/// Damages the file as disks, transfers and people do. Returns what it did.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let length = bytes.len() as u64;
    if length < 128 {
        bytes.resize(128, 0);
        return "grown to 128 bytes".to_owned();
    }
    // Mostly after the identity: a damaged identity is refused, and nothing else is tested.
    let lowest = if random.below(16) == 0 {
        0
    } else {
        1024.min(length / 2)
    };
    let at = lowest + random.below(length - lowest);
    let block = (at / 64 * 64) as usize;
    let other = (random.below(length) / 64 * 64) as usize;
    match random.below(7) {
        0 | 1 => {
            let bit = random.below(8);
            bytes[at as usize] ^= 1 << bit;
            format!("bit {bit} of {at} flipped")
        }
        2 => {
            for byte in bytes
                .iter_mut()
                .skip(at as usize)
                .take(random.below(100) as usize)
            {
                *byte = random.next() as u8;
            }
            format!("random bytes at {at}")
        }
        3 => {
            for byte in bytes.iter_mut().skip(block).take(64) {
                *byte = 0;
            }
            format!("block {block} zeroed")
        }
        4 if block.max(other) + 64 <= bytes.len() => {
            bytes.copy_within(block..block + 64, other);
            format!("block {block} copied to {other}")
        }
        5 if random.below(4) == 0 => {
            bytes.truncate(at as usize);
            format!("cut at {at}")
        }
        _ => {
            bytes.extend((0..random.below(200)).map(|_| random.next() as u8));
            "grown".to_owned()
        }
    }
}

/// Writes something that verifies, at a place where a writer might have put it or where it would not. Returns what it did.
fn forge(bytes: &mut [u8], random: &mut Random) -> String {
    let checksum = Checksum::new();
    let Ok(identity) = Identity::parse(bytes, &checksum) else {
        return "nothing forged".to_owned();
    };
    let mut put = |offset: u64, item: &[u8]| {
        if let Some(place) = bytes
            .get_mut(offset as usize..)
            .and_then(|rest| rest.get_mut(..item.len()))
        {
            place.copy_from_slice(item);
        }
    };
    let ring = random.below(u64::from(identity.ring_count)) as u32;
    let slot = random.below(identity.capacity.min(8));
    match random.below(8) {
        0..=3 => {
            let lap = random.below(4) * u64::from(random.below(3) > 0);
            let record = Record {
                sequence: slot + 1 + lap * identity.capacity + u64::from(random.below(20) == 0),
                start_ns: random.small(),
                duration_ns: random.small(),
                copied_bytes: random.next(),
                correlation_id: random.next(),
                lane: random.below(8) as u32,
                label_id: random.below(6) as u32,
                thread_id: random.next() as u32,
                status: random.below(2) as u32,
                flags: random.below(8) as u8,
                open_slot: random.below(4) as u8,
                kind: u16::from(random.below(10) == 0),
                crc32: 0,
            };
            let sealed = record.sealed(&checksum, Area::Ring(ring).salt(identity.salt));
            put(identity.ring_slot(ring, slot), bytemuck::bytes_of(&sealed));
            format!("record {} forged in ring {ring}", record.sequence)
        }
        4 | 5 => {
            let slot = random.below(u64::from(identity.open_slots.clamp(1, 3))) as u32;
            let start_ns = random.small();
            let open = OpenRecord {
                sequence: sequence_of(start_ns) + u64::from(random.below(20) == 0),
                start_ns,
                claimed_at_begin: random.below(10),
                copied_bytes: random.next(),
                correlation_id: random.next(),
                lane: random.below(8) as u32,
                label_id: random.below(6) as u32,
                thread_id: random.next() as u32,
                ring: random.below(u64::from(identity.ring_count) + 1) as u32,
                flags: random.below(8) as u8,
                open_slot: slot as u8 + 1 + u8::from(random.below(20) == 0),
                kind: 1 + u16::from(random.below(20) == 0),
                crc32: 0,
            };
            let sealed = open.sealed(&checksum, Area::OpenTable.salt(identity.salt));
            put(identity.open_slot(slot), bytemuck::bytes_of(&sealed));
            format!("region forged in open slot {slot}")
        }
        6 => {
            let claimed = match random.below(12) {
                0 => random.next(),
                1 => (1 << 54) - random.below(2),
                _ => random.below(identity.capacity.min(8) * 4),
            };
            put(identity.control_line(ring), &claimed.to_le_bytes());
            format!("claimed of ring {ring} set to {claimed}")
        }
        _ => {
            let states = [STATE_FINISHED, STATE_RECORDING, random.next()];
            let state = states[random.below(3) as usize];
            put(identity.counters_offset, &state.to_le_bytes());
            put(identity.counters_offset + 8, &random.small().to_le_bytes());
            format!("state set to {state:#x}")
        }
    }
}

/// SplitMix64: small, and independent of any package's version.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `limit` - 1; 0 if `limit` is 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// Mostly small, so that ends collide and order matters; sometimes any u64.
    fn small(&mut self) -> u64 {
        match self.below(20) {
            0 => u64::MAX - self.below(3),
            _ => self.below(50),
        }
    }
}
