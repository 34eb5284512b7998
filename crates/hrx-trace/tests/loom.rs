//! The slot protocol, the search for a free slot, and the protocol of the capture that runs, under every interleaving that the memory model allows.
//!
//! `src/slot.rs`, `src/vacancy.rs` and `src/running.rs` themselves are compiled here against loom's atomics. Each property is also checked with every ordering it rests on taken away, and
//! the model must then fail: this exposes an ordering that is not needed, and a model that sees nothing. Slots have three words instead
//! of eight, which loses nothing, since all payload words are treated alike.

#[path = "../src/site.rs"]
mod site;

#[path = "../src/slot.rs"]
mod slot;

#[path = "../src/vacancy.rs"]
mod vacancy;

#[allow(dead_code)]
#[path = "../src/running.rs"]
mod running;

/// What they are built on here.
mod primitive {
    pub use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
    use std::cell::Cell;
    use std::sync::{Arc, Mutex};

    use crate::site::Site;

    thread_local! {
        /// Loom runs the threads of a model on the thread that called it.
        pub static REMOVED: Cell<Option<Site>> = const { Cell::new(None) };
    }

    pub fn removed(site: Site) -> bool {
        REMOVED.get() == Some(site)
    }

    pub fn unless_removed(site: Site, order: Ordering) -> Ordering {
        if removed(site) {
            Ordering::Relaxed
        } else {
            order
        }
    }

    /// An atomic pointer in arc-swap's place, with the orderings that arc-swap documents: what was stored is seen by whoever loads it, and a load may be as
    /// stale as the memory model allows.
    #[derive(Debug)]
    pub struct ArcSwapOption<T> {
        /// Everything stored so far. Loom does not see it: no step of a model lies inside its lock.
        stored: Mutex<Vec<Option<Arc<T>>>>,
        current: AtomicU64,
    }

    impl<T> ArcSwapOption<T> {
        pub fn new() -> Self {
            Self {
                stored: Mutex::new(vec![None]),
                current: AtomicU64::new(0),
            }
        }

        pub fn store(&self, value: Option<Arc<T>>) {
            self.swap(value);
        }

        pub fn swap(&self, value: Option<Arc<T>>) -> Option<Arc<T>> {
            let index = {
                let mut stored = self.stored.lock().unwrap();
                stored.push(value);
                stored.len() as u64 - 1
            };
            let before = self.current.swap(index, Ordering::AcqRel);
            self.at(before)
        }

        pub fn load_full(&self) -> Option<Arc<T>> {
            self.at(self.current.load(Ordering::Acquire))
        }

        fn at(&self, index: u64) -> Option<Arc<T>> {
            self.stored.lock().unwrap()[index as usize].clone()
        }
    }
}

use loom::sync::Arc;
use loom::thread;
use primitive::{ArcSwapOption, AtomicU64, Ordering, REMOVED, fence};
use running::{Kept, Running};
use site::Site;
use std::panic::{AssertUnwindSafe, catch_unwind};
use vacancy::{OwnHints, Vacancies};

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

/// Whether `model`, which does what the code does not, fails in some interleaving.
fn is_wrong(model: impl Fn() + Sync + Send + 'static) -> bool {
    REMOVED.set(None);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(|| loom::model(model)));
    std::panic::set_hook(hook);
    result.is_err()
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
    assert!(
        is_wrong(whole_or_none(false)),
        "the reader's fence is not needed"
    );
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

/// A table of this many slots, and what is known of them.
struct Table<const SLOTS: usize> {
    slots: [[AtomicU64; 1]; SLOTS],
    vacancies: Vacancies<4>,
}

impl<const SLOTS: usize> Table<SLOTS> {
    fn new(has_memo: bool) -> Arc<Self> {
        Arc::new(Self {
            slots: std::array::from_fn(|_| [AtomicU64::new(slot::SEQUENCE_NONE)]),
            vacancies: Vacancies::new(SLOTS as u16, has_memo),
        })
    }

