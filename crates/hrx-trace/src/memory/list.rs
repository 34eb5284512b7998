//! A list of the whole process that takes no lock: an exit handler finds what is in it, whatever the other threads were doing, or had been doing at a fork.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Items that come and go. Its places stay for good and are used again: as many as there were items at a time.
#[derive(Debug)]
pub struct List<T: 'static> {
    first: AtomicPtr<Place<T>>,
}

#[derive(Debug)]
struct Place<T: 'static> {
    /// Null: free.
    item: AtomicPtr<T>,
    next: Option<&'static Self>,
}

/// An item that stays in its list until this is dropped.
#[derive(Debug)]
pub struct Listed<T: 'static> {
    place: &'static Place<T>,
    item: *mut T,
}

// SAFETY: it is an item that the list shows to other threads, and may drop it on any.
unsafe impl<T: Send + Sync> Send for Listed<T> {}
// SAFETY: nothing can be done with a shared one.
unsafe impl<T: Send + Sync> Sync for Listed<T> {}

impl<T: Send + Sync> List<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self {
            first: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Adds an item.
    pub fn add(&self, item: T) -> Listed<T> {
        let item = Box::into_raw(Box::new(item));
        let is_put = |place: &Place<T>| {
            let order = (Ordering::Release, Ordering::Relaxed);
            let put = place
                .item
                .compare_exchange(ptr::null_mut(), item, order.0, order.1);
            put.is_ok()
        };
        let free = self.places().find(|&place| is_put(place));
        let place = free.unwrap_or_else(|| self.add_place(item));
        Listed { place, item }
    }

    fn add_place(&self, item: *mut T) -> &'static Place<T> {
        let mut first = self.first.load(Ordering::Acquire);
        let place = Box::into_raw(Box::new(Place {
            item: AtomicPtr::new(item),
            next: None,
        }));
        loop {
            // SAFETY: a place is never freed.
            let next = unsafe { first.as_ref() };
            // SAFETY: no other thread knows the new place before it is linked.
            unsafe { (*place).next = next };
            let (success, failure) = (Ordering::Release, Ordering::Acquire);
            match self.first.compare_exchange(first, place, success, failure) {
                // SAFETY: it is never freed.
                Ok(_) => return unsafe { &*place },
                Err(other) => first = other,
            }
        }
    }

    /// Takes all items out, for good: none of them is ever dropped.
    pub fn take(&self) -> impl Iterator<Item = &'static T> {
        self.places().filter_map(|place| {
            let item = place.item.swap(ptr::null_mut(), Ordering::Acquire);
            // SAFETY: `add` made it, and only one thread takes it out: this one, which leaks it, and not its `Listed`.
            unsafe { item.as_ref() }
        })
    }

    fn places(&self) -> impl Iterator<Item = &'static Place<T>> + use<T> {
        // SAFETY: a place is never freed.
        let first = unsafe { self.first.load(Ordering::Acquire).as_ref() };
        std::iter::successors(first, |place| place.next)
    }
}

impl<T> Drop for Listed<T> {
    fn drop(&mut self) {
        // What `take` took is never freed, so no other item is at its address.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let taken = self
            .place
            .item
            .compare_exchange(self.item, ptr::null_mut(), success, failure);
        if taken.is_ok() {
            // SAFETY: `add` made it of a box, and this thread alone took it out.
            drop(unsafe { Box::from_raw(self.item) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn items_come_and_go_and_their_places_are_used_again() {
        static LIST: List<Arc<u32>> = List::new();
        let items: Vec<Arc<u32>> = (0..4).map(Arc::new).collect();
        let add = |item: usize| LIST.add(Arc::clone(&items[item]));
        let listed = (add(0), add(1));
        drop(listed.0);
        assert_eq!(Arc::strong_count(&items[0]), 1);
        let third = add(2);
        assert_eq!(LIST.places().count(), 2);
        let mut taken: Vec<u32> = LIST.take().map(|item| **item).collect();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        assert_eq!(LIST.take().count(), 0);
        // What was taken stays, and a place may have another item by then.
        let fourth = add(3);
        drop((listed.1, third));
        assert_eq!(Arc::strong_count(&items[1]), 2);
        assert_eq!(LIST.take().map(|item| **item).collect::<Vec<_>>(), [3]);
        drop(fourth);
    }

    #[test]
    fn threads_add_and_take_away() {
        static LIST: List<Arc<()>> = List::new();
        let item = Arc::new(());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..5000).for_each(|_| drop(LIST.add(Arc::clone(&item)))));
            }
        });
        assert_eq!(Arc::strong_count(&item), 1);
        assert!((1..=4).contains(&LIST.places().count()));
    }
}
