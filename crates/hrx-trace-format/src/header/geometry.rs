//! Where everything lies in a new file.

use bytemuck::Zeroable;

use super::identity::Identity;
use crate::constants::{
    CAPACITY_MAX, CONTROL_STRIDE, COUNTERS_OFFSET, IDENTITY_BYTES, MAGIC, OPEN_SLOTS, PAGE_BYTES,
    RECORD_BYTES, RING_COUNT_MAX, TABLE_BYTES_DEFAULT, TABLE_BYTES_MAX, VERSION_MAJOR,
    VERSION_MINOR,
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
    /// Size of the label table in bytes, rounded up to a page; up to [`TABLE_BYTES_MAX`](crate::label::TABLE_BYTES_MAX).
    pub label_bytes: u64,
}

impl Geometry {
    /// One ring of `capacity` records and a label table of the default size.
    #[must_use]
    pub const fn new(capacity: u64) -> Self {
        Self {
            capacity,
            ring_count: 1,
            label_bytes: TABLE_BYTES_DEFAULT,
        }
    }

    /// The same with `ring_count` rings.
    #[must_use]
    pub const fn ring_count(self, ring_count: u32) -> Self {
        Self { ring_count, ..self }
    }

    /// The same with a label table of `label_bytes` bytes.
    #[must_use]
    pub const fn label_bytes(self, label_bytes: u64) -> Self {
        Self {
            label_bytes,
            ..self
        }
    }

    /// An identity with version, sizes and offsets filled in and everything else zero. None if a value is out of range.
    #[must_use]
    pub fn layout(self) -> Option<Identity> {
        if self.capacity == 0
            || self.capacity > CAPACITY_MAX
            || self.ring_count == 0
            || self.ring_count > RING_COUNT_MAX
            || self.label_bytes > TABLE_BYTES_MAX
        {
            return None;
        }
        let rings = u64::from(self.ring_count);
        let page_up = |bytes: u64| bytes.checked_next_multiple_of(PAGE_BYTES);
        let control_offset = COUNTERS_OFFSET.checked_add(CONTROL_STRIDE)?;
        let open_offset = page_up(control_offset.checked_add(CONTROL_STRIDE.checked_mul(rings)?)?)?;
        let open_bytes = u64::from(OPEN_SLOTS).checked_mul(RECORD_BYTES as u64)?;
        let label_offset = page_up(open_offset.checked_add(open_bytes)?)?;
        let label_bytes = page_up(self.label_bytes)?;
        let ring_offset = label_offset.checked_add(label_bytes)?;
        let ring_stride = page_up(self.capacity.checked_mul(RECORD_BYTES as u64)?)?;
        let file_bytes = ring_offset.checked_add(ring_stride.checked_mul(rings)?)?;
        Some(Identity {
            magic: MAGIC,
            version_major: VERSION_MAJOR,
            version_minor: VERSION_MINOR,
            identity_bytes: IDENTITY_BYTES,
            file_bytes,
            counters_offset: COUNTERS_OFFSET,
            control_offset,
            control_stride: CONTROL_STRIDE,
            open_offset,
            label_offset,
            label_bytes,
            ring_offset,
            ring_stride,
            capacity: self.capacity,
            ring_count: self.ring_count,
            open_slots: OPEN_SLOTS,
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
                label_bytes: TABLE_BYTES_MAX + 1,
                ..fine
            },
        ] {
            assert_eq!(wrong.layout(), None, "{wrong:?}");
        }
    }
}