    fn words(&self, number: u16) -> Option<&[AtomicU64; 1]> {
        self.slots.get(usize::from(number).wrapping_sub(1))
    }

    fn take(&self, hints: &OwnHints, ordinal: u32) -> Option<u16> {
        let words = |number| self.words(number);
        let (number, slot) = self.vacancies.take(hints, ordinal, words)?;
        assert!(std::ptr::eq(slot, self.words(number).unwrap()));
        Some(number)
    }

    fn free(&self, hints: &OwnHints, number: u16) {
        self.vacancies
            .free(hints, number, self.words(number).unwrap());
    }

    /// Once all are free again, all can be taken: no byte stayed 0, and no memo was left.
    fn is_free(&self) {
        let hints = OwnHints::none();
        let mut taken: Vec<_> = (0..SLOTS)
            .map(|_| self.take(&hints, 9).expect("a slot is free"))
            .collect();
        taken.sort_unstable();
        assert!(taken.into_iter().eq(1..=SLOTS as u16));
    }
}

/// Two threads that take one of two slots each, one of them twice: no slot has two tenants, neither is refused, and in the end both slots are found free.
#[test]
fn a_slot_has_one_tenant_and_is_found_when_it_is_free() {
    loom::model(|| {
        let table = Table::<2>::new(false);
        let tenants = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let run = |table: &Table<2>, tenants: &[AtomicU64; 2], ordinal, times| {
            let hints = OwnHints::none();
            for _ in 0..times {
                let number = table.take(&hints, ordinal).expect("there are two slots");
                let tenants = &tenants[usize::from(number) - 1];
                assert_eq!(tenants.fetch_add(1, Ordering::Relaxed), 0, "two tenants");
                tenants.fetch_sub(1, Ordering::Relaxed);
                table.free(&hints, number);
            }
        };
        let other = {
            let (table, tenants) = (Arc::clone(&table), Arc::clone(&tenants));
            thread::spawn(move || run(&table, &tenants, 1, 1))
        };
        run(&table, &tenants, 0, 2);
        other.join().unwrap();
        table.is_free();
    });
}

/// A region that another thread ends, while the one that began it begins the next: the slot is found free in the end.
#[test]
fn a_slot_that_another_thread_frees_is_found() {
    loom::model(|| {
        let table = Table::<2>::new(false);
        let hints = OwnHints::none();
        let first = table.take(&hints, 0).unwrap();
        let other = {
            let table = Arc::clone(&table);
            thread::spawn(move || table.free(&OwnHints::none(), first))
        };
        let second = table.take(&hints, 0).expect("one slot was never taken");
        table.free(&hints, second);
        let third = table.take(&hints, 0).expect("its own is free");
        other.join().unwrap();
        table.free(&hints, third);
        table.is_free();
    });
}

/// A thread is refused only while another has the slot, and by a memo only until that one frees it.
fn refused_only_while_full() {
    let table = Table::<1>::new(true);
    let hold = |table: &Table<1>, ordinal| {
        let hints = OwnHints::none();
        let number = table.take(&hints, ordinal);
        if let Some(number) = number {
            table.free(&hints, number);
        }
        number.is_some()
    };
    let other = {
        let table = Arc::clone(&table);
        thread::spawn(move || hold(&table, 1))
    };
    let held = hold(&table, 0);
    assert!(held | other.join().unwrap());
    table.is_free();
}

#[test]
fn no_memo_outlasts_a_slot_that_is_freed() {
    assert!(holds(None, refused_only_while_full));
    // The slot is freed after its byte and the memo: a search in between leaves a memo for ever.
    assert!(!holds(Some(Site::Vacate), refused_only_while_full));
    assert!(!holds(Some(Site::Mark), refused_only_while_full));
}

