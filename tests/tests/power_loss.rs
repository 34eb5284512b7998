//! Proves: when the kernel dies or the power fails, everything recorded before `sync` was called is in the file. Without `sync`, whatever the file says
//! is true.
//!
//! How: the real recorder writes, and the file is kept after each step. From this history, images are put together as a disk may hold them, and read. The
//! model of the disk, in sectors of 512 bytes, is the most hostile one that honours flushes and writes sectors whole:
//!
//! - The kernel writes back any page at any time, any number of times and in any order, and the disk may have written some of its sectors and not others.
//!   So each sector is as it was at *any* moment since the last `sync`. Most images take whole pages from one moment, as most write-backs do, and split
//!   some into sectors.
//! - The processor may write to a page while it is copied to the disk, so each word of an item being written may be old or new.
//! - Before the first `sync`, a sector may never have been written. It then holds zeroes on file systems that track unwritten blocks, and otherwise older
//!   data: here another capture of the same layout, as in an interrupted copy. The file may have any length, because its size is separate data.
//!
//! The second half needs no model: the image of a real ext4 on a loop device is copied while a program records, mounted again, and read.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

use fastrand::Rng;
use hrx_trace_format::line::LINE_AMENDMENT;
use hrx_trace_format::record::RECORD_BYTES;
use hrx_trace_reader::{Ending, Error, OpenRegion, Trace};
use hrx_trace_tests::history::{
    Capture, Reading, Shape, Step, Version, bare_open, call_of, is_same_region,
};
use hrx_trace_tests::host::{Host, in_namespaces};
use hrx_trace_tests::seeds;
use hrx_trace_tests::skip::skip;

const SECTOR: usize = 512;
const PAGE: usize = 4096;

/// What a sector that was never written holds.
#[derive(Clone, Copy, Debug)]
enum Unwritten<'a> {
    /// There is no such sector: everything has been synced.
    Nowhere,
    Zeroes,
    Stale(&'a [u8]),
}

/// Makes images as a disk may hold them.
struct Disk<'a> {
    history: &'a [Version],
    /// The moments at which a sector may have been written.
    moments: RangeInclusive<usize>,
    unwritten: Unwritten<'a>,
    rng: &'a mut Rng,
}

impl Disk<'_> {
    fn image(&mut self) -> Vec<u8> {
        let mut image = self.history[*self.moments.end()].bytes.clone();
        // From "the disk is almost up to date" to "any age".
        let [page_is_old, page_is_split, unwritten] = [0; 3].map(|_| self.rng.f32().powi(2));
        for page in (0..image.len()).step_by(PAGE) {
            let age = self.moment(page_is_old);
            let split = self.rng.f32() < page_is_split;
            for sector in (page..page + PAGE).step_by(SECTOR) {
                let age = if split { self.moment(page_is_old) } else { age };
                let target = &mut image[sector..sector + SECTOR];
                match self.unwritten {
                    Unwritten::Zeroes if self.rng.f32() < unwritten / 2.0 => target.fill(0),
                    Unwritten::Stale(stale) if self.rng.f32() < unwritten / 2.0 => {
                        target.copy_from_slice(&stale[sector..sector + SECTOR]);
                    }
                    _ => self.sector_as_of(age, sector, target),
                }
            }
        }
        image
    }

    fn moment(&mut self, old: f32) -> usize {
        if self.rng.f32() < old {
            self.rng.usize(self.moments.clone())
        } else {
            *self.moments.end()
        }
    }

    /// The sector as written at `moment`, or while the next step was changing it.
    fn sector_as_of(&mut self, moment: usize, sector: usize, target: &mut [u8]) {
        target.copy_from_slice(&self.history[moment].bytes[sector..sector + SECTOR]);
        if moment == *self.moments.end() || self.rng.bool() {
            return;
        }
        let next = &self.history[moment + 1].bytes[sector..sector + SECTOR];
        for (item, next) in target
            .chunks_exact_mut(RECORD_BYTES)
            .zip(next.chunks_exact(RECORD_BYTES))
        {
            if item == next {
                continue;
            }
            // Any of its words are new, or one, or all but one.
            let (mode, lone) = (self.rng.u32(..3), self.rng.usize(..8));
            let words = item.chunks_exact_mut(8).zip(next.chunks_exact(8));
            for (index, (word, next)) in words.enumerate() {
                let is_new = match mode {
                    0 => self.rng.bool(),
                    1 => index == lone,
                    _ => index != lone,
                };
                if is_new {
                    word.copy_from_slice(next);
                }
            }
            // While an item's other words change, its sequence is withdrawn.
            if item[8..] != next[8..] && self.rng.bool() {
                item[..8].fill(0);
            }
        }
    }
}

