//! The slot protocol under every interleaving that the memory model allows.
//!
//! `src/slot.rs` itself is compiled here against loom's atomics. Each property is also checked with every ordering it rests on taken away, and
//! the model must then fail: this exposes an ordering that is not needed, and a model that sees nothing. Slots have three words instead
//! of eight, which loses nothing, since all payload words are treated alike.

#[path = "../src/site.rs"]
mod site;

#[path = "../src/slot.rs"]
mod slot;

/// What `src/slot.rs` is built on here.
mod primitive {
    pub use loom::sync::atomic::{AtomicU64, Ordering, fence};
    use std::cell::Cell;

    use crate::site::Site;

    thread_local! {
        /// Loom runs the threads of a model on the thread that called it.
        pub static REMOVED: Cell<Option<Site>> = const { Cell::new(None) };
    }

    pub fn removed(site: Site) -> bool {
        REMOVED.get() == Some(site)
    }
}

use loom::sync::Arc;
use loom::thread;
use primitive::{AtomicU64, Ordering, REMOVED, fence};
use site::Site;
use std::panic::{AssertUnwindSafe, catch_unwind};

type Slot = [AtomicU64; 3];

fn empty_slot() -> Slot {
    [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)]
}

/// The record with this sequence; its words show which record they belong to.
fn record(sequence: u64) -> [u64; 3] {
    [sequence, sequence * 10 + 1, sequence * 10 + 2]
}

/// Reads a slot as a mapping reader must: sequence, words, acquire fence, sequence again. None if it changed in between or holds nothing.
fn read(slot: &Slot, with_fence: bool) -> Option<[u64; 3]> {
    let sequence = slot[0].load(Ordering::Acquire);
    let words = [1, 2].map(|index| slot[index].load(Ordering::Relaxed));
    if with_fence {
        fence(Ordering::Acquire);
    }
    let unchanged = slot[0].load(Ordering::Relaxed) == sequence;
    let holds = sequence != 0 && sequence != hrx_trace_format::open::SEQUENCE_TAKEN;
    (unchanged && holds).then_some([sequence, words[0], words[1]])
}

/// Whether `model` holds in all interleavings while the ordering `removed` is taken away.
fn holds(removed: Option<Site>, model: impl Fn() + Sync + Send + 'static) -> bool {
    REMOVED.set(removed);
    // Here a counterexample's panic is the expected result: keep it out of the output.
    let hook = std::panic::take_hook();
    if removed.is_some() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let result = catch_unwind(AssertUnwindSafe(|| loom::model(model)));
    std::panic::set_hook(hook);
    REMOVED.set(None);
    match (result, removed) {
        (Ok(()), _) => true,
        (Err(_), Some(_)) => false,
        (Err(counterexample), None) => std::panic::resume_unwind(counterexample),
    }
}

/// A reader of a ring slot sees a whole record or none, while two laps pass over it.
fn whole_or_none(reader_fence: bool) -> impl Fn() + Sync + Send + 'static {
    move || {
        let slot = Arc::new(empty_slot());
        let writer = {
            let slot = Arc::clone(&slot);
            thread::spawn(move || {
                slot::publish(&slot, &record(1));
                slot::publish(&slot, &record(2));
            })
        };
        if let Some(words) = read(&slot, reader_fence) {
            assert_eq!(words, record(words[0]));
        }
        writer.join().unwrap();
        assert_eq!(read(&slot, reader_fence), Some(record(2)));
    }
}

#[test]
fn a_reader_sees_a_whole_record_or_none() {
    assert!(holds(None, whole_or_none(true)));
    assert!(!holds(Some(Site::Withdraw), whole_or_none(true)));
    assert!(!holds(Some(Site::Publish), whole_or_none(true)));
    // The reader's own fence, which FORMAT.md requires of readers that map the file.
    REMOVED.set(None);
    let without = catch_unwind(AssertUnwindSafe(|| loom::model(whole_or_none(false))));
    assert!(without.is_err(), "the reader's fence is not needed");
}

/// The bug: a writer that was stopped while another lapped it later wrote over the newer event, whose `record` had returned. Found by stopping a writer at
/// each of its instructions: it happened at all of them.
#[test]
fn a_late_writer_finds_the_newer_record() {
    loom::model(|| {
        let slot = empty_slot();
        let claimed = AtomicU64::new(2);
        assert!(!slot::overtaken(&slot, 1, &claimed), "the slot is empty");
        slot::publish(&slot, &record(1));
        assert!(!slot::overtaken(&slot, 2, &claimed), "the record is older");
        slot::publish(&slot, &record(2));
        assert!(slot::overtaken(&slot, 1, &claimed), "the record is newer");
        slot[0].store(3, Ordering::Relaxed);
        assert!(
            !slot::overtaken(&slot, 2, &claimed),
            "never given out, so not a record"
        );
    });
}