/// A record about a running region is written to the ring, then to a line of its open slot.
fn write_with_line(ring: &Slot, line: &Slot, sequence: u64, line_first: bool) {
    if line_first {
        slot::publish(line, &record(sequence));
    }
    slot::publish(ring, &record(sequence));
    if !line_first {
        slot::publish(line, &record(sequence));
    }
}

/// An argument that a reader finds in a line is in the ring too: no line says more than the account knows.
fn in_the_ring_before_the_line(line_first: bool) -> impl Fn() + Sync + Send + 'static {
    move || {
        let slots = Arc::new([empty_slot(), empty_slot()]);
        let writer = {
            let slots = Arc::clone(&slots);
            thread::spawn(move || write_with_line(&slots[0], &slots[1], 1, line_first))
        };
        if let Some(copy) = read(&slots[1], true) {
            assert_eq!(copy, record(1));
            assert_eq!(read(&slots[0], true), Some(copy));
        }
        writer.join().unwrap();
    }
}

#[test]
fn an_argument_is_in_the_ring_before_it_is_in_a_line() {
    assert!(holds(None, in_the_ring_before_the_line(false)));
    assert!(!holds(
        Some(Site::Publish),
        in_the_ring_before_the_line(false)
    ));
    assert!(
        is_wrong(in_the_ring_before_the_line(true)),
        "the order of ring and line does not matter"
    );
}

/// While an amendment replaces another, a reader finds the old one or the new one, whole, and never none. The line alone is not enough: it is withdrawn while
/// it is rewritten.
fn old_or_new(line_first: bool) -> impl Fn() + Sync + Send + 'static {
    move || {
        let slots = Arc::new([empty_slot(), empty_slot(), empty_slot()]);
        let [old, new, line] = &*slots;
        write_with_line(old, line, 1, false);
        let writer = {
            let slots = Arc::clone(&slots);
            thread::spawn(move || write_with_line(&slots[1], &slots[2], 2, line_first))
        };
        let copy = read(line, true);
        let of_ring = [old, new].map(|slot| read(slot, true));
        let latest = copy.max(of_ring[0]).max(of_ring[1]);
        let sequence = latest.expect("neither the old one nor the new one")[0];
        assert_eq!(latest, Some(record(sequence)));
        if copy == Some(record(2)) {
            assert_eq!(of_ring[1], copy);
        }
        writer.join().unwrap();
        assert_eq!(read(line, true), Some(record(2)));
    }
}

#[test]
fn an_amendment_replaces_another_at_one_instant() {
    assert!(holds(None, old_or_new(false)));
    assert!(!holds(Some(Site::Withdraw), old_or_new(false)));
    assert!(!holds(Some(Site::Publish), old_or_new(false)));
    assert!(
        is_wrong(old_or_new(true)),
        "the order of ring and line does not matter"
    );
}

/// What a thread keeps under the number of a capture is that capture: once a second capture runs, the thread's events go there, although it may have looked
/// at any instant of the exchange.
fn kept_is_what_runs() {
    let running = Arc::new(Running::new(AtomicU64::new(0), ArcSwapOption::new()));
    running.start(std::sync::Arc::new(1), 1);
    let recording = {
        let running = Arc::clone(&running);
        thread::spawn(move || {
            let mut kept = Kept::NOTHING;
            let first = running.kept(&mut kept).copied();
            let second = running.kept(&mut kept).copied();
            assert!(first <= second || second.is_none(), "{first:?}, {second:?}");
            kept
        })
    };
    assert_eq!(running.end().as_deref(), Some(&1));
    running.start(std::sync::Arc::new(2), 2);
    let mut kept = recording.join().unwrap();
    assert_eq!(running.kept(&mut kept), Some(&2));
    running.end();
    assert_eq!(running.kept(&mut kept), None);
}

#[test]
fn a_thread_records_into_the_capture_that_runs() {
    assert!(holds(None, kept_is_what_runs));
    assert!(!holds(Some(Site::Announce), kept_is_what_runs));
    assert!(!holds(Some(Site::Notice), kept_is_what_runs));
}