/// A capture of `steps` random steps, finished or not.
fn any_capture(rng: &mut Rng, shape: Shape, steps: usize) -> Capture {
    let mut steps = Step::random(rng, steps);
    if rng.bool() {
        steps.push(Step::Finish);
    }
    shape.record(&steps)
}

fn any_shape(rng: &mut Rng) -> Shape {
    let capacity_max = 1 << rng.u32(1..9);
    Shape {
        capacity: rng.u64(1..=capacity_max),
        rings: rng.u32(1..=3),
        name_bytes: 8192,
        open_slots: 64,
    }
}

/// Asserts what every image must satisfy, whatever the disk holds.
fn assert_true(capture: &Capture, moments: RangeInclusive<usize>, trace: &Trace) -> Reading {
    let reading = capture.assert_true(trace);
    let so_far = &capture.versions[..=*moments.end()];
    let history = &capture.versions[moments];
    let completed: BTreeSet<usize> = reading
        .events
        .iter()
        .map(|event| call_of(event.correlation_id))
        .collect();
    for open in &reading.report.open_regions {
        let ran = |version: &Version| version.open.iter().any(|ran| is_same_region(ran, open));
        assert!(
            history.iter().any(ran),
            "a region that was not running: {open:?}"
        );
        // What was said about it earlier may be all that reached the disk, but nothing that was said later.
        let state = bare_open(open);
        let was = |version: &Version| version.open.iter().any(|was| bare_open(was) == state);
        assert!(so_far.iter().any(was), "a state it never had: {open:?}");
        let completed = completed.contains(&call_of(open.correlation_id));
        assert!(!completed, "a region both completed and running: {open:?}");
    }
    reading
}

#[test]
fn what_was_synced_survives() {
    let mut rng = seeds::rng("what_was_synced_survives");
    let (mut images, mut promised) = (0, 0);
    for _ in 0..30 {
        let shape = any_shape(&mut rng);
        let capture = any_capture(&mut rng, shape, 250);
        let history = &capture.versions;
        let synced: Vec<usize> = (1..history.len())
            .filter(|at| history[*at].step == Some(Step::Sync))
            .collect();
        for (index, sync) in synced.iter().enumerate() {
            let next_sync = synced.get(index + 1).copied().unwrap_or(history.len());
            for _ in 0..80 {
                let now = rng.usize(*sync..next_sync);
                // `sync` covers the calls that had returned before it was called.
                let moments = sync - 1..=now;
                let image = Disk {
                    history,
                    moments: moments.clone(),
                    unwritten: Unwritten::Nowhere,
                    rng: &mut rng,
                }
                .image();
                let trace = Trace::from_bytes(image).expect("the header was synced");
                let reading = assert_true(&capture, moments, &trace);
                let moments = sync - 1..=now;
                promised += assert_kept(&capture, moments, shape.capacity, &trace, &reading);
                images += 1;
            }
        }
    }
    println!("{images} images, {promised} promises kept");
}

