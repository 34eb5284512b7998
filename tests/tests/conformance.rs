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

use hrx_trace_format::argument::KIND_ARGUMENT;
use hrx_trace_format::header::{STATE_FINISHED, STATE_LEFT_BY_EXIT, STATE_RECORDING};
use hrx_trace_format::name::{BLOCK_BYTES, blocks_of, encode};
use hrx_trace_format::open::{KIND_OPEN, sequence_of};
use hrx_trace_format::record::{FLAG_ARGUMENTS, OPEN_SLOT_NONE};
use hrx_trace_format::witness::WITNESS_WORD;
use hrx_trace_format::{
    Amendment, Area, Argument, ArgumentValue, ArgumentsOf, Checksum, Counters, Geometry, Identity,
    Mark, Name, OpenRecord, Record, Value, Witness, line,
};
use hrx_trace_reader::{Cause, Ending, Error, Kind, Names, Trace};
use hrx_trace_tests::document::{self, Document, Event, OpenRegion, ThreadName, Tickets};

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

/// The names of threads are brought into the reader's order: by thread and moment, and only at the same moment by id.
fn parse(json: &str, of: &Path) -> Document {
    let parsed = serde_json::from_str::<Document>(json);
    let mut document = parsed.unwrap_or_else(|error| panic!("{}: {error}\n{json}", of.display()));
    document
        .threads
        .sort_by_key(|name| (name.thread_id, name.since_ns));
    document
}

/// What the Rust reader finds in a capture.
fn document_of(trace: &Trace) -> Document {
    let mut events = trace.events();
    let given: Vec<_> = events.by_ref().collect();
    let report = events.finish();
    let open = &report.open_regions;
    let names = trace.names();
    let labels = given.iter().map(|event| event.label_id);
    let labels = labels.chain(open.iter().map(|region| region.label_id));
    let labels = found(labels, |id| trace.label(id));
    let arguments = given.iter().flat_map(|event| &event.arguments);
    let arguments = arguments.chain(open.iter().flat_map(|region| &region.arguments));
    let keys = found(arguments.map(|argument| argument.key), |id| trace.key(id));
    let groups = labels.values().chain(keys.values()).flatten();
    let groups = groups.map(|(_, group)| *group);
    let groups = groups.chain(names.lanes().map(|lane| lane.group));
    let groups = groups.chain(names.threads().map(|thread| thread.group));
    let mut groups = found(groups, |id| trace.group(id));
    // They have none themselves.
    for (_, group) in groups.values_mut().flatten() {
        *group = 0;
    }
    Document {
        ending: match report.ending {
            Ending::WriterDied => "died".to_owned(),
            Ending::Finished => "finished".to_owned(),
            Ending::LeftByExit => "left-by-exit".to_owned(),
            Ending::EndedWithoutFinish => "ended-without-finish".to_owned(),
            Ending::ReplacedByExec => "replaced-by-exec".to_owned(),
            Ending::NotFinished => "not-finished".to_owned(),
            Ending::CannotTell => "cannot-tell".to_owned(),
            other => panic!("bytes alone do not tell of {other:?}"),
        },
        witness: trace.witness().map(|witness| ending_of(&witness)),
        account: tickets_of(&report.account),
        rings: report.rings.iter().map(tickets_of).collect(),
        rejected: report.rejected,
        open_refused: report.open_refused,
        hidden_now: report.hidden_now,
        arguments_refused: report.arguments_refused,
        names_refused: report.names_refused,
        names_too_long: report.names_too_long,
        open_torn: report.open_torn,
        last_ns: report.last_ns,
        complete_since_ns: report.complete_since_ns,
        labels,
        keys,
        groups,
        lanes: names
            .lanes()
            .map(|lane| (lane.lane, (lane.text.clone(), lane.group)))
            .collect(),
        threads: names
            .threads()
            .map(|thread| ThreadName {
                thread_id: thread.thread_id,
                since_ns: thread.since_ns,
                text: thread.text.clone(),
                group: thread.group,
            })
            .collect(),
        events: given.iter().map(|event| event_of(event, &names)).collect(),
        open_regions: open.iter().map(|region| open_of(region, &names)).collect(),
        damages: report.damages.iter().map(|damage| damage.offset).collect(),
        ..Document::of(trace.identity())
    }
}

