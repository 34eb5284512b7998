//! The names of lanes and threads, found by one walk over the name table: an entry that is believed is passed over as a whole, anything else block by
//! block.

use std::collections::BTreeMap;

use hrx_trace_format::name::{self, BLOCK_BYTES, NAME_LANE, NAME_THREAD};

use crate::source::Source;
use crate::tables::name::NameTable;

/// The name of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaneName {
    /// The lane.
    pub lane: u32,
    /// Its name; it may be empty, and may contain any characters.
    pub text: String,
    /// The id of the group that the name belongs to, see [`Trace::group`](crate::Trace::group); 0: none.
    pub group: u32,
}

/// A name that a thread had from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadName {
    /// The operating system's id of the thread.
    pub thread_id: u32,
    /// The name holds for what ended at this moment or later, in nanoseconds since the capture's start.
    pub since_ns: u64,
    /// The name; it may be empty, and may contain any characters.
    pub text: String,
    /// The id of the group that the name belongs to, see [`Trace::group`](crate::Trace::group); 0: none.
    pub group: u32,
}

/// The names of lanes and threads, as they were when the name table was read. Takes at most a few times the table's 16 MiB.
#[derive(Clone, Debug, Default)]
pub struct Names {
    lanes: BTreeMap<u32, LaneName>,
    /// In ascending order of thread, moment, and place in the table.
    threads: Vec<ThreadName>,
}

impl Names {
    pub(crate) fn read(source: &Source, table: &NameTable) -> Self {
        let bytes = table.all(source);
        let mut names = Self::default();
        let mut rest = bytes.as_slice();
        let mut id = 1u32;
        while !rest.is_empty() {
            let believed = name::decode(rest, id, &table.checksum, table.salt);
            let blocks = believed.map_or(1, |name| name::blocks_of(name.text.len()));
            if let Some(name) = believed {
                names.add(&name);
            }
            id = id.saturating_add(blocks as u32);
            rest = rest
                .get(blocks.saturating_mul(BLOCK_BYTES)..)
                .unwrap_or_default();
        }
        // Stable: among equals the order of the table remains.
        names
            .threads
            .sort_by_key(|name| (name.thread_id, name.since_ns));
        names
    }

    fn add(&mut self, name: &hrx_trace_format::Name) {
        let (text, group) = (name.text.to_owned(), name.group);
        match name.kind {
            NAME_LANE => {
                let lane = name.subject;
                self.lanes.insert(lane, LaneName { lane, text, group });
            }
            NAME_THREAD => self.threads.push(ThreadName {
                thread_id: name.subject,
                since_ns: name.since_ns,
                text,
                group,
            }),
            _ => {}
        }
    }

    /// The name of a lane. None: the file gives it none.
    #[must_use]
    pub fn lane(&self, lane: u32) -> Option<&LaneName> {
        self.lanes.get(&lane)
    }

    /// The name that a thread had when something of it ended at `end_ns`, in nanoseconds since the capture's start; for an open region, when it began.
    /// None: the file gives the thread none.
    #[must_use]
    pub fn thread(&self, thread_id: u32, end_ns: u64) -> Option<&ThreadName> {
        let after = self
            .threads
            .partition_point(|name| (name.thread_id, name.since_ns) <= (thread_id, end_ns));
        let (held, later) = self.threads.split_at_checked(after)?;
        if let Some(name) = held.last().filter(|name| name.thread_id == thread_id) {
            return Some(name);
        }
        // All are later: the earliest holds, and of those of one moment the last in the table.
        let first = later.first().filter(|name| name.thread_id == thread_id)?;
        let same = |name: &&ThreadName| {
            (name.thread_id, name.since_ns) == (first.thread_id, first.since_ns)
        };
        later.iter().take_while(same).last()
    }

    /// The lanes that have names, in ascending order.
    pub fn lanes(&self) -> impl Iterator<Item = &LaneName> {
        self.lanes.values()
    }