/// Asserts that everything there was at the first of the `moments`, and that nothing had overwritten by the last, is in the image. Returns how much that is.
fn assert_kept(
    capture: &Capture,
    moments: RangeInclusive<usize>,
    capacity: u64,
    trace: &Trace,
    reading: &Reading,
) -> usize {
    let history = &capture.versions[moments];
    let (Some(synced), Some(now)) = (history.first(), history.last()) else {
        panic!("no moments");
    };
    let found: BTreeSet<(u32, u64)> = reading
        .events
        .iter()
        .map(|event| (event.ring, event.sequence))
        .collect();
    let mut promised = 0;
    for (ring, (synced, now)) in (0..).zip(synced.claimed.iter().zip(&now.claimed)) {
        for ticket in now.saturating_sub(capacity) + 1..=*synced {
            // The others are those of arguments and amendments.
            if capture.is_event(ring, ticket) {
                assert!(
                    found.contains(&(ring, ticket)),
                    "ticket {ticket} of ring {ring} was synced and is lost"
                );
            }
            promised += 1;
        }
        // All records of the window that were synced are found, whatever their kind.
        let account = &reading.report.rings[ring as usize];
        let promised = synced.saturating_sub(now.saturating_sub(capacity));
        assert!(account.recovered >= promised, "{account:?}, {promised}");
        assert!(reading.report.rings[ring as usize].claimed <= *now);
    }
    for event in &reading.events {
        if event.sequence <= synced.claimed[event.ring as usize] {
            let name = trace.label(event.label_id);
            assert_ne!(
                name,
                hrx_trace_reader::Name::Unreadable,
                "a synced name is lost"
            );
        }
    }
    for open in &synced.open {
        let same = |open_regions: &[OpenRegion]| {
            let mut regions = open_regions.iter();
            regions.find(|other| is_same_region(other, open)).cloned()
        };
        if same(&now.open).is_none() {
            continue;
        }
        let Some(found) = same(&reading.report.open_regions) else {
            panic!("a synced running region is lost: {open:?}");
        };
        // Unless it has been amended since, if only to say the same again.
        let line = trace.identity().open_line(open.slot, LINE_AMENDMENT) as usize;
        let amendment = |version: &Version| version.bytes[line..line + RECORD_BYTES].to_vec();
        if history
            .iter()
            .all(|version| amendment(version) == amendment(synced))
        {
            assert_eq!(bare_open(&found), bare_open(open), "a synced state is lost");
        }
        let kept = capture.kept_arguments(open.correlation_id);
        assert!(
            found.arguments.len() >= kept.min(open.arguments.len()),
            "a synced argument of a running region is lost: {found:?}"
        );
        promised += 1;
    }
    if synced.finished {
        assert_eq!(reading.report.ending, Ending::Finished);
    }
    assert!(now.finished || reading.report.ending == Ending::NotFinished);
    promised
}