/// The names of these ids, with their groups; None: unreadable.
fn found(
    ids: impl Iterator<Item = u32>,
    name: impl Fn(u32) -> hrx_trace_reader::Name,
) -> BTreeMap<u32, Option<(String, u32)>> {
    ids.filter_map(|id| match name(id) {
        hrx_trace_reader::Name::None => None,
        hrx_trace_reader::Name::Known { text, group } => Some((id, Some((text, group)))),
        hrx_trace_reader::Name::Unreadable => Some((id, None)),
    })
    .collect()
}

fn tickets_of(account: &hrx_trace_reader::Account) -> Tickets {
    assert!(account.balances(), "{account:?}");
    let of_running = (account.in_flight, account.overtaken);
    assert_eq!(of_running, (0, 0), "no writer runs");
    let not_read = (account.not_read, account.evicted);
    assert_eq!(not_read, (0, 0), "everything was asked for, and found room");
    Tickets {
        claimed: account.claimed,
        recovered: account.recovered,
        overwritten: account.overwritten,
        torn: account.torn,
        skipped: account.skipped,
        regions: account.regions,
        marks: account.marks,
        values: account.values,
        arguments: account.arguments,
        amendments: account.amendments,
        joined: account.joined,
        orphaned: account.orphaned,
    }
}

fn ending_of(witness: &hrx_trace_reader::Witness) -> document::Ending {
    document::Ending {
        seen_monotonic_ns: witness.seen_monotonic_ns,
        seen_boottime_ns: witness.seen_boottime_ns,
        seen_realtime_ns: witness.seen_realtime_ns,
        time_namespace: witness.time_namespace,
        peak_resident_bytes: witness.peak_resident_bytes,
        user_ns: witness.user_ns,
        system_ns: witness.system_ns,
        status: witness.status,
        cause: match witness.cause {
            Cause::Exit => "exit".to_owned(),
            Cause::Signal => "signal".to_owned(),
            Cause::Exec => "exec".to_owned(),
            other => panic!("the format has no {other:?}"),
        },
        core_dumped: witness.core_dumped,
        out_of_memory: witness.out_of_memory,
        witness_process_id: witness.process_id,
        seen_ns: witness.seen_ns,
        seen_exactly: witness.seen_exactly,
    }
}

fn event_of(event: &hrx_trace_reader::Event, names: &Names) -> Event {
    let thread = names.thread(event.thread_id, event.end_ns());
    let thread = thread.map(|name| name.text.clone());
    let arguments = arguments_of(&event.arguments);
    let moment = (event.duration_ns, event.copied_bytes, event.status);
    match event.kind {
        Kind::Region => Event::Region {
            ring: event.ring,
            sequence: event.sequence,
            start_ns: event.start_ns,
            duration_ns: event.duration_ns,
            copied_bytes: event.copied_bytes,
            correlation_id: event.correlation_id,
            lane: event.lane,
            label_id: event.label_id,
            thread_id: event.thread_id,
            thread,
            status: event.status,
            failed: event.failed,
            cancelled: event.cancelled,
            hidden: event.hidden,
            saturated: event.saturated,
            arguments,
            arguments_lost: event.arguments_lost,
        },
        Kind::Mark => {
            assert_eq!((moment, event.value), ((0, 0, 0), 0.0), "{event:?}");
            Event::Mark {
                ring: event.ring,
                sequence: event.sequence,
                start_ns: event.start_ns,
                correlation_id: event.correlation_id,
                lane: event.lane,
                label_id: event.label_id,
                thread_id: event.thread_id,
                thread,
                saturated: event.saturated,
                arguments,
                arguments_lost: event.arguments_lost,
            }
        }
        Kind::Value => {
            assert_eq!((moment, event.lane), ((0, 0, 0), 0), "{event:?}");
            Event::Value {
                ring: event.ring,
                sequence: event.sequence,
                start_ns: event.start_ns,
                value: bits_of(event.value),
                correlation_id: event.correlation_id,
                label_id: event.label_id,
                thread_id: event.thread_id,
                thread,
                saturated: event.saturated,
                arguments,
                arguments_lost: event.arguments_lost,
            }
        }
        other => panic!("the format has no {other:?}"),
    }
}

