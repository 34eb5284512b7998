//! How fast a full ring of 4,000,000 events streams, and how much memory that takes: `cargo bench -p hrx-trace-reader`.
//!
//! Streams the same capture three times, from the page cache, as one ring and as eight.

use std::fs::{self, File};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use hrx_trace_format::header::{PAGE_BYTES, STATE_FINISHED};
use hrx_trace_format::record::slot_of;
use hrx_trace_format::{Area, Checksum, Geometry, Record};
use hrx_trace_reader::Trace;

const EVENTS: u64 = 4_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    println!("{EVENTS} events, from the page cache");
    for rings in [1, 8] {
        let path = folder.path().join("bench.hrxt");
        write_capture(&path, rings)?;
        for round in 1..=3 {
            let start = Instant::now();
            let trace = Trace::open(&path)?;
            let opened = start.elapsed();
            let start = Instant::now();
            let mut events = trace.events();
            let sum = events
                .by_ref()
                .fold(0u64, |sum, event| sum.wrapping_add(event.start_ns));
            let streamed = start.elapsed();
            let account = events.finish().account;
            assert!(
                account.balances() && account.recovered == EVENTS,
                "{account:?}"
            );
            std::hint::black_box(sum);
            println!(
                "{rings} ring(s), round {round}: open and search for the newest {:.1} ns an event, stream {:.1} ns an event; peak memory {} KiB",
                opened.as_nanos() as f64 / EVENTS as f64,
                streamed.as_nanos() as f64 / EVENTS as f64,
                peak_kib(),
            );
        }
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Rings that have wrapped once and a half, finished.
fn write_capture(path: &Path, rings: u32) -> Result<(), Box<dyn std::error::Error>> {
    let capacity = EVENTS / u64::from(rings);
    let geometry = Geometry::new(capacity).ring_count(rings);
    let checksum = Checksum::new();
    let mut identity = geometry.layout().ok_or("geometry")?;
    identity.salt = 0x5EED;
    let identity = identity.sealed(&checksum);
    let claimed = capacity + capacity / 2;
    let mut header = vec![0; identity.ring_offset as usize];
    header[..size_of_val(&identity)].copy_from_slice(bytemuck::bytes_of(&identity));
    let mut put = |offset: u64, value: u64| {
        header[offset as usize..][..8].copy_from_slice(&value.to_le_bytes());
    };
    put(identity.counters_offset, STATE_FINISHED);
    for ring in 0..rings {
        put(identity.control_line(ring), claimed);
    }
    let mut file = BufWriter::with_capacity(PAGE_BYTES as usize * 64, File::create(path)?);
    file.write_all(&header)?;
    for ring in 0..rings {
        file.seek(SeekFrom::Start(identity.ring_slot(ring, 0)))?;
        for slot in 0..capacity {
            let lap_start = claimed - capacity;
            let mut sequence = lap_start - lap_start % capacity + slot + 1;
            if sequence <= lap_start {
                sequence += capacity;
            }
            assert_eq!(slot_of(sequence, capacity), Some(slot));
            let record = Record {
                sequence,
                start_ns: sequence * 1000 + u64::from(ring),
                duration_ns: 900,
                copied_bytes: sequence,
                lane: (sequence % 5) as u32,
                ..bytemuck::Zeroable::zeroed()
            };
            let record = record.sealed(&checksum, Area::Ring(ring).salt(identity.salt));
            file.write_all(bytemuck::bytes_of(&record))?;
        }
    }
    file.flush()?;
    file.get_ref().set_len(identity.file_bytes)?;
    Ok(())
}

fn peak_kib() -> String {
    fs::read_to_string("/proc/self/status")
        .unwrap_or_default()
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .map_or_else(
            || "?".into(),
            |rest| rest.trim().trim_end_matches(" kB").into(),
        )
}