#[test]
fn without_sync_whatever_the_file_says_is_true() {
    let mut rng = seeds::rng("without_sync_whatever_the_file_says_is_true");
    let (mut images, mut refused, mut events) = (0, 0, 0);
    for _ in 0..30 {
        let shape = any_shape(&mut rng);
        let [mut capture, older] = [0; 2].map(|_| any_capture(&mut rng, shape, 200));
        capture
            .versions
            .retain(|version| version.step != Some(Step::Sync));
        let history = &capture.versions;
        for _ in 0..500 {
            let now = rng.usize(..history.len());
            let stale = rng.bool();
            let mut image = Disk {
                history,
                moments: 0..=now,
                unwritten: if stale {
                    Unwritten::Stale(&older.last().bytes)
                } else {
                    Unwritten::Zeroes
                },
                rng: &mut rng,
            }
            .image();
            if rng.u32(..5) == 0 {
                image.truncate(rng.usize(..=image.len()));
            }
            images += 1;
            let trace = match Trace::from_bytes(image) {
                Ok(trace) => trace,
                Err(Error::Header { .. }) => {
                    refused += 1;
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let reading = if capture.is_named_by(&trace) {
                assert_true(&capture, 0..=now, &trace)
            } else {
                // The newer capture's header never reached the disk: any remains of the older one are read.
                assert!(stale && older.is_named_by(&trace));
                older.assert_true(&trace)
            };
            events += reading.events.len();
            if !stale {
                for (account, claimed) in reading.report.rings.iter().zip(&history[now].claimed) {
                    assert!(account.claimed <= *claimed);
                }
                assert!(history[now].finished || reading.report.ending == Ending::NotFinished);
            }
        }
    }
    assert!(
        refused < images && events > images,
        "{refused} {events} {images}"
    );
    println!("{images} images, {refused} of them without an intact header, {events} events");
}

/// With more regions running than a table of the usual size shows.
#[test]
fn thousands_of_running_regions_survive_with_what_was_said_of_them() {
    let mut rng = seeds::rng("thousands_of_running_regions_survive_with_what_was_said_of_them");
    const REGIONS: u32 = 2_000;
    let shape = Shape {
        capacity: 64,
        rings: 2,
        name_bytes: 8192,
        open_slots: REGIONS + 100,
    };
    let mut steps = vec![Step::Label, Step::BeginMany(REGIONS - 5), Step::Sync];
    steps.extend(Step::random(&mut rng, 40));
    steps.push(Step::Sync);
    steps.extend(
        Step::random(&mut rng, 20)
            .into_iter()
            .filter(|step| *step != Step::Sync),
    );
    let capture = shape.record(&steps);
    let history = &capture.versions;
    let synced = history
        .iter()
        .rposition(|version| version.step == Some(Step::Sync));
    let synced = synced.expect("a sync") - 1;
    let (mut promised, mut shown) = (0, 0);
    for _ in 0..60 {
        let now = rng.usize(synced + 1..history.len());
        let image = Disk {
            history,
            moments: synced..=now,
            unwritten: Unwritten::Nowhere,
            rng: &mut rng,
        }
        .image();
        let trace = Trace::from_bytes(image).expect("the header was synced");
        let reading = assert_true(&capture, synced..=now, &trace);
        shown += reading.report.open_regions.len();
        promised += assert_kept(&capture, synced..=now, shape.capacity, &trace, &reading);
    }
    assert!(shown > 60 * (REGIONS as usize - 100));
    println!("60 images with {shown} running regions, {promised} promises kept");
}

/// The ticket counter may be older than the ring: then the newest record says how many tickets there were.
#[test]
fn a_counter_older_than_its_ring_loses_no_event() {
    let mut rng = seeds::rng("a_counter_older_than_its_ring_loses_no_event");
    let mut images = 0;
    for _ in 0..20 {
        let shape = any_shape(&mut rng);
        let capture = any_capture(&mut rng, shape, 150);
        let history = &capture.versions;
        for _ in 0..100 {
            let [header, ring] = [0; 2].map(|_| rng.usize(..history.len()));
            let mut image = history[ring].bytes.clone();
            image[..PAGE].copy_from_slice(&history[header].bytes[..PAGE]);
            let trace = Trace::from_bytes(image).expect("the header is intact");
            let reading = capture.assert_true(&trace);
            for (index, account) in reading.report.rings.iter().enumerate() {
                let [header, ring] = [header, ring].map(|moment| history[moment].claimed[index]);
                let newest_is_outside =
                    ring > header || (ring > 0 && ring + shape.capacity <= header);
                let claimed = if newest_is_outside { ring } else { header };
                assert_eq!(account.claimed, claimed, "counter {header}, ring {ring}");
                let recovered = ring.saturating_sub(
                    claimed
                        .saturating_sub(shape.capacity)
                        .max(ring.saturating_sub(shape.capacity)),
                );
                assert_eq!(
                    account.recovered, recovered,
                    "counter {header}, ring {ring}"
                );
            }
            images += 1;
        }
    }
    println!("header_and_ring_of_different_moments: {images} images");
}

/// On a real file system: the disk's image holds what has been written, and not what the kernel has yet to write.
#[test]
fn what_was_synced_to_ext4_is_on_the_disk() {
    if !nix::unistd::geteuid().is_root() {
        return skip("only root can mount a disk image");
    }
    // A copy of the disk is what a power failure at that instant leaves. Mounting the copy replays the journal.
    let script = r#"
        mount -t tmpfs none "$1"; cd "$1"; mkdir live copy
        truncate -s 16m disk
        mkfs.ext4 -q disk
        mount -o loop,commit=300 disk live
        exec "$HOST" create live/t.hrxt 1000 record 300 begin sh 'cp disk early' sync sh 'cp disk synced' record 900 end sh 'cp disk late' \
            sh 'mount -o loop early copy' report copy/t.hrxt sh 'umount copy' \
            sh 'mount -o loop synced copy' report copy/t.hrxt sh 'umount copy' \
            sh 'mount -o loop late copy' report copy/t.hrxt sh 'umount copy'
    "#;
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_host"));
    let Some(mut command) = in_namespaces(program, &[], script, &[folder.path().as_os_str()])
    else {
        return;
    };
    let lines = Host::start(&mut command).ends_well();
    let printed: Vec<_> = lines
        .iter()
        .filter(|line| *line != "sh exit status: 0")
        .collect();
    assert_eq!(printed[..2], ["created", "sync Some(Ok(()))"]);
    // Before `sync`, not even the file's name is on the disk.
    assert!(
        printed[2].starts_with("no report: cannot read copy/t.hrxt: "),
        "{printed:?}"
    );
    assert_eq!(
        printed[3..],
        // Of a copy it cannot be told whether its writer, which maps another file, runs.
        ["CannotTell: 300 claimed, 300 recovered, 0 torn, 1 open"; 2]
    );
}