fn open_of(region: &hrx_trace_reader::OpenRegion, names: &Names) -> OpenRegion {
    let thread = names.thread(region.thread_id, region.start_ns);
    OpenRegion {
        slot: region.slot,
        ring: region.ring,
        start_ns: region.start_ns,
        copied_bytes: region.copied_bytes,
        correlation_id: region.correlation_id,
        lane: region.lane,
        label_id: region.label_id,
        thread_id: region.thread_id,
        thread: thread.map(|name| name.text.clone()),
        status: region.status,
        waiting: region.waiting,
        saturated: region.saturated,
        amended: region.amended,
        arguments: arguments_of(&region.arguments),
        arguments_lost: region.arguments_lost,
    }
}

fn arguments_of(arguments: &[hrx_trace_reader::Argument]) -> Vec<document::Argument> {
    let argument_of = |argument: &hrx_trace_reader::Argument| {
        let of = |r#type, value: serde_json::Value| document::Argument {
            cut: argument.cut,
            incomplete: argument.incomplete,
            ..document::Argument::of(argument.key, r#type, value)
        };
        match &argument.value {
            hrx_trace_reader::ArgumentValue::U64(value) => of("u64", (*value).into()),
            hrx_trace_reader::ArgumentValue::I64(value) => of("i64", (*value).into()),
            hrx_trace_reader::ArgumentValue::F64(value) => of("f64", bits_of(*value).into()),
            hrx_trace_reader::ArgumentValue::Bool(value) => of("bool", (*value).into()),
            hrx_trace_reader::ArgumentValue::Text(value) => of("text", value.as_str().into()),
            other => panic!("the format has no {other:?}"),
        }
    };
    arguments.iter().map(argument_of).collect()
}

fn bits_of(number: f64) -> String {
    format!("{:#018x}", number.to_bits())
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
        let mut from_file = document_of(&Trace::open(&path).unwrap());
        // More than the bytes tell: the vectors are of no real boot.
        if expected.ending == "not-finished"
            && ["died", "cannot-tell"].contains(&&*from_file.ending)
        {
            from_file.ending.clone_from(&expected.ending);
        }
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
        if answer.starts_with('{') {
            let documents = [&found, &answer].map(|json| parse(json, &path));
            assert_eq!(documents[0], documents[1], "seed {SEED:#x}: {story}");
        } else {
            assert_eq!(found, answer, "seed {SEED:#x}: {story}");
        }
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

const GENERATED: usize = 400;

/// Files that no vector is near: any layout, full rings of every kind, and fields at their limits, all with right checksums.
#[test]
fn reader_and_decode_py_agree_on_generated_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(SEED);
    let generated: Vec<(PathBuf, Vec<u8>)> = (0..GENERATED)
        .map(|number| {
            let path = folder.path().join(format!("{number}.hrxt"));
            let bytes = generate(&mut random);
            fs::write(&path, &bytes).unwrap();
            (path, bytes)
        })
        .collect();
    let answers = decode_all(generated.iter().map(|(path, _)| path.as_path()));
    let mut total = Tickets::default();
    let mut shown = 0;
    for ((path, bytes), answer) in generated.into_iter().zip(answers) {
        let document = document_of(&Trace::from_bytes(bytes).unwrap());
        total.add(&document.account);
        shown += document.open_regions.len();
        let documents = [&document.to_json(), &answer].map(|json| parse(json, &path));
        let name = path.display();
        assert_eq!(documents[0], documents[1], "seed {SEED:#x}: {name}");
    }
    println!("{total:?}, {shown} open regions");
    for count in [
        total.regions,
        total.marks,
        total.values,
        total.amendments,
        total.joined,
        total.orphaned,
        total.overwritten,
        total.torn,
        total.skipped,
        shown as u64,
    ] {
        assert!(count > GENERATED as u64, "{total:?}, {shown} open regions");
    }
}

