//! What an output says of each thread's name, found again for every event.

use crate::input::captures::Capture;

/// Threads that are found without a search. A power of two.
const RECENT: usize = 64;

/// Something for each name that a thread of one capture has had.
pub struct Threads<T> {
    /// In ascending order of thread and moment. None: not read yet.
    named: Option<Vec<Named<T>>>,
    /// Places in `named`, each of the thread that was looked up last of those that share it.
    recent: [u32; RECENT],
}

struct Named<T> {
    thread_id: u32,
    /// From when on it holds, on the common timeline.
    since_ns: u64,
    what: T,
}

impl<T> Threads<T> {
    pub fn new() -> Self {
        Self {
            named: None,
            recent: [0; RECENT],
        }
    }

    /// Whether the names have to be read, by [`Self::read`].
    #[inline]
    pub fn is_unread(&self) -> bool {
        self.named.is_none()
    }

    /// Reads the names. `what` makes of each what is kept of it.
    #[cold]
    pub fn read(&mut self, capture: &Capture, mut what: impl FnMut(&str) -> T) {
        let names = capture.names();
        let mut named: Vec<Named<T>> = Vec::new();
        // The earliest name of a thread holds for all that was before, too.
        let mut earliest = (None, 0);
        for name in names.threads() {
            if earliest.0 != Some(name.thread_id) {
                earliest = (Some(name.thread_id), name.since_ns);
            }
            let since_ns = match name.since_ns == earliest.1 {
                true => 0,
                false => name.since_ns.saturating_add(capture.shift_ns),
            };
            named.push(Named {
                thread_id: name.thread_id,
                since_ns,
                what: what(&name.text),
            });
        }
        self.named = Some(named);
    }

    /// Lets go of the names: there may be more by now.
    pub fn forget(&mut self) {
        self.named = None;
    }

    /// What there is of the name that the thread had at that moment, once the names are read. None: it had none.
    #[inline]
    pub fn get(&mut self, thread_id: u32, at_ns: u64) -> Option<&T> {
        let named = self.named.as_deref()?;
        let holds = |index: usize| {
            let name = named.get(index)?;
            let is_it = name.thread_id == thread_id && name.since_ns <= at_ns;
            let next = named.get(index + 1);
            let is_last =
                next.is_none_or(|next| next.thread_id != thread_id || next.since_ns > at_ns);
            (is_it && is_last).then_some(&name.what)
        };
        let recent = &mut self.recent[thread_id as usize % RECENT];
        if let Some(what) = holds(*recent as usize) {
            return Some(what);
        }
        let after =
            named.partition_point(|name| (name.thread_id, name.since_ns) <= (thread_id, at_ns));
        let index = after.checked_sub(1)?;
        *recent = index as u32;
        holds(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::captures::Captures;
    use hrx_trace_format::Name;
    use hrx_trace_tests::capture::Capture as Made;

    /// The same as the reader says, at every moment.
    #[test]
    fn every_thread_has_the_name_of_its_moment() {
        let mut made = Made::new(1);
        // 7 and 71 share a place; two names of one moment; the later ones come first in the table.
        for (thread_id, since_ns, text) in [
            (7, 50, "late"),
            (7, 10, "early"),
            (71, 20, "first"),
            (71, 20, "second"),
            (71, 30, "third"),
            (8, 0, ""),
        ] {
            made.name(&Name::thread(thread_id, since_ns, text));
        }
        let mut later = made.clone();
        later.identity.epoch_monotonic_ns += 100;
        let captures = Captures::of_bytes([made.bytes(), later.bytes()]);
        for capture in captures.iter() {
            let mut threads = Threads::new();
            assert!(threads.is_unread() && threads.get(7, 0).is_none());
            threads.read(capture, str::to_owned);
            for own_ns in 0..60 {
                for thread_id in [7, 71, 8, 9, 0, 99, 7] {
                    let expected = capture.trace.names();
                    let expected = expected.thread(thread_id, own_ns).map(|name| &name.text);
                    let found = threads.get(thread_id, own_ns + capture.shift_ns);
                    assert_eq!(found, expected, "{thread_id} at {own_ns}");
                }
            }
            threads.forget();
            assert!(threads.is_unread());
        }
    }
}
