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

use hrx_trace_format::header::{STATE_FINISHED, STATE_LEFT_BY_EXIT, STATE_RECORDING};
use hrx_trace_format::name::{BLOCK_BYTES, blocks_of, encode};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::OPEN_SLOT_NONE;
use hrx_trace_format::witness::WITNESS_WORD;
use hrx_trace_format::{
    Amendment, Area, Argument, ArgumentValue, ArgumentsOf, Checksum, Counters, Identity, Mark,
    Name, OpenRecord, Record, Value, Witness, line,
};
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
        Tickets::of_regions([
            account.claimed,
            account.recovered,
            account.overwritten,
            account.torn,
            account.skipped,
        ])
    };
    let named = given.iter().map(|event| event.label_id);
    let named = named.chain(report.open_regions.iter().map(|region| region.label_id));
    let labels = named
        .filter_map(|label_id| match trace.label(label_id) {
            Label::None => None,
            Label::Text(text) => Some((label_id, Some((text.to_owned(), 0)))),
            Label::Unreadable => Some((label_id, None)),
        })
        .collect::<BTreeMap<_, _>>();
    let mut damages: Vec<u64> = report.damages.iter().map(|damage| damage.offset).collect();
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
        names_refused: report.labels_refused,
        open_torn: report.open_torn,
        last_ns: report.last_ns,
        complete_since_ns: report.complete_since_ns,
        labels,
        events: given
            .iter()
            .map(|event| Event::Region {
                ring: event.ring,
                sequence: event.sequence,
                start_ns: event.start_ns,
                duration_ns: event.duration_ns,
                copied_bytes: event.copied_bytes,
                correlation_id: event.correlation_id,
                lane: event.lane,
                label_id: event.label_id,
                thread_id: event.thread_id,
                thread: None,
                status: event.status,
                failed: event.failed,
                cancelled: false,
                hidden: false,
                saturated: event.saturated,
                arguments: Vec::new(),
                arguments_lost: 0,
            })
            .collect(),
        open_regions: report
            .open_regions
            .iter()
            .map(|region| OpenRegion {
                slot: region.slot,
                ring: 0,
                start_ns: region.start_ns,
                copied_bytes: region.copied_bytes,
                correlation_id: region.correlation_id,
                lane: region.lane,
                label_id: region.label_id,
                thread_id: region.thread_id,
                thread: None,
                status: 0,
                waiting: false,
                saturated: region.saturated,
                amended: false,
                arguments: Vec::new(),
                arguments_lost: 0,
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
    // Small enough to read in a hex dump. The page that lists them grows with their number.
    let mut files = kept.iter().filter(|(name, _)| !name.ends_with("README.md"));
    assert!(files.all(|(_, bytes)| bytes.len() <= 16 << 10));
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

/// A copy of a vector with random damage and forged items, and what was done to it.
struct Copy {
    path: PathBuf,
    bytes: Vec<u8>,
    story: String,
}

/// The seed decides everything: change it to search elsewhere.
const SEED: u64 = 0x2026_1130;
const COPIES: usize = 3_000;

/// Random damage and forged items reach cases that the vectors do not cover.
fn copies(folder: &Path) -> Vec<Copy> {
    println!("seed {SEED:#x}, {COPIES} copies");
    let vectors: Vec<_> = accepted()
        .into_iter()
        .map(|path| (fs::read(&path).unwrap(), path))
        .collect();
    let mut random = Random(SEED);
    (0..COPIES)
        .map(|number| {
            let (bytes, origin) = &vectors[random.below(vectors.len() as u64) as usize];
            let mut bytes = bytes.clone();
            let mut story = origin.file_stem().unwrap().to_str().unwrap().to_owned();
            for _ in 0..=random.below(12) {
                let step = if random.below(4) == 0 {
                    damage(&mut bytes, &mut random)
                } else {
                    forge(&mut bytes, &mut random)
                };
                story = format!("{story}, {step}");
            }
            let path = folder.join(format!("{number}.hrxt"));
            fs::write(&path, &bytes).unwrap();
            Copy { path, bytes, story }
        })
        .collect()
}

/// What section 7.5 of FORMAT.md says must add up does, whatever the bytes are; and the copies reach everything that a file can hold.
#[test]
fn decode_py_accounts_for_everything_in_damaged_and_forged_copies() {
    let folder = tempfile::tempdir().unwrap();
    let copies = copies(folder.path());
    let answers = decode_all(copies.iter().map(|copy| copy.path.as_path()));
    let mut total = Tickets::default();
    let mut reached = BTreeMap::<&str, usize>::new();
    for (copy, answer) in copies.iter().zip(answers) {
        let Ok(document) = serde_json::from_str::<Document>(&answer) else {
            *reached.entry("refused").or_default() += 1;
            continue;
        };
        let story = &copy.story;
        for ring in document.rings.iter().chain([&document.account]) {
            let verdicts = [ring.recovered, ring.overwritten, ring.torn, ring.skipped];
            assert_eq!(ring.claimed, verdicts.iter().sum::<u64>(), "{story}");
            let kinds = [
                ring.regions,
                ring.marks,
                ring.values,
                ring.arguments,
                ring.amendments,
            ];
            assert_eq!(ring.recovered, kinds.iter().sum::<u64>(), "{story}");
            assert_eq!(ring.arguments, ring.joined + ring.orphaned, "{story}");
        }
        let account = document.account;
        let events = account.regions + account.marks + account.values;
        assert_eq!(document.events.len() as u64, events, "{story}");
        assert!(document.damages.is_sorted(), "{story}");
        total.joined += account.joined;
        total.orphaned += account.orphaned;
        total.amendments += account.amendments;
        total.skipped += account.skipped;
        let open = &document.open_regions;
        let mut events = document.events.clone();
        let events = events.iter_mut().map(Event::details);
        let named_threads = events.filter(|(thread, ..)| thread.is_some()).count();
        for (what, count) in [
            ("open regions", open.len()),
            ("amended", open.iter().filter(|open| open.amended).count()),
            (
                "arguments of open regions",
                open.iter().map(|open| open.arguments.len()).sum(),
            ),
            ("named threads", named_threads),
            ("witnesses", usize::from(document.witness.is_some())),
            ("groups", document.groups.len()),
            ("lanes", document.lanes.len()),
            ("keys", document.keys.len()),
            ("damages", document.damages.len()),
        ] {
            *reached.entry(what).or_default() += count;
        }
    }
    println!("{total:?}, {reached:?}");
    assert!(reached.len() == 10 && reached.values().all(|count| *count > COPIES / 100));
    for count in [
        total.joined,
        total.orphaned,
        total.amendments,
        total.skipped,
    ] {
        assert!(count > COPIES as u64 / 10);
    }
}

#[test]
fn reader_and_decode_py_agree_on_damaged_and_forged_copies() {
    let folder = tempfile::tempdir().unwrap();
    let copies = copies(folder.path());
    let answers = decode_all(copies.iter().map(|copy| copy.path.as_path()));
    assert_eq!(answers.len(), COPIES);
    let (mut events, mut torn, mut damaged, mut open, mut complaints) = (0, 0, 0, 0, 0);
    for (Copy { path, bytes, story }, answer) in copies.into_iter().zip(answers) {
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
    let ring_salt = Area::Ring(ring).salt(identity.salt);
    match random.below(16) {
        0..=7 => {
            let lap = random.below(4) * u64::from(random.below(3) > 0);
            let sequence = slot + 1 + lap * identity.capacity + u64::from(random.below(20) == 0);
            let (kind, words) = any_record(sequence, random);
            let sealed = checksum.seal(ring_salt, words);
            put(identity.ring_slot(ring, slot), bytemuck::bytes_of(&sealed));
            format!("record {sequence} of kind {kind} forged in ring {ring}")
        }
        8 | 9 => {
            let slot = random.below(u64::from(identity.open_slots.clamp(1, 3))) as u32;
            let open = any_open(slot, &identity, random);
            let sealed = open.sealed(&checksum, Area::OpenTable.salt(identity.salt));
            put(identity.open_slot(slot), bytemuck::bytes_of(&sealed));
            format!("region forged in open slot {slot}")
        }
        10 | 11 => {
            let slot = random.below(u64::from(identity.open_slots.clamp(1, 3))) as u32;
            let number = random.below(identity.open_lines().into()) as u32;
            let (kind, mut words) = any_record(random.below(12), random);
            words[0] = line::word(random.below(2) as u32, words[0]);
            let sealed = checksum.seal(Area::OpenTable.salt(identity.salt), words);
            put(
                identity.open_line(slot, number),
                bytemuck::bytes_of(&sealed),
            );
            format!("record of kind {kind} forged in line {number} of open slot {slot}")
        }
        12 => {
            let claimed = match random.below(12) {
                0 => random.next(),
                1 => (1 << 54) - random.below(2),
                _ => random.below(identity.capacity.min(8) * 4),
            };
            put(identity.control_line(ring), &claimed.to_le_bytes());
            format!("claimed of ring {ring} set to {claimed}")
        }
        13 => {
            let states = [
                STATE_FINISHED,
                STATE_RECORDING,
                STATE_LEFT_BY_EXIT,
                random.next(),
            ];
            let counters = Counters {
                state: states[random.below(4) as usize],
                finished_ns: random.small(),
                last_alive_ns: random.small(),
                hidden_now: random.small(),
                ..bytemuck::Zeroable::zeroed()
            };
            put(identity.counters_offset, bytemuck::bytes_of(&counters));
            format!("counters set to {counters:?}")
        }
        14 => {
            let texts = [
                "",
                "gemm",
                "worker",
                "a name that does not fit a block of 64 bytes",
            ];
            let text = texts[random.below(4) as usize];
            let name_id = 1 + random.below(5) as u32;
            let name = Name {
                kind: random.below(7) as u8,
                group: random.below(6) as u32,
                since_ns: random.small(),
                subject: random.below(5) as u32,
                text,
            };
            let mut entry = vec![0; blocks_of(text.len()) * BLOCK_BYTES];
            let salt = Area::NameTable.salt(identity.salt);
            encode(&mut entry, name_id, &name, &checksum, salt).expect("a short name");
            put(identity.name_entry(name_id), &entry);
            format!("name {name_id} forged: {name:?}")
        }
        _ => {
            let witness = Witness {
                word: WITNESS_WORD - u64::from(random.below(20) == 0),
                capture_id: identity.capture_id,
                seen_monotonic_ns: identity.epoch_monotonic_ns.wrapping_add(random.small()),
                seen_realtime_ns: random.next(),
                time_namespace: identity.time_namespace + random.below(3) / 2,
                status: random.next() as u32,
                cause: random.below(5) as u8,
                core_dumped: random.below(10) as u8 / 3,
                out_of_memory: random.below(10) as u8 / 3,
                ..bytemuck::Zeroable::zeroed()
            };
            let sealed = witness.sealed(&checksum, identity.salt);
            put(identity.witness_offset, bytemuck::bytes_of(&sealed));
            "witness forged".to_owned()
        }
    }
}

/// A record of any kind, its words not yet sealed. Its fields have few values, so that arguments often find an event that they fit.
fn any_record(sequence: u64, random: &mut Random) -> (u8, [u64; 8]) {
    let start_ns = random.beginning();
    let thread_id = random.below(3) as u32;
    let flags = [0, 8, random.next() as u8][random.below(3) as usize];
    let open_slot = [0, 1, 2, 3, OPEN_SLOT_NONE][random.below(5) as usize];
    let label_id = random.below(6) as u32;
    let owner = random.below(4) as u32;
    let kind = random.below(12) as u8;
    let words = match kind {
        0 | 6 | 7 => bytemuck::cast(Record {
            sequence,
            start_ns,
            duration_ns: random.small(),
            copied_bytes: random.next(),
            correlation_id: random.next(),
            lane: random.below(8) as u32,
            label_id,
            thread_id,
            status: random.below(2) as u32,
            flags,
            // 6 and 7 are not known.
            kind: kind * u8::from(random.below(10) == 0),
            open_slot,
            crc32: 0,
        }),
        1 | 2 => bytemuck::cast(Mark {
            sequence,
            label_id,
            thread_id,
            flags,
            ..Mark::at(start_ns)
        }),
        3 => bytemuck::cast(Value {
            sequence,
            label_id,
            thread_id,
            flags,
            ..Value::at(start_ns, f64::from_bits(random.next()))
        }),
        4 => bytemuck::cast(Amendment {
            sequence,
            start_ns,
            copied_bytes: random.next(),
            label_id,
            owner,
            status: random.next() as u32,
            flags,
            kind: 5,
            open_slot,
            ..bytemuck::Zeroable::zeroed()
        }),
        _ => {
            let text = "é-".repeat(random.below(60) as usize);
            let values = [
                ArgumentValue::Text(text.as_bytes()),
                ArgumentValue::U64(random.next()),
                ArgumentValue::I64(random.next() as i64),
                ArgumentValue::F64(f64::from_bits(random.next())),
                ArgumentValue::Bool(random.below(2) == 0),
            ];
            let value = values[random.below(5) as usize];
            let ordinal = random.below(3) as u16;
            let key = random.below(6) as u32;
            let mut parts = ArgumentsOf::event(start_ns, owner).records(ordinal, key, value);
            let part = parts.nth(random.below(3) as usize);
            let any = Argument {
                r#type: random.below(7) as u8,
                text_bytes: random.below(300) as u16,
                part: random.below(4) as u8,
                content: std::array::from_fn(|_| random.next() as u8),
                ..ArgumentsOf::event(start_ns, owner)
                    .records(ordinal, key, ArgumentValue::U64(1))
                    .next()
                    .expect("a number has one record")
            };
            bytemuck::cast(Argument {
                sequence,
                open_slot,
                flags,
                ..part.unwrap_or(any)
            })
        }
    };
    (kind, words)
}

/// A region in open slot `slot`, whose fields are mostly possible.
fn any_open(slot: u32, identity: &Identity, random: &mut Random) -> OpenRecord {
    let claimed_at_begin = random.below(10) + (u64::from(random.below(10) == 0) << 32);
    let ring = random.below(u64::from(identity.ring_count) + 1) as u32;
    OpenRecord {
        sequence: sequence_of(claimed_at_begin, ring) + u64::from(random.below(20) == 0),
        start_ns: random.beginning(),
        claimed_at_begin,
        copied_bytes: random.next(),
        correlation_id: random.next(),
        lane: random.below(8) as u32,
        label_id: random.below(6) as u32,
        thread_id: random.below(3) as u32,
        ring,
        flags: random.next() as u8,
        kind: KIND_OPEN + u8::from(random.below(20) == 0),
        open_slot: slot as u16 + 1 + u16::from(random.below(20) == 0),
        crc32: 0,
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

    /// Mostly the same, so that arguments find an event that they fit.
    fn beginning(&mut self) -> u64 {
        match self.below(3) {
            0 => self.small(),
            _ => 5,
        }
    }

    /// Mostly small, so that ends collide and order matters; sometimes any u64.
    fn small(&mut self) -> u64 {
        match self.below(20) {
            0 => u64::MAX - self.below(3),
            _ => self.below(50),
        }
    }
}