    /// All names of threads, in ascending order of thread and moment.
    pub fn threads(&self) -> impl Iterator<Item = &ThreadName> {
        self.threads.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Image;
    use hrx_trace_format::Name;

    /// A capture whose table has `blocks` blocks.
    fn image(blocks: u64) -> Image {
        let mut identity = crate::testing::compact(4, 1);
        identity.name_bytes = blocks * 64;
        identity.ring_offset = (identity.name_offset + identity.name_bytes).max(2048);
        identity.file_bytes = identity.ring_offset + identity.ring_stride;
        Image::from_identity(identity)
    }

    #[test]
    fn the_last_name_of_a_lane_holds() {
        let mut image = image(8);
        image.name(1, &Name::lane(1 << 31, "stream 1"));
        image.name(2, &Name::lane(3, "the NPU").in_group(9));
        image.name(4, &Name::lane(1 << 31, "stream 3"));
        image.label(5, "no lane");
        let names = image.trace().names();
        assert_eq!(names.lane(1 << 31).unwrap().text, "stream 3");
        assert_eq!(names.lane(3).unwrap().group, 9);
        assert_eq!(names.lane(0), None);
        let lanes: Vec<u32> = names.lanes().map(|name| name.lane).collect();
        assert_eq!(lanes, [3, 1 << 31]);
        assert_eq!(names.threads().count(), 0);
    }

    #[test]
    fn a_thread_has_the_name_of_the_moment() {
        let mut image = image(8);
        image.name(1, &Name::thread(7, 500, "second"));
        image.name(2, &Name::thread(7, 100, "first, and superseded"));
        image.name(3, &Name::thread(7, 100, "first"));
        image.name(4, &Name::thread(8, 0, "other"));
        let names = image.trace().names();
        let text = |thread_id, end_ns| {
            let name = names.thread(thread_id, end_ns);
            name.map(|name| name.text.as_str())
        };
        for (end_ns, expected) in [
            // All are later: the earliest holds.
            (0, "first"),
            (100, "first"),
            (499, "first"),
            (500, "second"),
            (u64::MAX, "second"),
        ] {
            assert_eq!(text(7, end_ns), Some(expected), "{end_ns}");
        }
        assert_eq!(text(8, 5), Some("other"));
        assert_eq!((text(6, 5), text(9, 5)), (None, None));
        assert_eq!(names.threads().count(), 4);
    }

    /// A text may be the bytes of an entry, which is no name then.
    #[test]
    fn a_name_inside_another_is_none() {
        let mut image = image(8);
        let at = image.identity.name_offset as usize + 2 * 64;
        let inner = (0..)
            .find_map(|i| {
                image.name(3, &Name::lane(5, &format!("inside {i}")));
                String::from_utf8(image.bytes[at..][..64].to_vec()).ok()
            })
            .unwrap();
        assert!(image.trace().names().lane(5).is_some());
        let outer = "x".repeat(36 + 64) + &inner;
        image.name(1, &Name::lane(6, &outer));
        let names = image.trace().names();
        assert_eq!(names.lane(6).unwrap().text, outer);
        assert_eq!(names.lane(5), None);
        // Where the outer one is not believed, the inner one is found block by block.
        image.bytes[at - 1] ^= 1;
        let names = image.trace().names();
        assert_eq!((names.lane(6), names.lanes().count()), (None, 1));
    }

    #[test]
    fn a_name_past_the_end_of_the_file_is_none() {
        let mut image = image(40);
        image.name(39, &Name::lane(5, &"x".repeat(60)));
        let end = image.identity.ring_offset as usize;
        let lanes = |image: &Image, end: usize| {
            let trace = crate::trace::Trace::from_bytes(&image.bytes[..end]).unwrap();
            trace.names().lanes().count()
        };
        assert_eq!((lanes(&image, end), lanes(&image, end - 1)), (1, 0));
        // Nor is one past the end of the table.
        image.name(40, &Name::lane(6, &"x".repeat(60)));
        assert_eq!(lanes(&image, image.bytes.len()), 0);
    }
}