/// Two writers never get the same ticket, and no ticket is skipped.
#[test]
fn tickets_are_unique_and_dense() {
    loom::model(|| {
        let claimed = Arc::new(AtomicU64::new(0));
        let other = {
            let claimed = Arc::clone(&claimed);
            thread::spawn(move || slot::claim(&claimed))
        };
        let mut tickets = [slot::claim(&claimed), other.join().unwrap()];
        tickets.sort_unstable();
        assert_eq!(tickets, [0, 1]);
        assert_eq!(claimed.load(Ordering::Relaxed), 2);
    });
}

/// A ring that one thread has at a time gives out no ticket twice, although none is taken by a locked instruction.
fn own_tickets_are_unique() {
    let ring = Arc::new([AtomicU64::new(slot::SEQUENCE_NONE)]);
    let claimed = Arc::new(AtomicU64::new(0));
    let hold = |ring: &[AtomicU64; 1], claimed: &AtomicU64| {
        slot::take(ring).then(|| {
            let ticket = claimed.load(Ordering::Relaxed);
            slot::claim_own(claimed, ticket);
            slot::clear(ring);
            ticket
        })
    };
    let other = {
        let (ring, claimed) = (Arc::clone(&ring), Arc::clone(&claimed));
        thread::spawn(move || hold(&ring, &claimed))
    };
    let tickets = [hold(&ring, &claimed), other.join().unwrap()];
    let mut taken: Vec<u64> = tickets.into_iter().flatten().collect();
    taken.sort_unstable();
    assert!(taken == [0] || taken == [0, 1], "{taken:?}");
    assert_eq!(claimed.load(Ordering::Relaxed), taken.len() as u64);
}

#[test]
fn a_ring_of_ones_own_has_one_holder_at_a_time() {
    assert!(holds(None, own_tickets_are_unique));
    assert!(!holds(Some(Site::Take), own_tickets_are_unique));
    assert!(!holds(Some(Site::Clear), own_tickets_are_unique));
}

/// A region is in the open table until its completed record is in the ring: a reader of first the table and then the ring sees it.
fn never_lost() {
    let open = Arc::new(empty_slot());
    let ring = Arc::new(empty_slot());
    assert!(slot::take(&open));
    slot::fill(&open, &record(1));
    let finisher = {
        let (open, ring) = (Arc::clone(&open), Arc::clone(&ring));
        thread::spawn(move || {
            slot::publish(&ring, &record(1));
            slot::clear(&open);
        })
    };
    let still_open = open[0].load(Ordering::Acquire) != 0;
    assert!(still_open || read(&ring, true) == Some(record(1)));
    finisher.join().unwrap();
}

#[test]
fn a_region_is_never_lost_between_table_and_ring() {
    assert!(holds(None, never_lost));
    assert!(!holds(Some(Site::Clear), never_lost));
}

/// A slot of the open table has one holder at a time, and the next holder sees the ticket of the last one's record given out. The proof in
/// `hrx_trace_format::open` rests on this.
fn one_holder_at_a_time() {
    let open = Arc::new(empty_slot());
    let claimed = Arc::new(AtomicU64::new(0));
    let hold = |open: &Slot, claimed: &AtomicU64| {
        if slot::take(open) {
            let claimed_at_begin = claimed.load(Ordering::Relaxed);
            slot::fill(open, &record(1));
            let sequence = slot::claim(claimed) + 1;
            slot::clear(open);
            Some((claimed_at_begin, sequence))
        } else {
            None
        }
    };
    let other = {
        let (open, claimed) = (Arc::clone(&open), Arc::clone(&claimed));
        thread::spawn(move || hold(&open, &claimed))
    };
    let here = hold(&open, &claimed);
    let there = other.join().unwrap();
    assert!(here.is_some() || there.is_some());
    if let (Some((begin, sequence)), Some((other_begin, other_sequence))) = (here, there) {
        // When the later holder began, the earlier one's ticket was given out.
        assert!(sequence <= other_begin || other_sequence <= begin);
    }
}

#[test]
fn an_open_slot_has_one_holder_at_a_time() {
    assert!(holds(None, one_holder_at_a_time));
    assert!(!holds(Some(Site::Take), one_holder_at_a_time));
    assert!(!holds(Some(Site::Clear), one_holder_at_a_time));
}
