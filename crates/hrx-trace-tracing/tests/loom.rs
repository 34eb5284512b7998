//! The list of free entries, under every interleaving that the memory model allows.
//!
//! `src/free_list.rs` itself is compiled here against loom's atomics. The property is also checked with every ordering it rests on taken away, and the model must
//! then fail.

#[path = "../src/free_list.rs"]
mod free_list;

/// What it is built on here.
mod primitive {
    pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    use std::cell::Cell;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Site {
        Give,
        See,
    }

    thread_local! {
        /// Loom runs the threads of a model on the thread that called it.
        pub static REMOVED: Cell<Option<Site>> = const { Cell::new(None) };
    }

    pub fn unless_removed(site: Site, order: Ordering) -> Ordering {
        if REMOVED.get() == Some(site) {
            Ordering::Relaxed
        } else {
            order
        }
    }
}

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use free_list::FreeList;
use primitive::{REMOVED, Site};

/// A list of two entries, which two threads take and give back: an entry has one owner at a time, and none is lost.
fn one_owner_at_a_time() {
    let list = Arc::new((FreeList::new(2), [AtomicU32::new(0), AtomicU32::new(0)]));
    let turn = |list: &(FreeList, [AtomicU32; 2]), thread: u32| {
        let entry = list
            .0
            .take()
            .expect("each of two threads has at most one of two entries");
        assert_eq!(list.1[entry].swap(thread, Ordering::Relaxed), 0);
        assert_eq!(list.1[entry].swap(0, Ordering::Relaxed), thread);
        list.0.give_back(entry);
    };
    let other = {
        let list = Arc::clone(&list);
        thread::spawn(move || {
            turn(&list, 1);
            turn(&list, 1);
        })
    };
    turn(&list, 2);
    turn(&list, 2);
    other.join().unwrap();
    let mut all = [list.0.take(), list.0.take()];
    all.sort_unstable();
    assert_eq!(all, [Some(0), Some(1)]);
    assert_eq!(list.0.take(), None);
}

/// Whether the model holds with the ordering at `removed` taken away.
fn holds(removed: Option<Site>) -> bool {
    REMOVED.set(removed);
    // Here a counterexample's panic is the expected result: keep it out of the output.
    let hook = std::panic::take_hook();
    if removed.is_some() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let mut model = loom::model::Builder::new();
    // More preemptions find nothing else, and take hours.
    model.preemption_bound = Some(3);
    let result = catch_unwind(AssertUnwindSafe(|| model.check(one_owner_at_a_time)));
    std::panic::set_hook(hook);
    REMOVED.set(None);
    match (result, removed) {
        (Ok(()), _) => true,
        (Err(_), Some(_)) => false,
        (Err(counterexample), None) => std::panic::resume_unwind(counterexample),
    }
}

#[test]
fn an_entry_has_one_owner_at_a_time() {
    assert!(holds(None));
    assert!(!holds(Some(Site::Give)));
    assert!(!holds(Some(Site::See)));
}
