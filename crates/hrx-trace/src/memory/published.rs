//! A place of the whole program for a thing that stays for good, once it is there.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Holds nothing, or a thing that is never dropped.
#[derive(Debug)]
pub struct Published<T: 'static>(AtomicPtr<T>);

impl<T: Sync> Published<T> {
    /// One that holds nothing.
    pub const fn nothing() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// What it holds. Costs a load.
    #[inline]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: it is null, or `publish` or `replace` leaked it.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Publishes `thing`, unless there is something already.
    pub fn publish(&self, thing: T) -> Result<&'static T, T> {
        let new = Box::into_raw(Box::new(thing));
        let order = (Ordering::Release, Ordering::Relaxed);
        match self
            .0
            .compare_exchange(ptr::null_mut(), new, order.0, order.1)
        {
            // SAFETY: a box, which is not freed from now on.
            Ok(_) => Ok(unsafe { &*new }),
            // SAFETY: the box of above, which nothing else knows.
            Err(_) => Err(*unsafe { Box::from_raw(new) }),
        }
    }

    /// Publishes `thing` in place of whatever was there, which stays for those who have it.
    pub fn replace(&self, thing: T) -> &'static T {
        let new: &'static T = Box::leak(Box::new(thing));
        self.0
            .store(ptr::from_ref(new).cast_mut(), Ordering::Release);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thing_stays_until_it_is_replaced() {
        static PLACE: Published<u32> = Published::nothing();
        assert_eq!(PLACE.get(), None);
        let first = PLACE.publish(1).unwrap();
        assert_eq!((*first, PLACE.publish(2)), (1, Err(2)));
        assert_eq!((*PLACE.replace(3), PLACE.get(), *first), (3, Some(&3), 1));
    }
}