/// A file that a writer could have laid out so, filled with what no writer writes.
fn generate(random: &mut Random) -> Vec<u8> {
    let checksum = Checksum::new();
    let capacity = [1, 2, 3, 5, 8, 64][random.below(6) as usize];
    let geometry = Geometry::new(capacity).ring_count(1 + random.below(4) as u32);
    let mut identity = geometry.layout().unwrap();
    identity.salt = random.next() as u32;
    identity.open_slots = random.below(6) as u32;
    identity.open_stride = 64 * [1, 2, 3, 8, 9, 64][random.below(6) as usize];
    identity.name_offset = identity.open_offset + 5 * 4096;
    identity.name_bytes = 4096;
    identity.ring_offset = identity.name_offset + identity.name_bytes;
    identity.file_bytes =
        identity.ring_offset + identity.ring_stride * u64::from(identity.ring_count);
    identity.time_namespace = 7;
    let identity = identity.sealed(&checksum);
    let mut bytes = vec![0; identity.file_bytes as usize];
    bytes[..size_of::<Identity>()].copy_from_slice(bytemuck::bytes_of(&identity));
    for _ in 0..random.below(40) {
        forge(&mut bytes, random);
    }
    let mut put = |offset: u64, item: &[u8]| {
        bytes[offset as usize..][..item.len()].copy_from_slice(item);
    };
    for ring in 0..identity.ring_count {
        let claimed = random.below(capacity * 3 + 1);
        put(identity.control_line(ring), &claimed.to_le_bytes());
        let mut before = None;
        for sequence in claimed.saturating_sub(capacity) + 1..=claimed {
            let words = match before {
                Some(argument) if random.below(2) == 0 => event_of_argument(sequence, &argument),
                _ => any_record(sequence, random).1,
            };
            let argument: Argument = bytemuck::cast(words);
            before = (argument.kind == KIND_ARGUMENT).then_some(argument);
            let words = at_limits(words, random);
            let sealed = checksum.seal(Area::Ring(ring).salt(identity.salt), words);
            let slot = (sequence - 1) % capacity;
            // Some are torn.
            if random.below(30) > 0 {
                put(identity.ring_slot(ring, slot), bytemuck::bytes_of(&sealed));
            }
        }
    }
    for slot in 0..identity.open_slots {
        let open = any_open(slot, &identity, random);
        let salt = Area::OpenTable.salt(identity.salt);
        let place = identity.open_slot(slot);
        put(place, bytemuck::bytes_of(&open.sealed(&checksum, salt)));
        for number in 1..identity.open_lines() {
            // Mostly of this tenant.
            let sequence = open.claimed_at_begin + random.below(4);
            let (_, mut words) = any_record(sequence, random);
            words[0] = line::word(open.ring, sequence);
            if random.below(8) > 0 {
                let mut copy: Amendment = bytemuck::cast(words);
                (copy.start_ns, copy.open_slot) = (open.start_ns, open.open_slot);
                copy.owner = open.owner();
                words = bytemuck::cast(copy);
            }
            let words = at_limits(words, random);
            let line = checksum.seal(salt, words);
            put(identity.open_line(slot, number), bytemuck::bytes_of(&line));
        }
    }
    bytes
}

/// The event that takes `argument`.
fn event_of_argument(sequence: u64, argument: &Argument) -> [u64; 8] {
    bytemuck::cast(Record {
        sequence,
        start_ns: argument.start_ns,
        thread_id: argument.owner,
        flags: FLAG_ARGUMENTS,
        open_slot: argument.open_slot,
        ..bytemuck::Zeroable::zeroed()
    })
}

/// Sometimes puts one field, or what is two of them, at a limit.
fn at_limits(words: [u64; 8], random: &mut Random) -> [u64; 8] {
    let limits = [0, 1, i64::MIN as u64, u64::MAX, u32::MAX.into(), 1 << 31];
    let limit = limits[random.below(6) as usize];
    let mut words = words;
    match random.below(12) {
        0 => words[1 + random.below(7) as usize] = limit,
        1 => {
            let mut halves: [u32; 16] = bytemuck::cast(words);
            halves[2 + random.below(14) as usize] = limit as u32;
            words = bytemuck::cast(halves);
        }
        2 => {
            let mut quarters: [u16; 32] = bytemuck::cast(words);
            quarters[4 + random.below(28) as usize] = limit as u16;
            words = bytemuck::cast(quarters);
        }
        _ => {}
    }
    words
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
