//! Where everything lies in a new file.

use bytemuck::Zeroable;

use super::identity::Identity;
use crate::constants::{
    CAPACITY_MAX, CONTROL_OFFSET, CONTROL_STRIDE, COUNTERS_OFFSET, IDENTITY_BYTES, MAGIC,
    NAME_BYTES_DEFAULT, NAME_BYTES_MAX, OPEN_SLOTS_DEFAULT, OPEN_SLOTS_MAX, OPEN_STRIDE,
    PAGE_BYTES, RECORD_BYTES, RING_COUNT_MAX, VERSION_MAJOR, VERSION_MINOR, WITNESS_OFFSET,
};

/// What the creator of a file chooses; the rest of the layout follows from it.
///
/// ```
/// use hrx_trace_format::Geometry;
///
/// let identity = Geometry::new(1000).ring_count(4).layout().expect("all sizes are in range");
/// assert_eq!((identity.capacity, identity.ring_count), (1000, 4));
/// assert_eq!(identity.ring_stride, 16 * 4096); // 1000 records of 64 bytes, rounded up to pages
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Records in each ring, 1 to [`CAPACITY_MAX`](super::CAPACITY_MAX).
    pub capacity: u64,
    /// Number of rings, 1 to [`RING_COUNT_MAX`](super::RING_COUNT_MAX).
    pub ring_count: u32,
    /// Slots of the open table, up to [`OPEN_SLOTS_MAX`](crate::open::OPEN_SLOTS_MAX).
    pub open_slots: u32,
    /// Size of the name table in bytes, rounded up to a page; up to [`NAME_BYTES_MAX`](crate::name::NAME_BYTES_MAX).
    pub name_bytes: u64,
}

impl Geometry {
    /// One ring of `capacity` records, and an open table and a name table of the default size.
    #[must_use]
    pub const fn new(capacity: u64) -> Self {
        Self {
            capacity,
            ring_count: 1,
            open_slots: OPEN_SLOTS_DEFAULT,
            name_bytes: NAME_BYTES_DEFAULT,
        }
    }

    /// The same with `ring_count` rings.
    #[must_use]
    pub const fn ring_count(self, ring_count: u32) -> Self {
        Self { ring_count, ..self }
    }

    /// The same with `open_slots` open slots.
    #[must_use]
    pub const fn open_slots(self, open_slots: u32) -> Self {
        Self { open_slots, ..self }
    }

    /// The same with a name table of `name_bytes` bytes.
    #[must_use]
    pub const fn name_bytes(self, name_bytes: u64) -> Self {
        Self { name_bytes, ..self }
    }

    /// An identity with version, sizes and offsets filled in and everything else zero. None if a value is out of range.
    #[must_use]
    pub fn layout(self) -> Option<Identity> {
        if self.capacity == 0
            || self.capacity > CAPACITY_MAX
            || self.ring_count == 0
            || self.ring_count > RING_COUNT_MAX
            || self.open_slots > OPEN_SLOTS_MAX
            || self.name_bytes > NAME_BYTES_MAX
        {
            return None;
        }
        let rings = u64::from(self.ring_count);
        let page_up = |bytes: u64| bytes.checked_next_multiple_of(PAGE_BYTES);
        let control_bytes = CONTROL_STRIDE.checked_mul(rings)?;
        let open_offset = page_up(CONTROL_OFFSET.checked_add(control_bytes)?)?;
        let open_bytes = OPEN_STRIDE.checked_mul(u64::from(self.open_slots))?;
        let name_offset = page_up(open_offset.checked_add(open_bytes)?)?;
        let name_bytes = page_up(self.name_bytes)?;
        let ring_offset = name_offset.checked_add(name_bytes)?;
        let ring_stride = page_up(self.capacity.checked_mul(RECORD_BYTES as u64)?)?;
        let file_bytes = ring_offset.checked_add(ring_stride.checked_mul(rings)?)?;
        Some(Identity {
            magic: MAGIC,
            version_major: VERSION_MAJOR,
            version_minor: VERSION_MINOR,
            identity_bytes: IDENTITY_BYTES,
            file_bytes,
            counters_offset: COUNTERS_OFFSET,
            witness_offset: WITNESS_OFFSET,
            control_offset: CONTROL_OFFSET,
            control_stride: CONTROL_STRIDE,
            open_offset,
            open_stride: OPEN_STRIDE,
            name_offset,
            name_bytes,
            ring_offset,
            ring_stride,
            capacity: self.capacity,
            ring_count: self.ring_count,
            open_slots: self.open_slots,
            ..Identity::zeroed()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_laid_out() {
        let fine = Geometry::new(8);
        for wrong in [
            Geometry {
                capacity: 0,
                ..fine
            },
            Geometry {
                capacity: CAPACITY_MAX + 1,
                ..fine
            },
            Geometry {
                capacity: u64::MAX,
                ..fine
            },
            Geometry {
                ring_count: 0,
                ..fine
            },
            Geometry {
                ring_count: RING_COUNT_MAX + 1,
                ..fine
            },
            Geometry {
                open_slots: OPEN_SLOTS_MAX + 1,
                ..fine
            },
            Geometry {
                name_bytes: NAME_BYTES_MAX + 1,
                ..fine
            },
        ] {
            assert_eq!(wrong.layout(), None, "{wrong:?}");
        }
    }
}
