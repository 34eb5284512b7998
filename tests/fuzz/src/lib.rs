//! Shared by the fuzz targets: makes bytes into traces that a reader must accept, and checks what must hold of every trace.

use std::collections::BTreeMap;

use hrx_trace_format::argument::ARGUMENT_TEXT_BYTES_MAX;
use hrx_trace_format::header::IDENTITY_BYTES;
use hrx_trace_format::name::{self, BLOCK_BYTES};
use hrx_trace_format::record::RECORD_BYTES;
use hrx_trace_format::witness::{WITNESS_BYTES, WITNESS_WORD};
use hrx_trace_format::{Area, Checksum, Identity, OpenRecord, Record, Witness};
use hrx_trace_reader::{Argument, ArgumentValue, Ending, Kind, Trace, seed};

/// The trace in `bytes`, if the reader accepts them.
#[must_use]
pub fn open(bytes: &[u8]) -> Option<Trace> {
    match Trace::from_bytes(bytes) {
        Ok(trace) => Some(trace),
        Err(error) => {
            // The error and its cause say what was found and what was expected.
            let source = std::error::Error::source(&error).expect("a cause");
            assert!(!error.to_string().is_empty() && !source.to_string().is_empty());
            None
        }
    }
}

/// Reads everything, twice, and checks what must hold of any file.
pub fn read(bytes: &[u8]) {
    let Some(trace) = open(bytes) else { return };
    let mut events = trace.events();
    let mut last = BTreeMap::new();
    let (mut recovered, mut joined) = (0, 0);
    let mut document = Vec::new();
    for event in events.by_ref() {
        assert!(event.ring < trace.identity().ring_count);
        let before = last.insert(event.ring, event.sequence);
        assert!(
            before.is_none_or(|before| before < event.sequence),
            "out of order"
        );
        assert!(!trace.name(event.label_id).is_empty() || event.label_id > 0);
        recovered += 1;
        if event.kind == Kind::Region {
            document.push(seed::TraceEvent::from(&event));
        } else {
            assert_eq!(
                (event.duration_ns, event.copied_bytes, event.status),
                (0, 0, 0)
            );
        }
        joined += check_arguments(&event.arguments);
    }
    let report = events.finish();
    assert_eq!(report.account.events(), recovered);
    // Some records of an argument may contradict others, and an open region may have some that are only in its lines.
    let shown = report.open_regions.iter();
    let of_open: u64 = shown.map(|region| check_arguments(&region.arguments)).sum();
    assert!(joined <= report.account.joined || of_open > 0);
    for account in report.rings.iter().chain([&report.account]) {
        assert!(account.balances(), "{account:?}");
    }
    assert_eq!(
        report.rings.len() as u64,
        u64::from(trace.identity().ring_count)
    );
    assert_ne!(report.ending, Ending::Live, "bytes have no writer");
    assert!(
        report.open_regions.len() as u64 + report.open_torn
            <= u64::from(trace.identity().open_slots)
    );
    // What ended later than a witness saw the end is shown, but is no sign of life.
    if trace.witness().is_none() {
        assert!(
            report
                .first_ns
                .is_none_or(|first_ns| first_ns <= report.last_ns)
        );
        assert!(report.complete_since_ns <= report.last_ns);
    }
    assert_eq!(
        trace.report().account,
        report.account,
        "the second reading differs"
    );

    let mut written = Vec::new();
    seed::write_document(&mut written, trace.overwritten(), document.into_iter())
        .expect("writing to memory succeeds");
    let _: serde_json::Value = serde_json::from_slice(&written).expect("JSON");
}

/// Checks what must hold of any argument, and counts them.
fn check_arguments(arguments: &[Argument]) -> u64 {
    for argument in arguments {
        match &argument.value {
            ArgumentValue::Text(text) => assert!(text.len() <= ARGUMENT_TEXT_BYTES_MAX),
            _ => assert!(!argument.cut && !argument.incomplete),
        }
    }
    arguments.len() as u64
}

/// Seals the witness, of this capture, if it says anything.
fn seal_witness(bytes: &mut [u8], identity: &Identity, checksum: &Checksum) {
    let Some(item) = item_mut(bytes, identity.witness_offset, WITNESS_BYTES) else {
        return;
    };
    if identity.witness_offset == 0
        || item.iter().all(|byte| *byte == 0)
        || !item.ends_with(&[0; 4])
    {
        return;
    }
    let plain: Witness = bytemuck::pod_read_unaligned(item);
    let witness = Witness {
        word: WITNESS_WORD,
        capture_id: identity.capture_id,
        ..plain
    };
    item.copy_from_slice(bytemuck::bytes_of(&witness.sealed(checksum, identity.salt)));
}

/// Seals each entry of the name table whose checksum is zero.
fn seal_names(bytes: &mut [u8], identity: &Identity, checksum: &Checksum) {
    let Some(table) = usize::try_from(identity.name_bytes)
        .ok()
        .and_then(|size| item_mut(bytes, identity.name_offset, size))
    else {
        return;
    };
    let salt = Area::NameTable.salt(identity.salt).to_le_bytes();
    let mut rest = table;
    for name_id in 1.. {
        let size = name::entry_bytes(rest, name_id);
        if let Some(entry) = size.and_then(|size| rest.get_mut(..size))
            && let Some(([0, 0, 0, 0], after_crc)) = entry.split_first_chunk()
        {
            let crc32 = checksum.of(&[&salt, after_crc]);
            entry[..4].copy_from_slice(&crc32.to_le_bytes());
        }
        match rest.split_at_mut_checked(BLOCK_BYTES) {
            Some((_, after)) => rest = after,
            None => return,
        }
    }
}

fn item_mut(bytes: &mut [u8], offset: u64, size: usize) -> Option<&mut [u8]> {
    bytes
        .get_mut(usize::try_from(offset).ok()?..)?
        .get_mut(..size)
}

/// `bytes` with a valid checksum in the header, and in each item whose checksum field is zero: a mutation reaches that in one step.
#[must_use]
pub fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let checksum = Checksum::new();
    let Some(header) = bytes.first_chunk_mut::<{ IDENTITY_BYTES as usize }>() else {
        return bytes;
    };
    let plain: Identity = bytemuck::cast(*header);
    let layout = Identity {
        // The seal covers this version's identity: a longer one would not verify.
        identity_bytes: IDENTITY_BYTES,
        magic: hrx_trace_format::header::MAGIC,
        version_major: hrx_trace_format::header::VERSION_MAJOR,
        ..plain
    };
    let identity = layout.sealed(&checksum);
    *header = bytemuck::cast(identity);
    if Identity::parse(&bytes, &checksum).is_err() {
        return bytes;
    }
    seal_witness(&mut bytes, &identity, &checksum);
    seal_names(&mut bytes, &identity, &checksum);
    let mut seal = |offset: u64, seal: &dyn Fn([u8; RECORD_BYTES]) -> [u8; RECORD_BYTES]| {
        let item = item_mut(&mut bytes, offset, RECORD_BYTES);
        let Some(item) = item.and_then(|item| item.first_chunk_mut::<RECORD_BYTES>()) else {
            return false;
        };
        if item.ends_with(&[0; 4]) {
            *item = seal(*item);
        }
        true
    };
    for slot in 0..identity.open_slots {
        let salt = Area::OpenTable.salt(identity.salt);
        // Its open record, and its other lines, which are sealed alike.
        for line in 0..identity.open_lines() {
            seal(identity.open_line(slot, line), &|item| {
                bytemuck::cast(OpenRecord::from_bytes(item).sealed(&checksum, salt))
            });
        }
    }
    for ring in 0..identity.ring_count {
        let salt = Area::Ring(ring).salt(identity.salt);
        let mut slots = 0..identity.capacity;
        // Stops at the end of the file.
        slots.all(|slot| {
            seal(identity.ring_slot(ring, slot), &|item| {
                bytemuck::cast(Record::from_bytes(item).sealed(&checksum, salt))
            })
        });
    }
    bytes
}
